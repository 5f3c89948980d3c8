# A reader of the documents: runs their blocks of code as they stand there (tests/documents.py, the mark `tested: NAME`).
# What is changed is what a test cannot have: the container's name, the ports and the volumes of the machine, the image.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # output is for the tests; name and image are of helpers.bash

# block NAME - the text of a block.
block()
{
    python3 "$here/../../documents.py" "$1"
}

# follow NAME [FOLDER] - runs a block, there or in the repository; sets output. The word ID of a command is $reader_id.
follow()
{
    local text
    text=$(block "$1")
    printf '+ %s\n' "$text"
    output=$(cd "${2:-$here/../../..}" && name=$name image=$image guard=$guard reader_id=${reader_id:-ID} bash -euo pipefail -c "$(declare -f docker curl ipybox reader_value limited)"$'\n'"$text" < /dev/null)
    printf '%s\n' "$output"
}

# A file's own after_test calls it.
reader_leaves()
{
    limited docker rm -f "$name" >/dev/null 2>&1 || true
    limited docker volume ls -q --filter "name=$name-" | xargs -r timeout "$guard" docker volume rm >/dev/null
}

# reader_value OPTION VALUE - the value in place of a page's.
reader_value()
{
    case "$1 $2" in
    -p\ *) echo "127.0.0.1::${2##*:}" ;;
    -v\ ipybox-*) echo "$name-${2#ipybox-}" ;;
    -v\ /path/to/*) echo "$PWD/${2#/path/to/}" ;;
    *) echo "$2" ;;
    esac
}

docker()
{
    local words=("$1") first=$1 detached="" word
    shift
    if [ "$first" = run ]; then words+=(--name "$name" --label "ipybox.test=$name"); fi
    while [ $# -gt 0 ]; do
        case $1 in
        ipybox | CONTAINER)                                     # then come the words for the container
            if [ "$first" = run ]; then words+=("$image"); else words+=("$name"); fi
            for word in "${@:2}"; do
                if [ "$word" = ID ]; then words+=("$reader_id"); else words+=("$word"); fi
            done
            break ;;
        --name) shift ;;
        -d) detached=1 words+=("$1") ;;
        -p | -v | -e)
            words+=("$1" "$(reader_value "$1" "$2")")
            shift ;;
        *) words+=("$1") ;;
        esac
        shift
    done
    limited docker "${words[@]}"
    # shellcheck disable=SC2016  # the inner shell's
    if [ -n "$detached" ]; then limited bash -c 'until docker exec "$0" ipybox health; do sleep 0.05; done' "$name" >/dev/null 2>&1; fi
}

curl()
{
    local words=() word
    for word; do
        if [[ $word =~ (localhost|127\.0\.0\.1):([0-9]+) ]]; then
            word=${word/"${BASH_REMATCH[0]}"/"$(limited docker port "$name" "${BASH_REMATCH[2]}" | head -n 1)"}
        fi
        words+=("$word")
    done
    limited curl -sS "${words[@]}"
}

# The program, in a container with this folder as its workspace.
ipybox()
{
    limited docker run --rm --name "$name" --label "ipybox.test=$name" -v "$PWD:/app/workspace" "$image" "$@"
}
