# Terminals of people who are attached, and code in kernels (docs/sandbox-walls.md).
# bats file_tags=all
load ../lib/helpers

restricted=(--user 1234:1234 --read-only --tmpfs /tmp --tmpfs /app/workspace:mode=1777 --cap-drop ALL
    --security-opt no-new-privileges)

ready()
{
    limited docker exec "$id" ipybox exec 1 >/dev/null 2>&1
}

# sits_beside USER [OPTION OF docker run]... [-- WORD]... - terminals.py, while such a server runs at a terminal.
sits_beside()
{
    local user=$1
    shift
    start_box -it "$@"
    wait_for ready
    status=0
    output=$(limited python3 "$here/terminals.py" "$id" "$user") || status=$?
    limited docker logs "$id" | grep -v "sandbox: refused"
    limited docker rm -f "$id" >/dev/null
    printf '%s\n' "$output"
    assert_equal "$status" 0
    assert_equal "${output##*$'\n'}" ok
}

@test "the terminals of a server that is started as root" {
    sits_beside 0 -- serve
}

@test "the terminals of a server that is started as root, with --sandbox also those of the kernels' user" {
    sits_beside 1000 -- serve --sandbox
}

@test "the terminals of a server that is another user" {
    sits_beside 1234 --user 1234:1234 -- serve
    sits_beside 1234 --user 1234:1234 -- serve --no-kernel-template
}

@test "the terminals of a server that is another user, with --sandbox" {
    sits_beside 1234 --user 1234:1234 -- serve --sandbox
}

@test "the terminals of a server without rights" {
    sits_beside 1234 "${restricted[@]}" -- serve
    sits_beside 1234 "${restricted[@]}" -- serve --sandbox
}

@test "the terminals of a server whose kernels have budgets" {
    sits_beside 1234 --user 1234:1234 -- serve --kernel-tasks 200 --kernel-memory 1G
}

@test "a command in the sandbox has the terminal that it is started at, and not the next one" {
    start_box -it --user 1234:1234 --entrypoint sleep -- 600
    box exec -t "$id" ipybox sandbox -- sh -c 'echo one > $(tty); echo two > /dev/tty; echo three > /dev/pts/0'
    assert_match "$output" one
    assert_match "$output" two
    refute_match "$output" three
    assert_match "$output" "/dev/pts/0: Operation not permitted"
    box exec "$id" sh -c 'echo three > /dev/pts/0 && echo written'
    assert_equal "$output" written
    limited docker rm -f "$id" >/dev/null
}
