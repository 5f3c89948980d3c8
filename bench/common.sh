# shellcheck shell=bash
# For scripts beside it, which have set `here`: the container and its end, what is said, programs in C.
#
# shellcheck disable=SC2034,SC2154

image=${IPYBOX_IMAGE:-ipybox}

# begin WHAT - sets name, for the container, and work, a directory; both go at the end, whose status is the script's.
begin()
{
    docker image inspect "$image" >/dev/null || die "the image $image is not here; ./docker-build.sh builds it"
    name=ipybox-$1-$$
    work=$(mktemp -d)
    trap clean_up EXIT
    say "the machine: $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
    if [ -n "$(docker ps -q)" ]; then
        say "other containers are running: what they share with ours makes its memory look smaller"
    fi
}

clean_up()
{
    docker rm -f "$name" >/dev/null 2>&1 || true
    docker rmi "$name:deps" >/dev/null 2>&1 || true
    rm -rf "$work"
    say "load at the end: $(cut -d' ' -f1 /proc/loadavg)"
}

say()
{
    printf 'bench: %s\n' "$*" >&2
}

die()
{
    say "$*"
    exit 1
}

# compile PROGRAM PACKAGE... - sets compiled to PROGRAM.c as a static program for the image.
#
# The compiler and the libraries, which the packages name, are those of the image's own build stage. It is in Docker's
# cache since the image was built; the first time, zig compiles its C library, too, which takes a minute or more.
compile()
{
    local program=$1 top arch key
    shift
    top=$(dirname "$here")
    arch=$(uname -m)-linux-musl
    key=$(cat "$here/$program.c" "$top"/third_party/{PINS,build.sh,tools.txt} | sha256sum | cut -c1-16)
    compiled=$top/build/bench/$program-$key
    if [ -x "$compiled" ]; then return; fi
    say "compiling $program"
    mkdir -p "$top/build/bench/zig-cache"
    "$top/docker-build.sh" --target deps -t "$name:deps" >"$work/log" 2>&1 || { cat "$work/log"; die "no build stage"; }
    docker run --rm -v "$here:/bench:ro" -v "$work:/out" -v "$top/build/bench/zig-cache:/src/build/zig-cache" \
        "$name:deps" sh -c \
        "build/tools/bin/$arch-cc -O2 -Wall -Wextra -Werror -static -o /out/$program /bench/$program.c \
             \$(PKG_CONFIG_LIBDIR=build/deps/$arch/lib/pkgconfig pkg-config --static --cflags --libs $*)"
    docker rmi "$name:deps" >/dev/null
    cp "$work/$program" "$compiled"
}
