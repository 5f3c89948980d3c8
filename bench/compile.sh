# shellcheck shell=bash
# For scripts beside it: compile PROGRAM PACKAGE... - sets compiled to PROGRAM.c as a static program for the image.
#
# The compiler and the libraries, which the packages name, are those of the image's own build stage. It is in Docker's
# cache since the image was built; the first time, zig compiles its C library, too, which takes a minute or more.
# Needs: here, name, work; say and die.
# shellcheck disable=SC2154

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
