#!/usr/bin/env bash
# bench/peer.sh - the Python ipybox 0.9.2 and the image `ipybox`, timed in one run on this machine; prints one table.
#
# Four measurements, one after the other: the peer, started as its users start it; the container, started by
# `docker run`; the server's start alone, inside a running container ("after exec"); and that of the wheel without Docker
# ("natively"; dist/ is made when it is not there). Status 1 when a goal is missed.
# Memory of the container is read on the host, which takes root.
#
# PYTHON        interpreter of the peer, 3.11 or newer
# IPYBOX_IMAGE  another image than `ipybox`
# IPYBOX_CA     extra CA bundle, for installing the peer behind a TLS-inspecting proxy
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(dirname "$here")/build/bench
python=${PYTHON:-python3}
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    begin peer
    if [ -n "${IPYBOX_CA:-}" ]; then export PIP_CERT=$IPYBOX_CA; fi
    need_peer
    mkdir "$work/peer" "$work/ours"
    if [ "$(id -u)" -eq 0 ]; then chown 1000:1000 "$work/ours"; fi

    say "the peer, about 1 minute"
    bench run "ipybox 0.9.2" --tool "$here/echo_server.py" -- "$peer/bin/ipybox" --workspace "$work/peer" --log-level ERROR > "$work/peer.json"
    say "the container"
    bench run "container" --container "$name" --tool /bench/echo_server.py -- \
        docker run -i --rm --name "$name" -v "$work/ours:/app/workspace" -v "$here:/bench:ro" "$image" > "$work/ours.json"
    say "its server after exec"
    after_exec > "$work/exec.json"
    say "the wheel, natively"
    natively > "$work/native.json"
    bench table "$work/peer.json" "$work/ours.json" "$work/exec.json" "$work/native.json"
}

# The same measurement of the start, but made inside a container that already runs.
after_exec()
{
    docker run -d --rm --name "$name" -v "$work/ours:/app/workspace" -v "$here:/bench:ro" "$image" sleep 600 >/dev/null
    docker exec --user "$(stat -c %u:%g "$work/ours")" "$name" \
        python3 /bench/bench_mcp.py start "after exec" -- ipybox --workspace /app/workspace
    docker kill "$name" >/dev/null
}

# The wheel in an environment of its own, started as its users start it.
natively()
{
    local top wheel
    top=$(dirname "$here")
    if ! compgen -G "$top/dist/ipybox-*linux*$(uname -m)*.whl" >/dev/null; then "$top/docker-build.sh" wheel >&2; fi
    wheel=$(compgen -G "$top/dist/ipybox-*linux*$(uname -m)*.whl")
    "$python" -m venv "$work/native"
    "$work/native/bin/python" -m pip install -q --disable-pip-version-check "$wheel" >&2
    mkdir "$work/files"
    IPYBOX_ALLOW_ROOT=1 bench start native -- "$work/native/bin/ipybox" --workspace "$work/files"
}

bench()
{
    "$python" "$here/bench_mcp.py" "$@"
}

need_peer()
{
    local list=$here/requirements-peer.txt key
    peer=$build/peer
    key=$({ "$python" -VV; echo "$peer"; cat "$list"; } | sha256sum)
    if [ "$(cat "$peer/key" 2>/dev/null)" = "$key" ]; then return; fi
    say "installing the peer"
    rm -rf "$peer"
    "$python" -m venv "$peer"
    "$peer/bin/python" -m pip install -q --disable-pip-version-check --require-hashes --only-binary :all: -r "$list"
    "$peer/bin/python" -m compileall -q "$peer/lib"
    echo "$key" > "$peer/key"
}

main "$@"
