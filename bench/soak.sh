#!/usr/bin/env bash
# bench/soak.sh [SECONDS] - 100 sessions at once in one container, all of which run cells for that long (180); prints one
# table. What it does is in soak.py, which runs inside. Status 1 when a goal is missed.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
image=${IPYBOX_IMAGE:-ipybox}
name=ipybox-sessions-$$

main()
{
    docker image inspect "$image" >/dev/null || die "the image $image is not here; ./docker-build.sh builds it"
    trap 'docker rm -f "$name" >/dev/null 2>&1 || true' EXIT
    say "the machine: $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg)"
    if [ -n "$(docker ps -q)" ]; then say "other containers are running: pages shared with them make sessions look smaller"; fi
    docker run -d --rm --name "$name" --cap-add SYS_PTRACE -v "$here:/bench:ro" -e IPYBOX_TOKEN=admin \
        -e PYTHONDONTWRITEBYTECODE=1 "$image" serve --http 127.0.0.1:8080 >/dev/null
    local status=0
    docker exec -e PYTHONDONTWRITEBYTECODE=1 "$name" python3 /bench/soak.py "${1:-180}" || status=$?
    say "load at the end: $(cut -d' ' -f1 /proc/loadavg)"
    return "$status"
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
