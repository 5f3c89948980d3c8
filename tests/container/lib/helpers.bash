# What every test file loads. docs/testing.md tells how a test is written with it.
# shellcheck shell=bash
# shellcheck disable=SC2034  # status, output and errors are for the tests

image=${IPYBOX_TEST_IMAGE:-ipybox}
slim_image=${IPYBOX_TEST_SLIM_IMAGE:-ipybox:slim}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)      # this folder: the programs that tests run

# Seconds. They only end what would hang: no test passes or fails by them. drive.py has the like for Python.
guard=180                                               # for whatever is waited for
whole=$((5 * guard))                                    # for a test, in which one waits for many things

setup()
{
    # In the names of containers: file number, test number, and the run's.
    local file=${BATS_TEST_FILENAME##*/}
    name=ipybox-test-${file%%-*}-$BATS_TEST_NUMBER-$$
}

# A test that passes leaves no container behind; one that fails leaves none either, but that is not counted.
teardown()
{
    local left
    if declare -F after_test >/dev/null; then after_test; fi    # a file's own
    # One that --rm is taking away at this moment is gone soon.
    for _ in {1..300}; do
        left=$(limited docker ps -aq --filter "label=ipybox.test=$name")
        if [ -z "$left" ] || docker ps -q --filter "label=ipybox.test=$name" | grep -q .; then break; fi
        sleep 0.1
    done
    if [ -n "$left" ]; then
        # shellcheck disable=SC2086  # one id per word
        limited docker rm -f $left >/dev/null
    fi
    if [ "$(id -u)" -ne 0 ] && compgen -G "$BATS_TEST_TMPDIR/*" >/dev/null; then
        as_root find "$BATS_TEST_TMPDIR" -mindepth 1 -delete
    fi
    if [ -n "$left" ] && [ "${BATS_TEST_COMPLETED:-}" = 1 ]; then fail "containers were left behind: $left"; fi
}

# limited COMMAND... - under the guard.
limited()
{
    timeout -k "$guard" "${limit:-$guard}" "$@"
}

# box ARGUMENT... - docker, under the guard; sets status, output (stdout) and errors (stderr), all of it logged.
box()
{
    local log=$BATS_TEST_TMPDIR/errors.$RANDOM
    printf '+ docker %s\n' "$*"
    status=0
    output=$(limited docker "$@" 2>"$log") || status=$?
    errors=$(< "$log")
    rm -f "$log"
    printf '%s\n' "$output" "$errors" "= $status"
}

# run_box [OPTION OF docker run]... [-- WORD]... - one container, from its start to its end; as box.
run_box()
{
    split_words "$@"
    box run --rm --name "$name-$RANDOM" --label "ipybox.test=$name" "${options[@]}" "${this_image:-$image}" "${words[@]}"
}

# start_box [OPTION OF docker run]... [-- WORD]... - a container in the background; sets id.
start_box()
{
    split_words "$@"
    box run -d --name "$name-$RANDOM" --label "ipybox.test=$name" "${options[@]}" "${this_image:-$image}" "${words[@]}"
    assert_equal "$status" 0
    id=$output
}

# stop_box - docker stop, whose engine never kills: it would after 10 s of its own.
stop_box()
{
    box stop -t -1 "$id"
}

# end_box - waits for the end of $id and removes it; sets status to the container's, output and errors to its log.
end_box()
{
    local ended
    box wait "$id"
    assert_equal "$status" 0
    ended=$output
    box logs "$id"
    limited docker rm -f "$id" >/dev/null
    status=$ended
}

# drive [OPTION OF docker run]... [-- WORD]... <<'PY' - a conversation with a container, told in Python: see drive.py.
drive()
{
    local container=$name-$RANDOM
    split_words "$@"
    converse "$container" docker run -i --rm --name "$container" --label "ipybox.test=$name" \
        "${options[@]}" "${this_image:-$image}" "${words[@]}"
}

# converse CONTAINER COMMAND... - the same with any command that starts a container of that name.
converse()
{
    limit=$whole limited python3 -u "$here/drive.py" "$@"
}

# talk_inside [OPTION OF docker exec]... <<'PY' - a conversation with the API of the container $id, from inside it, told in
# Python: see http_client.py.
talk_inside()
{
    cat "$here/http_client.py" - > "$BATS_TEST_TMPDIR/talk.py"
    limit=$whole limited docker exec -i -e "WAIT=$guard" "$@" "$id" python3 - < "$BATS_TEST_TMPDIR/talk.py"
}

# at_once FUNCTION... - these, side by side: for tests that wait more than they work.
at_once()
{
    local function pids=() failed=() i
    for function; do
        ( set -e; "$function" ) > "$BATS_TEST_TMPDIR/$function" 2>&1 &
        pids+=("$!")
    done
    for i in "${!pids[@]}"; do
        function=${*:i+1:1}
        wait "${pids[i]}" || failed+=("$function")
        printf -- '--- %s\n%s\n' "$function" "$(< "$BATS_TEST_TMPDIR/$function")"
    done
    if [ ${#failed[@]} -gt 0 ]; then fail "failed: ${failed[*]}"; fi
}

split_words()
{
    options=() words=()
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    words=("${@:2}")
}

# workspace [OWNER [MODE]] - makes a directory for -v; sets workspace.
workspace()
{
    workspace=$(mktemp -d "$BATS_TEST_TMPDIR/workspace-XXXXXX")
    if [ $# -gt 0 ]; then as_root chown "$1" "$workspace"; fi
    as_root chmod "${2:-0755}" "$workspace"
}

# as_root COMMAND... - on files below $BATS_TEST_TMPDIR; in a container, where the tests do not run as root.
as_root()
{
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        limited docker run --rm -v "$BATS_TEST_TMPDIR:$BATS_TEST_TMPDIR" --entrypoint "$1" "$image" "${@:2}"
    fi
}

# hold_port - sets port to one of this machine's that nobody else is given while the test runs. A server can bind it: what holds
# it does not listen.
hold_port()
{
    coproc holder { python3 -c '
import socket, sys
held = socket.socket()
held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
held.bind(("127.0.0.1", 0))
print(held.getsockname()[1], flush=True)
sys.stdin.read()'; }
    # shellcheck disable=SC2154  # coproc sets it
    read -r port <&"${holder[0]}"
}

# wait_for COMMAND... - until the command succeeds.
wait_for()
{
    local deadline=$((SECONDS + guard))
    until "$@"; do
        if [ "$SECONDS" -gt "$deadline" ]; then fail "waited in vain for: $*"; fi
        sleep 0.05
    done
}

# is_well - for wait_for, whose command must fail until it is so; box never does.
is_well()
{
    limited docker exec "$id" ipybox health >/dev/null 2>&1
}

log_has()
{
    limited docker logs "$id" 2>&1 | grep -q -- "$1"
}

# A figure that is shown also when all is well.
note()
{
    printf '# %s\n' "$*" >&3
}

fail()
{
    printf '%s\n' "$*"
    return 1
}

assert_equal()
{
    if [ "$1" != "$2" ]; then fail "expected: $2"$'\n'"actual:   $1"; fi
}

# assert_match TEXT REGEX
assert_match()
{
    if [[ ! $1 =~ $2 ]]; then fail "pattern: $2"$'\n'"text:    $1"; fi
}

refute_match()
{
    if [[ $1 =~ $2 ]]; then fail "pattern that must not be there: $2"$'\n'"text: $1"; fi
}

# assert_at_most NUMBER LIMIT WHAT
assert_at_most()
{
    if [ "$1" -gt "$2" ]; then fail "$3: $1, the limit is $2"; fi
}

# Options of docker run that let rootless.py do its work, for: drive "${rootless[@]}" -v … -- /rootless.py MAP… -- COMMAND
rootless=(--cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined
    --security-opt systempaths=unconfined -v "$here/rootless.py:/rootless.py:ro" --entrypoint python3)
