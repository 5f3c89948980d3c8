#!/usr/bin/env bash
# bench/soak.sh [SECONDS] - 100 sessions at once in one container, all of which run cells for that long (180); prints one
# table. What it does is in soak.py, which runs inside. Status 1 when a goal is missed.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    begin sessions
    docker run -d --rm --name "$name" --cap-add SYS_PTRACE -v "$here:/bench:ro" -e IPYBOX_TOKEN=admin \
        -e PYTHONDONTWRITEBYTECODE=1 "$image" serve --http 127.0.0.1:8080 >/dev/null
    docker exec -e PYTHONDONTWRITEBYTECODE=1 "$name" python3 /bench/soak.py "${1:-180}"
}

main "$@"
