# The commands of docs/, as a reader runs them.
load ../lib/helpers
load ../lib/reader

# put FILE - into the reader's folder.
put()
{
    cat > "$workspace/$1"
}

after_test()
{
    reader_leaves
}

@test "http-api.md: a cell, a session with settings of its own, another sandbox" {
    workspace 1234:5678 0777
    follow http-start "$workspace"
    assert_match "$output" '"status":"ok".*"text":"42"'
    as_root mkdir "$workspace/project"
    follow http-session "$workspace"
    assert_match "$output" '"id":"ada"'
    limited docker rm -f "$name"
    start_sandboxed
    follow http-sandbox "$workspace"
    assert_match "$output" '"allowedDomains":\["pypi.org"\]'
}

start_sandboxed()
{
    limited docker run -d --name "$name" --label "ipybox.test=$name" -p 127.0.0.1::8080 -e IPYBOX_TOKEN=secret \
        -v "$workspace:/app/workspace" "$image" serve --sandbox --instance ipybox-0 "$@"
    id=$name
    wait_for is_well
}

@test "fork.md: two ways from the same point" {
    workspace 1234:5678 0777
    start_sandboxed
    limited docker exec "$name" ipybox exec 'data = [1, 2, 3]'
    follow http-fork "$workspace"
    assert_match "$output" '"id":"try-1".*"id":"try-2".*"text":"3"'
}

@test "rewind.md: what can be gone back to, and going there" {
    workspace 1234:5678 0777
    start_sandboxed --checkpoints 3
    limited docker exec "$name" ipybox exec 'data = [1, 2, 3]'
    limited docker exec "$name" ipybox exec 'del data'
    follow http-rewind "$workspace"
    assert_match "$output" '"checkpoints":\[\{"cell":1,.*"cell":2,.*"undone":\[2\]'
    box exec "$name" ipybox exec 'data'
    assert_equal "$output" '[1, 2, 3]'
}

@test "http-api.md: a request that names its server finds its session there" {
    workspace 1234:5678 0777
    as_root mkdir "$workspace/project"
    start_sandboxed
    follow http-session "$workspace"
    follow http-instance "$workspace"
    assert_equal "$(grep -o '"id":"ada"' <<< "$output" | wc -l)" 2
}

@test "cli.md: code and a script run, the notebook has them, nothing waits" {
    workspace 1234:5678 0777
    start_sandboxed
    put script.py <<< 'print("from the script")'
    follow cli "$workspace"
    assert_match "$output" '42.*from the script'
    assert_match "$(< "$workspace/session.ipynb")" 'from the script'
}

@test "gateway.md: the gateway answers who has the token" {
    workspace 1234:5678 0777
    follow gateway "$workspace"
    assert_match "$output" '"kernelspecs"'
}

@test "files.md: a file goes up, a folder goes up and comes down" {
    workspace 1234:5678 0777
    start_sandboxed
    mkdir -p "$workspace/project"
    put data.csv <<< a,b
    put project/x.py <<< 'x = 1'
    limited docker exec --user 1234:5678 "$name" sh -c 'mkdir -p out && echo made > out/made.txt'
    mkdir "$BATS_TEST_TMPDIR/reader"
    cp -r "$workspace/project" "$workspace/data.csv" "$BATS_TEST_TMPDIR/reader"
    TOKEN=secret follow files "$BATS_TEST_TMPDIR/reader"
    assert_equal "$(< "$workspace/in/data.csv")" a,b
    assert_equal "$(< "$BATS_TEST_TMPDIR/reader/made.txt")" made
}

@test "approvals.md: the server starts with the policy of the page" {
    workspace 1234:5678 0777
    block policy | put p.json
    follow approvals "$workspace"
}

@test "sandbox.md, sandbox-settings.md: the server starts with the settings of the pages, and says what they mean" {
    local each
    for each in "$(block settings)" "$(block settings-sdk)"; do
        workspace 1234:5678 0777
        put s.json <<< "$each"
        follow sandbox "$workspace"
        assert_match "$output" 'Landlock'
        follow settings-check "$workspace"
        assert_match "$output" '\.env'
    done
}

@test "sandbox.md: root in the container changes the settings" {
    workspace 1234:5678 0777
    start_sandboxed
    # What the kernel began with cannot be taken away without --reset: all of it, and a host more.
    block settings | sed 's/"allowedDomains": \[\]/"allowedDomains": ["example.org"]/' | put settings.json
    follow sandbox-policy "$workspace"
    python3 -c 'import json, sys; assert {"settings", "meaning"} <= set(json.load(open(sys.argv[1])))' "$workspace/now.json"
    box exec "$name" ipybox policy --json
    assert_match "$output" 'example\.org'
}

@test "audit.md: the log is in its volume, and whole" {
    workspace 1234:5678 0777
    follow audit "$workspace"
    box run --rm --label "ipybox.test=$name" -v "$name-audit:/var/log/ipybox" "$image" audit verify /var/log/ipybox/audit.jsonl
    assert_match "$output" 'OK, [0-9]+ records'
}

@test "packages.md, tools.md: the server starts with the volumes of the pages" {
    local folder
    workspace 1234:5678 0777
    folder=$workspace/reader
    as_root mkdir -m 0777 "$folder" "$folder/workspace"
    openssl req -x509 -newkey ed25519 -nodes -subj /CN=t -keyout /dev/null -out "$folder/ca.pem"
    follow packages "$folder"
    follow packages-ca "$folder"
    follow tools "$folder"
}

@test "librechat.md: the code API answers its health, with a key and with LibreChat's" {
    workspace 1234:5678 0777
    follow librechat "$workspace"
    assert_equal "$(served /librechat/v1/health)" 200
    limited docker rm -f "$name"
    openssl genpkey -algorithm ed25519 | openssl pkey -pubout | put librechat.pem
    follow librechat-jwt "$workspace"
    assert_equal "$(served /librechat/v1/health)" 200
}

# served PATH - the status.
served()
{
    curl -o /dev/null -w '%{http_code}' "localhost:8080$1"
}

@test "deployments.md: the server starts with the address of its proxy" {
    workspace 1234:5678 0777
    follow public-url "$workspace" 3>&- &
    id=$name
    wait_for is_well
    limited docker rm -f "$name"
    wait $! || true
}
