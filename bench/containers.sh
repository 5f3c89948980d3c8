#!/usr/bin/env bash
# bench/containers.sh [CONTAINERS] - so many containers (20), each with a server and its warm kernel: memory of each while it does
# nothing, after a first cell, and how many fit into a GiB. As root, who may read what a process of a container uses.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    local count=${1:-20} number
    begin containers
    trap end_all EXIT
    for ((number = 0; number < count; number++)); do
        docker run -d --name "$name-$number" --label "$name" "$image" serve >/dev/null
    done
    for ((number = 0; number < count; number++)); do
        until docker exec "$name-$number" ipybox health >/dev/null 2>&1; do sleep 0.1; done
    done
    printf '| %s containers | memory (PSS) of each | in a GiB |\n|---|---:|---:|\n' "$count"
    row idle "$count"
    for ((number = 0; number < count; number++)); do docker exec "$name-$number" ipybox exec '6 * 7' >/dev/null; done
    row 'after a first cell' "$count"
}

# row WHAT COUNT - PSS of the containers' processes and of the engine's own for each.
row()
{
    local ids id pids=()
    mapfile -t ids < <(docker ps -q --no-trunc --filter "label=$name")
    for id in "${ids[@]}"; do
        mapfile -t -O "${#pids[@]}" pids < <(docker top "$id" -o pid | tail -n +2)
        mapfile -t -O "${#pids[@]}" pids < <(pgrep -f "containerd-shim.* -id $id")
    done
    for id in "${pids[@]}"; do sed -n 's/^Pss: *//p' "/proc/${id// /}/smaps_rollup" 2>/dev/null || true; done |
        awk -v what="$1" -v count="$2" '{ sum += $1 } END { printf "| %s | %.1f MiB | %d |\n", what, sum / count / 1024, 1048576 * count / sum }'
}

end_all()
{
    docker ps -aq --filter "label=$name" | xargs -r docker rm -f >/dev/null
    clean_up
}

main "$@"
