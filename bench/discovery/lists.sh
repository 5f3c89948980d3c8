#!/usr/bin/env bash
# lists.sh FOLDER          - the tools of six servers as tools/list has them, SERVER.json in FOLDER: git, filesystem, github,
#                            playwright and everything are started and asked, kubernetes is made of its OpenAPI document.
# lists.sh --large FOLDER  - kubernetes.json and github_rest.json, of OpenAPI documents alone.
# Nothing is done when the lists are there. Takes npm, and with the first form Node.js and pip.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kubernetes='kubernetes-client@9.0.0 b1e278c84beb865239dc8282d1870b185a61d7ec67da2d911916fec883c6f6a6'
github_rest='@octokit/openapi@23.0.2 71a18407dd5e8464f4e0525daf03deabbe65abd9287d6adc7b5d98f516cd0d0c'
servers='@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-github@2025.4.8 @playwright/mcp@0.0.83'

main()
{
    local large=no
    if [ "${1:-}" = --large ]; then large=yes; shift; fi
    [ $# -eq 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
    mkdir -p "$1"
    cd "$1"
    openapi kubernetes "$kubernetes" package/lib/specs/swagger-1.13.json.gz
    if [ "$large" = yes ]; then
        openapi github_rest "$github_rest" package/generated/api.github.com.json
    else
        ask_servers
    fi
}

# openapi NAME "PACKAGE SHA256" FILE - NAME.json from a file of a package of npm.
openapi()
{
    local package=${2% *} sum=${2#* } archive
    if [ -f "$1.json" ]; then return; fi
    archive=$(npm pack --silent "$package")
    sha256sum --check --status <<< "$sum  $archive" || { echo "lists.sh: $package is not the pinned one" >&2; exit 1; }
    tar xzf "$archive" -O "$3" > "$1.document"
    if [ "${3##*.}" = gz ]; then mv "$1.document" "$1.gz"; gzip -dc "$1.gz" > "$1.document"; fi
    python3 "$here/openapi_tools.py" "$1.document" > "$1.part"
    mv "$1.part" "$1.json"
    rm -f "$archive" "$1.document" "$1.gz"
}

ask_servers()
{
    local node=npm/node_modules
    if [ -f git.json ]; then return; fi
    mkdir -p npm
    # shellcheck disable=SC2086  # the list is split on purpose
    (cd npm && npm install --silent --no-save --ignore-scripts --no-audit --no-fund $servers)
    python3 -m venv pip
    pip/bin/pip install -q --disable-pip-version-check mcp-server-git==2026.10.19
    "$here/list_tools.py" filesystem node "$node/@modelcontextprotocol/server-filesystem/dist/index.js" "$PWD"
    "$here/list_tools.py" everything node "$node/@modelcontextprotocol/server-everything/dist/index.js" stdio
    "$here/list_tools.py" github node "$node/@modelcontextprotocol/server-github/dist/index.js"
    "$here/list_tools.py" playwright node "$node/@playwright/mcp/cli.js"
    "$here/list_tools.py" git pip/bin/mcp-server-git
}

main "$@"
