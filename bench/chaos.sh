#!/usr/bin/env bash
# bench/chaos.sh [SECONDS [SEED]] - SIGKILL to clients, kernels and the server of one container, at random moments for
# that long (600). tests/container/lib/chaos.py has what is done and what must hold; it prints what was killed and looked at.
# A failure names the seed: the same seed gives the same choices, not the same moments.
#
# IPYBOX_TEST_IMAGE  another image than `ipybox`
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
seconds=${1:-600}
seed=${2:-$RANDOM}
name=ipybox-chaos-$$
trap 'docker rm -f "$name" >/dev/null 2>&1 || true' EXIT

timeout -k 180 $((seconds * 2 + 900)) python3 -B -u "$here/../tests/container/lib/chaos.py" "$seconds" "$seed" "$name" \
    "${IPYBOX_TEST_IMAGE:-ipybox}"
