# What each kind of process that a server starts has of the server (SECURITY.md, "What a child has").
load ../lib/helpers

# children OWNER WITH [OPTION OF docker run]... [-- OPTION OF serve]... - all kinds are as SECURITY.md says; WITH are words of children.py.
children()
{
    local owner=$1 with=$2
    shift 2
    split_words "$@"
    workspace "$owner"
    printf '{"mcpServers": {"plain": {"command": "python3", "args": ["/lib-of-tests/tool_server.py"]}}}' > "$BATS_TEST_TMPDIR/servers.json"
    start_box --network none -e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute -e KERNEL_ENV_NAME=x "${options[@]}" \
        -v "$workspace:/app/workspace" -v "$BATS_TEST_TMPDIR/servers.json:/servers.json:ro" -v "$here:/lib-of-tests:ro" \
        -- serve --mcp-servers /servers.json --agent-sandbox --e2b --kernel-gateway-port 8890 "${words[@]}"
    status=0
    # shellcheck disable=SC2086  # some words
    output=$(limit=$whole limited python3 "$here/children.py" "$id" "$image" "$workspace" "$here/../../../SECURITY.md" $with 2>&1) || status=$?
    if [ "$status" -ne 0 ]; then limited docker logs "$id" 2>&1 | tail -30; fi
    limited docker rm -f "$id" >/dev/null
    printf '%s\n' "$output"
    assert_equal "$status" 0
    assert_equal "${output##*$'\n'}" ok
}

@test "no child has anything of the server but what is said: default container" {
    children 1000:1000 "fork template"
}

@test "no child has anything of the server but what is said: as a user, with --sandbox" {
    children 1234:1234 template --user 1234:1234 -- --sandbox
}

@test "no child has anything of the server but what is said: without a template" {
    children 1000:1000 '' -- --no-kernel-template --sandbox
}

# bats test_tags=all
@test "no child has anything of the server but what is said: as a user" {
    children 1234:1234 template --user 1234:1234
}

# bats test_tags=all
@test "no child has anything of the server but what is said: without any rights" {
    children 1234:1234 template --user 1234:1234 --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges -- --sandbox
}
