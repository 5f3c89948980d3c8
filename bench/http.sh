#!/usr/bin/env bash
# bench/http.sh - what the HTTP API costs, beside the least that could do the same, in one container and one run.
#
# `GET /livez` beside a bare libmicrohttpd program (bare_http.c), both asked by wrk from within the container's network;
# a warm cell by POST beside a bare ZeroMQ client on the same kernel (bare_client.c). Prints one table; status 1 when a
# goal is missed. Takes root (for nsenter), wrk on the host, and about a minute.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
image=${IPYBOX_IMAGE:-ipybox}
name=ipybox-http-$$
work=
# shellcheck source=bench/compile.sh
. "$here/compile.sh"

main()
{
    docker image inspect "$image" >/dev/null || die "the image $image is not here; ./docker-build.sh builds it"
    command -v wrk >/dev/null || die "wrk is not here; Debian has it in the package wrk"
    work=$(mktemp -d)
    trap clean_up EXIT
    compile bare_client libzmq mbedcrypto
    local client=$compiled
    compile bare_http libmicrohttpd
    say "the machine: $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
    if [ -n "$(docker ps -q)" ]; then say "other containers are running"; fi
    docker run -d --rm --name "$name" --entrypoint sleep -v "$here:/bench:ro" -v "$client:/usr/local/bin/bare_client:ro" \
        -v "$compiled:/usr/local/bin/bare_http:ro" -e PYTHONDONTWRITEBYTECODE=1 "$image" 3600 >/dev/null
    local status=0
    python3 -B "$here/http_figures.py" "$name" || status=$?
    say "load at the end: $(cut -d' ' -f1 /proc/loadavg)"
    return "$status"
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
