#!/usr/bin/env bash
# bench/limits.sh - the image `ipybox` beside a bare ZeroMQ client on the same kernels, in one run; prints one table.
#
# The client (bare_client.c) is compiled in the image's own build stage, with the libraries of build/deps that the server
# has, and runs in the container beside the server. Status 1 when a goal is missed. About 4 minutes on a quiet machine.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
image=${IPYBOX_IMAGE:-ipybox}
name=ipybox-limits-$$
work=

main()
{
    docker image inspect "$image" >/dev/null || die "the image $image is not here; ./docker-build.sh builds it"
    work=$(mktemp -d)
    trap clean_up EXIT
    compile
    say "the machine: $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
    if [ -n "$(docker ps -q)" ]; then say "other containers are running"; fi
    docker run --rm --name "$name" --cap-add SYS_PTRACE --entrypoint python3 -v "$here:/bench:ro" \
        -v "$client:/usr/local/bin/bare_client:ro" -e PYTHONDONTWRITEBYTECODE=1 "$image" \
        /bench/limits.py /usr/local/bin/bare_client
}

# Sets client. The stage with the compiler and the libraries is in Docker's cache since the image was built; the first
# time, zig compiles its C library, too, which takes a minute or more.
compile()
{
    local arch key
    arch=$(uname -m)-linux-musl
    key=$(cat "$here/bare_client.c" "$top"/third_party/{PINS,build.sh,tools.txt} | sha256sum | cut -c1-16)
    client=$top/build/bench/bare_client-$key
    if [ -x "$client" ]; then return; fi
    say "compiling the bare client"
    mkdir -p "$top/build/bench/zig-cache"
    "$top/docker-build.sh" --target deps -t "$name:deps" >"$work/log" 2>&1 || { cat "$work/log"; die "no build stage"; }
    docker run --rm -v "$here:/bench:ro" -v "$work:/out" -v "$top/build/bench/zig-cache:/src/build/zig-cache" \
        "$name:deps" sh -c \
        "build/tools/bin/$arch-cc -O2 -Wall -Wextra -Werror -static -o /out/bare_client /bench/bare_client.c \
             \$(PKG_CONFIG_LIBDIR=build/deps/$arch/lib/pkgconfig pkg-config --static --cflags --libs libzmq mbedcrypto)"
    docker rmi "$name:deps" >/dev/null
    cp "$work/bare_client" "$client"
}

clean_up()
{
    docker rm -f "$name" >/dev/null 2>&1 || true
    docker rmi "$name:deps" >/dev/null 2>&1 || true
    rm -rf "$work"
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

main "$@"
