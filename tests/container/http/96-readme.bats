# The commands of README.md, as a reader runs them.
load ../lib/helpers
load ../lib/reader

waiting()
{
    waits=$(limited docker exec "$name" ipybox approve)
    [ -n "$waits" ]
}

after_test()
{
    reader_leaves
}

@test "a stranger runs a cell by curl, and the answer is the one that README.md shows" {
    follow start
    follow cell
    python3 - "$(block answer)" "$output" <<'PY'
import json, sys
shown, answer = map(json.loads, sys.argv[1:])
vary = {"id", "instance", "created_ms", "duration_ms", "events"}
assert list(shown) == list(answer), answer
assert {k: v for k, v in shown.items() if k not in vary} == {k: v for k, v in answer.items() if k not in vary}, answer
PY
}

@test "a stranger's code calls a tool, waits, and goes on when it is approved" {
    follow start
    follow cell
    follow register
    assert_match "$output" '"modules":\["list","add","delete"\]'
    follow call > "$BATS_TEST_TMPDIR/answer" &
    wait_for waiting
    assert_match "$waits" '"text": "buy milk"'
    refute_match "$(< "$BATS_TEST_TMPDIR/answer")" '"status"'
    reader_id=${waits%%$'\n'*}
    follow approve
    wait $!
    assert_match "$(< "$BATS_TEST_TMPDIR/answer")" '"status":"ok".*"text":"water the plants\\nbuy milk"'
}

@test "the entry for MCP clients starts a server that runs a cell" {
    workspace 1234:5678
    mapfile -t command < <(python3 - "$(block client)" "$workspace" "$image" <<'PY'
import json, sys
entry = json.loads(sys.argv[1])["mcpServers"]["ipybox"]
assert entry["args"][-1] == "ipybox"
print(entry["command"], *[a.replace("/path/to/workspace", sys.argv[2]) for a in entry["args"][:-1]], sys.argv[3], sep="\n")
PY
    )
    converse "$name" "${command[0]}" "${command[1]}" --name "$name" --label "ipybox.test=$name" "${command[@]:2}" <<'PY'
        prints("import os; os.getuid()", 1234)
PY
}
