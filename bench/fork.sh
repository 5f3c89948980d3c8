#!/usr/bin/env bash
# bench/fork.sh [FORKS] - what a fork and a rewind of a live session cost: of a small kernel, of one with 2 GB, 64 branches of one with 1 GB at once,
# what a branch takes before it writes, and so many forks one after another (1000), which leave nothing. Prints one table; status 1 when a goal is missed.
# Takes three minutes and 5 GB of memory. What it does is in fork.py, which runs inside.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    begin fork
    docker run -d --name "$name" --cap-add SYS_PTRACE -v "$here:/bench:ro" -e IPYBOX_TOKEN=admin \
        -e PYTHONDONTWRITEBYTECODE=1 "$image" serve --http 127.0.0.1:8080 --max-sessions 100 \
        --checkpoints 2 >/dev/null
    docker exec -e PYTHONDONTWRITEBYTECODE=1 "$name" python3 /bench/fork.py "$@"
}

main "$@"
