#!/usr/bin/env bash
# bench/discovery.sh [-v] - tokens until the right tool's signature has been read, for the 100 tasks of discovery/tasks.toml over
# the tools of six servers, and how often the right tool is among the first five of mcptools.search(); beside the peer's way, `ls`
# and `cat` of its modules. -v: every task. Status 1 when a goal is missed.
#
# The lists of tools are made once (discovery/lists.sh), in build/bench/discovery; so is the peer's environment.
#
# PYTHON        interpreter, 3.11 or newer
# IPYBOX_IMAGE  another image than `ipybox`
# IPYBOX_CA     extra CA bundle, for npm and pip behind a TLS-inspecting proxy
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(dirname "$here")
build=$top/build/bench/discovery
python=${PYTHON:-python3}
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    begin discovery
    if [ -n "${IPYBOX_CA:-}" ]; then export PIP_CERT=$IPYBOX_CA NODE_EXTRA_CA_CERTS=$IPYBOX_CA npm_config_cafile=$IPYBOX_CA; fi
    "$here/discovery/lists.sh" "$build/lists"
    need_mcpygen
    packages
    "$build/mcpygen/bin/python" "$here/discovery/discovery.py" "$build/lists" "$work/mcptools" "$build/mcpygen/bin/python" "$@"
}

# The packages of the image's own generator.
packages()
{
    mkdir -m 777 "$work/mcptools"
    chmod 755 "$work"
    cp "$top/rootfs/opt/ipybox/python/mcptools/__init__.py" "$work/mcptools/"
    # shellcheck disable=SC2016  # the variables are the container's
    docker run --rm --name "$name" --network none --user "$(id -u):$(id -g)" -v "$build/lists:/lists:ro" -v "$work/mcptools:/out" \
        --entrypoint sh "$image" -euc 'for f in /lists/*.json; do
            ipybox apigen --root-dir /out --server-name "$(basename "$f" .json)" --tools "$f" >/dev/null; done'
}

need_mcpygen()
{
    if [ -d "$build/mcpygen" ]; then return; fi
    say "installing the peer's generator"
    "$python" -m venv "$build/mcpygen.part"
    "$build/mcpygen.part/bin/pip" install -q --disable-pip-version-check --require-hashes --only-binary :all: \
        -r "$top/tests/peer/requirements/mcpygen.txt"
    mv "$build/mcpygen.part" "$build/mcpygen"
}

main "$@"
