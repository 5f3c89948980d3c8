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
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    command -v wrk >/dev/null || die "wrk is not here; Debian has it in the package wrk"
    begin http
    compile bare_client libzmq mbedcrypto
    local client=$compiled
    compile bare_http libmicrohttpd
    docker run -d --rm --name "$name" --entrypoint sleep -v "$here:/bench:ro" -v "$client:/usr/local/bin/bare_client:ro" \
        -v "$compiled:/usr/local/bin/bare_http:ro" -e PYTHONDONTWRITEBYTECODE=1 "$image" 3600 >/dev/null
    python3 -B "$here/http_figures.py" "$name"
}

main "$@"
