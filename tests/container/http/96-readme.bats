# The commands of README.md, word for word but for the container's name, the port and the image.
load ../lib/helpers

# block NAME - the commands behind the comment "tested: NAME".
block()
{
    local text
    text=$(awk -v name="<!-- tested: $1 -->" '$0 == name { on = 1; next } on && /^    / { print; seen = 1 } on && seen && !/^    / { exit }' \
        "$here/../../../README.md")
    if [ -z "$text" ]; then fail "README.md has no block $1"; fi
    sed -e "s/--name ipybox /--name $name --label ipybox.test=$name /" -e 's/127.0.0.1:8080:8080/127.0.0.1::8080/' \
        -e "s/^\( *\)ipybox serve/\1${image//\//\\/} serve/" -e "s/docker exec ipybox /docker exec $name /" -e "s/localhost:8080/${address:-nowhere}/" <<< "$text"
}

# follow NAME - runs it, as a reader does; sets output.
follow()
{
    printf '+ %s\n' "$(block "$1")"
    output=$(cd "$here/../../.." && timeout -k 5 60 bash -ec "$(block "$1")")
    printf '%s\n' "$output"
}

waiting()
{
    waits=$(timeout 60 docker exec "$name" ipybox approve)
    [ -n "$waits" ]
}

after_test()
{
    timeout 60 docker rm -f "$name" >/dev/null 2>&1 || true
}

@test "a stranger runs a cell by curl, and the answer is the one that README.md shows" {
    follow start
    address=$(docker port "$name" 8080 | head -n 1)
    follow cell
    python3 - "$here/../../../README.md" "$output" <<'PY'
import json, re, sys
shown = json.loads(re.search(r"```json\n(\{\n  \"id\".*?)```", open(sys.argv[1]).read(), re.S)[1])
answer = json.loads(sys.argv[2])
vary = {"id", "instance", "created_ms", "duration_ms", "events"}
assert list(shown) == list(answer), answer
assert {k: v for k, v in shown.items() if k not in vary} == {k: v for k, v in answer.items() if k not in vary}, answer
PY
}

@test "a stranger's code calls a tool, waits, and goes on when it is approved" {
    follow start
    address=$(docker port "$name" 8080 | head -n 1)
    follow cell
    follow register
    assert_match "$output" '"modules":\["list","add","delete"\]'
    (block call | timeout -k 5 60 bash -e > "$BATS_TEST_TMPDIR/answer") &
    wait_for 30 waiting
    assert_match "$waits" '"text": "buy milk"'
    assert_equal "$(cat "$BATS_TEST_TMPDIR/answer")" ""
    timeout 60 bash -ec "$(block approve | sed "s/ ID / ${waits%%$'\n'*} /")"
    wait $!
    assert_match "$(< "$BATS_TEST_TMPDIR/answer")" '"status":"ok".*"text":"water the plants\\nbuy milk"'
}

@test "the entry for MCP clients starts a server that runs a cell" {
    workspace 1234:5678
    mapfile -t command < <(python3 - "$here/../../../README.md" "$workspace" "$image" <<'PY'
import json, re, sys
entry = json.loads(re.search(r"```json\n(\{\n  \"mcpServers\".*?)```", open(sys.argv[1]).read(), re.S)[1])["mcpServers"]["ipybox"]
assert entry["args"][-1] == "ipybox"
print(entry["command"], *[a.replace("/path/to/workspace", sys.argv[2]) for a in entry["args"][:-1]], sys.argv[3], sep="\n")
PY
    )
    converse "$name" "${command[0]}" "${command[1]}" --name "$name" --label "ipybox.test=$name" "${command[@]:2}" <<'PY'
        prints("import os; os.getuid()", 1234)
PY
}
