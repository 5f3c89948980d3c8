# The services of compose/compose.yaml, as they are in the file.
load lib/helpers

# Docker Compose as a plugin of docker, or as a program of its own.
compose()
{
    if docker compose version >/dev/null 2>&1; then
        limited docker compose "$@"
    else
        limited docker-compose "$@"
    fi
}

setup()
{
    name=ipybox-test-95-$BATS_TEST_NUMBER-$$
    cp "$here/../../../compose/compose.yaml" "$BATS_TEST_TMPDIR/"
    mkdir "$BATS_TEST_TMPDIR/workspace"
    project=(-p "$name" -f "$BATS_TEST_TMPDIR/compose.yaml")
    if ! compose version; then fail "Docker Compose is missing: install docker-compose"; fi
}

# talk_to SERVICE <<'PY' - a conversation with a service, started the way the file says.
talk_to()
{
    local container=$name-$1
    local command=(docker-compose)
    if docker compose version >/dev/null 2>&1; then command=(docker compose); fi
    converse "$container" "${command[@]}" "${project[@]}" run --rm -T --name "$container" -l "ipybox.test=$name" "$1"
}

after_test()
{
    compose "${project[@]}" down
}

@test "the file is right, and its image is the one that was built" {
    compose "${project[@]}" config -q
    assert_equal "$(compose "${project[@]}" config --services | sort | xargs)" "ipybox ipybox-hardened serve serve-hardened"
    assert_equal "$(grep -c '^ *image: ipybox$' "$BATS_TEST_TMPDIR/compose.yaml")" 4
}

@test "the service ipybox executes cells as the owner of the workspace" {
    as_root chown 1234:5678 "$BATS_TEST_TMPDIR/workspace"
    talk_to ipybox <<'PY'
        prints("import os; open('new', 'w').close(); os.getuid(), os.getgid()", "(1234, 5678)")
        wait_for("health", healthy)
        prints("import socket; socket.gethostname() != ''", True)
PY
    assert_equal "$(stat -c %u:%g "$BATS_TEST_TMPDIR/workspace/new")" 1234:5678
}

@test "the service ipybox-hardened executes cells with everything taken away" {
    as_root chown 1000:1000 "$BATS_TEST_TMPDIR/workspace"
    talk_to ipybox-hardened <<'PY'
        prints("import os; open('new', 'w').close(); os.getuid(), os.getgid()", "(1000, 1000)")
        runs(SHOW_PNG)
        wait_for("health", healthy)
        fails("open('/usr/new', 'w')", "Read-only file system|PermissionError")
        fails("import urllib.request; urllib.request.urlopen('http://192.0.2.1')", "Network is unreachable")
        equal({p.uid for p in processes()}, {1000})
        equal({p.capabilities for p in processes()}, {0})
        shown = json.loads(docker("inspect", box.name))[0]["HostConfig"]
        equal((shown["ReadonlyRootfs"], shown["CapDrop"], shown["NetworkMode"]), (True, ["ALL"], "none"))
        equal((shown["Memory"], shown["MemorySwap"]), (2 << 30, 2 << 30))
        limit = shown["PidsLimit"]
        prints(f"""
            import os, warnings; warnings.simplefilter('ignore')
            made = 0
            try:
                while made < {limit}:
                    if os.fork() == 0:
                        import time; time.sleep(100)
                    made += 1
            except BlockingIOError:
                print("no more")
        """, "no more")
        tool("reset")
        prints("1", 1)
PY
    assert_equal "$(stat -c %u:%g "$BATS_TEST_TMPDIR/workspace/new")" 1000:1000
}

@test "the services serve and serve-hardened run cells over HTTP, and stop in order" {
    local service port id answer
    as_root chown 1000:1000 "$BATS_TEST_TMPDIR/workspace"
    for service in serve serve-hardened; do
        port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
        HTTP_PORT=$port IPYBOX_TOKEN=the-token compose "${project[@]}" up -d "$service"
        id=$(compose "${project[@]}" ps -q "$service")
        wait_for is_well
        answer=$(curl -sS --max-time "$guard" -H 'Authorization: Bearer the-token' -H 'Content-Type: application/json' \
            -d '{"code": "6 * 7"}' "http://127.0.0.1:$port/v1/sessions/default/executions")
        assert_equal "$(jq -r .text <<< "$answer")" 42
        answer=$(curl -sS --max-time "$guard" -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/v1/sessions")
        assert_equal "$answer" 401
        compose "${project[@]}" stop "$service"
        assert_equal "$(limited docker inspect -f '{{.State.ExitCode}}' "$id")" 0
    done
}
