#!/usr/bin/env bash
# bench/field.sh [NAME...] - the image `ipybox` and what a user would pick instead, timed in one run on this machine; prints one table.
#
# Unmodified packages, from the locked lists in field/, in environments below build/bench/field. Each starts three times, as its users
# start it, to its first cell; then 200 cells are run, and the memory of all its processes is read, for which the script must be root.
# NAME: ipybox jupyter gateway mcp-run-python llm-sandbox llm-sandbox-interactive e2b
#
# PYTHON         interpreter of the environments, 3.11 or 3.12
# IPYBOX_IMAGE   another image than `ipybox`
# IPYBOX_CA      extra CA bundle, for installing behind a TLS-inspecting proxy
# E2B_SOURCE     a clone of E2B's code interpreter; without it, it comes from GitHub
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(dirname "$here")/build/bench/field
python=${PYTHON:-python3}
e2b_commit=7df1757bfd5baa037f909ce97c2dbe014da973c0
# shellcheck source=bench/common.sh
. "$here/common.sh"

main()
{
    local contender results=()
    [ "$(id -u)" -eq 0 ] || die "memory is read as root"
    begin field
    if [ -n "${IPYBOX_CA:-}" ]; then
        export PIP_CERT=$IPYBOX_CA SSL_CERT_FILE=$IPYBOX_CA DENO_CERT=$IPYBOX_CA
    fi
    export FIELD_VENVS=$build FIELD_WORK=$work IPYBOX_IMAGE=$image
    if [ $# -eq 0 ]; then set -- ipybox jupyter gateway mcp-run-python llm-sandbox llm-sandbox-interactive e2b; fi
    mkdir -p "$build"
    for contender; do prepare "$contender"; done
    for contender; do
        say "$contender, load $(cut -d' ' -f1 /proc/loadavg)"
        measure "$contender" > "$work/$contender.json"
        results+=("$work/$contender.json")
    done
    "$python" "$here/field/figures.py" table "${results[@]}"
}

prepare()
{
    case $1 in
    ipybox) ;;
    gateway) need jupyter; need gateway ;;
    llm-sandbox*) need llm-sandbox ;;
    e2b) need e2b-kernels; need e2b-server; need_e2b ;;
    *) need "$1" ;;
    esac
}

# measure NAME - with the interpreter that has the client's packages.
measure()
{
    local with=$python
    case $1 in
    gateway) with=$build/jupyter/bin/python ;;
    llm-sandbox*) with=$build/llm-sandbox/bin/python ;;
    e2b)
        if ! [ -d /home/user ]; then in_a_home "$1"; return; fi ;;
    esac
    "$with" "$here/field/figures.py" run "$1"
}

# E2B's server works in /home/user: where there is none, it gets one that ends with it.
in_a_home()
{
    # shellcheck disable=SC2016  # the inner shell's
    unshare --mount --propagation private bash -euc '
        mkdir "$FIELD_WORK/home"
        mount -t tmpfs tmpfs "$FIELD_WORK/home"
        mkdir "$FIELD_WORK"/home/{upper,work}
        mount -t overlay overlay -o "lowerdir=/home,upperdir=$FIELD_WORK/home/upper,workdir=$FIELD_WORK/home/work" /home
        mkdir /home/user
        exec "$@"' in_a_home "$python" "$here/field/figures.py" run "$1"
}

# need NAME - an environment of field/NAME.txt, made anew when the list or the interpreter changes.
need()
{
    local list=$here/field/$1.txt venv=$build/$1 key
    key=$({ "$python" -VV; echo "$venv"; cat "$list"; } | sha256sum)
    if [ "$(cat "$venv/key" 2>/dev/null)" = "$key" ]; then return; fi
    say "installing $1"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check --no-deps --require-hashes --only-binary :all: -r "$list" >&2
    "$venv/bin/python" -m compileall -q "$venv/lib" >/dev/null || true     # templates among the packages are no Python
    echo "$key" > "$venv/key"
}

need_e2b()
{
    if [ "$(cat "$build/e2b-source/commit" 2>/dev/null)" = "$e2b_commit" ]; then return; fi
    say "fetching E2B's code interpreter"
    rm -rf "$build/e2b-source" "$build/e2b-git"
    git init -q --bare "$build/e2b-git"
    git -C "$build/e2b-git" fetch -q --depth 1 "${E2B_SOURCE:-https://github.com/e2b-dev/code-interpreter}" "$e2b_commit"
    mkdir "$build/e2b-source"
    git -C "$build/e2b-git" archive FETCH_HEAD template | tar -x -C "$build/e2b-source"
    echo "$e2b_commit" > "$build/e2b-source/commit"
}

main "$@"
