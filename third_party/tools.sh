#!/usr/bin/env bash
# tools.sh - makes build/tools (a link into $IPYBOX_TEST_CACHE, where that is set): meson, ninja, cmake and zig from the hash-checked wheels of tools.txt, and in
# build/tools/bin the compiler commands <target>-cc, -c++, -ar, -ranlib that cross files and build.sh name.
#
# BUILD_DIR  where build products go (default: build/ beside third_party)
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BUILD_DIR:-$(dirname "$here")/build}
tools=$build/tools store=${IPYBOX_TEST_CACHE:-}
targets='x86_64-linux-musl aarch64-linux-musl'

main()
{
    local key
    # A developer has the tools in PATH: the venv must not be made with its own, just deleted, python.
    PATH=:$PATH: PATH=${PATH//":$tools/bin:"/:} PATH=${PATH#:} PATH=${PATH%:}          # build/tools/bin, also where that is a link
    if [ -n "$store" ]; then tools=$store/tools; fi
    # The folder is part of the key: scripts of a venv hold absolute paths.
    key=$(cat "$here/tools.txt" "${BASH_SOURCE[0]}" <(echo "$tools") <(python3 --version 2>&1) | sha256sum | cut -c1-16)
    if [ -n "$store" ]; then
        tools=$tools-$key
        mkdir -p "$store" "$build"
        if [ ! -L "$build/tools" ]; then rm -rf -- "${build:?}/tools"; fi
        ln -sfn "$tools" "$build/tools"
        exec 8> "$tools.lock"
        flock 8
    fi
    if [ -f "$tools/.key" ] && [ "$(cat "$tools/.key")" = "$key" ]; then return 0; fi

    echo "tools: meson, ninja, cmake and zig into $tools" >&2
    python3 -c 'import venv, ensurepip' 2>/dev/null || die "Python's venv module is missing: apt-get install python3-venv"
    rm -rf -- "$tools"
    python3 -m venv "$tools"
    "$here/again" "$tools/bin/python" -m pip install -q --disable-pip-version-check --no-cache-dir --require-hashes \
        --only-binary :all: -r "$here/tools.txt" ||
        die "pip could not install the tools. Behind a TLS-inspecting proxy set PIP_CERT (docker-build.sh: --ca FILE)."

    local zig target
    zig=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
    ln -sfn "$zig" "$tools/bin/zig"
    for target in $targets; do
        wrapper "$target-cc" "cc -target $target"
        wrapper "$target-c++" "c++ -target $target"
        # Meson asks for thin archives, which zig's linker cannot read ("unexpected token in LD script").
        # shellcheck disable=SC2016
        wrapper "$target-ar" ar 'if [ "$1" = csrDT ]; then shift; set -- csrD "$@"; fi'
        wrapper "$target-ranlib" ranlib
    done
    echo "$key" > "$tools/.key"
}

# wrapper NAME WORDS [LINE] - build systems want a compiler that is one file, not "zig cc -target X". The cache of compiled
# objects stays in the build folder: nothing is left in a home directory, and it goes when build/ goes.
wrapper()
{
    cat > "$tools/bin/$1" <<EOF
#!/bin/sh
${3:-}
export ZIG_GLOBAL_CACHE_DIR="\${ZIG_GLOBAL_CACHE_DIR:-${store:-$build}/zig-cache}" ZIG_LOCAL_CACHE_DIR="\${ZIG_GLOBAL_CACHE_DIR:-${store:-$build}/zig-cache}"
exec "$tools/bin/zig" $2 "\$@"
EOF
    chmod +x "$tools/bin/$1"
}

die()
{
    printf 'tools: %s\n' "$*" >&2
    exit 1
}

main "$@"
