#!/usr/bin/env bash
# bench/limits.sh - the image `ipybox` beside a bare ZeroMQ client on the same kernels, in one run; prints one table.
#
# The client (bare_client.c) is compiled in the image's own build stage, with the libraries of build/deps that the server
# has, and runs in the container beside the server. Status 1 when a goal is missed. About 4 minutes on a quiet machine.
#
# IPYBOX_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    begin limits
    compile bare_client libzmq mbedcrypto
    docker run --rm --name "$name" --cap-add SYS_PTRACE --entrypoint python3 -v "$here:/bench:ro" \
        -v "$compiled:/usr/local/bin/bare_client:ro" \
        -v "$here/stand_in_gateway.py:/opt/ipybox/python/ipybox_gateway/__main__.py:ro" \
        --tmpfs /opt/ipybox/python/ipybox_gateway/__pycache__ \
        -e PYTHONDONTWRITEBYTECODE=1 "$image" /bench/limits.py /usr/local/bin/bare_client
}

main "$@"
