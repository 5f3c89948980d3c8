#!/usr/bin/env bash
# bench/sandbox.sh - what the sandbox costs: the same acts plain and in `ipybox sandbox`, by turns, in one container.
#
# Prints one table; status 1 when a goal is missed. Takes a minute, and the package index for pandas.
#
# IPYBOX_IMAGE  another image than `ipybox`
# IPYBOX_CA     an additional certificate authority for the package index, as for the build
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    begin sandbox
    local authority=()
    if [ -n "${IPYBOX_CA:-}" ]; then
        authority=(-v "$IPYBOX_CA:/ca.pem:ro" -e PIP_CERT=/ca.pem)
    fi
    docker run -d --rm --name "$name" --add-host there.test:127.0.0.2 "${authority[@]}" -v "$here:/bench:ro" \
        -e PYTHONDONTWRITEBYTECODE=1 "$image" sleep 3600 >/dev/null
    docker exec --user 1000 -e HOME=/home/ipybox "$name" python3 -m pip install -q --user --break-system-packages pandas
    docker exec --user 1000 -e HOME=/home/ipybox "$name" python3 -B /bench/sandbox_figures.py
}

main "$@"
