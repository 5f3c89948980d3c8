#!/usr/bin/env bash
# bench/density.sh [SESSIONS [SECONDS]] - so many sessions in one container (1000), 50 of which run cells for that long (20)
# while the others are idle; 100 whose kernels end when idle; and the first cell of a server. Prints three tables. What it
# does is in density.py, which runs inside. Status 1 when a goal is missed.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    local sessions=${1:-1000} status=0
    begin density
    docker run --rm --name "$name" --cap-add SYS_PTRACE --entrypoint python3 -v "$here:/bench:ro" \
        -e PYTHONDONTWRITEBYTECODE=1 "$image" /bench/density.py exec /app/workspace || status=1
    serve --max-sessions "$sessions"
    measure "$sessions" "${2:-20}" || status=1
    docker rm -f "$name" >/dev/null
    serve --max-sessions 100 --kernel-idle-timeout 3
    measure idle 100 3 || status=1
    return "$status"
}

serve()
{
    docker run -d --name "$name" --cap-add SYS_PTRACE -v "$here:/bench:ro" -e IPYBOX_TOKEN=admin \
        -e PYTHONDONTWRITEBYTECODE=1 "$image" serve --http 127.0.0.1:8080 "$@" >/dev/null
}

measure()
{
    docker exec -e PYTHONDONTWRITEBYTECODE=1 "$name" python3 /bench/density.py "$@"
}

main "$@"
