#!/usr/bin/env bash
# bench/wires.sh - how long clients of other wires wait for the image `ipybox`: E2B's SDK, from create to the first
# result, a command, and much output; what each of 100 sandboxes takes; and Open WebUI's client, which makes a kernel for
# each run, from POST to DELETE, beside a Jupyter Server with the same client. Takes root.
#
# IPYBOX_TEST_IMAGE names another image.
set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

main()
{
    local python
    python=$("$top/third_party/venv" "$top/tests/peer/requirements/e2b.txt")/bin/python
    cd "$top/tests/peer"
    uptime
    "$python" -B -m pytest -q -s -c "$top/pyproject.toml" --rootdir . test_e2b_code.py test_e2b_envd.py \
        -k 'how_long or much_output'
    "$python" -B e2b_memory.py
    PYTEST_ADDOPTS='-s -k open_webui' ./run --tier measure frameworks
}

main "$@"
