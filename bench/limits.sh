#!/usr/bin/env bash
# bench/limits.sh - the image `ipybox` beside a bare ZeroMQ client on the same kernels, in one run; prints one table.
#
# The client (bare_client.c) is compiled in the image's own build stage, with the libraries of build/deps that the server
# has, and runs in the container beside the server. Status 1 when a goal is missed. About 4 minutes on a quiet machine.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
image=${IPYBOX_IMAGE:-ipybox}
name=ipybox-limits-$$
work=
# shellcheck source=bench/compile.sh
. "$here/compile.sh"

main()
{
    docker image inspect "$image" >/dev/null || die "the image $image is not here; ./docker-build.sh builds it"
    work=$(mktemp -d)
    trap clean_up EXIT
    compile bare_client libzmq mbedcrypto
    say "the machine: $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
    if [ -n "$(docker ps -q)" ]; then say "other containers are running"; fi
    docker run --rm --name "$name" --cap-add SYS_PTRACE --entrypoint python3 -v "$here:/bench:ro" \
        -v "$compiled:/usr/local/bin/bare_client:ro" -e PYTHONDONTWRITEBYTECODE=1 "$image" \
        /bench/limits.py /usr/local/bin/bare_client
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
