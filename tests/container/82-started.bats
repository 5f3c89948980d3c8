# How the container is started decides what it serves: MCP for who holds standard input, the ports for who does not.
load lib/helpers

# ask PORT PATH [OPTION OF curl]... - through the published port, without a pause after the start; sets answer.
ask()
{
    box port "$id" "$1"
    answer=$(curl -s -w ' %{http_code}' --max-time "$guard" "${@:3}" "http://${output%%$'\n'*}$2") || answer="curl: $?"
}

@test "without standard input and with a token both ports serve, from the moment the container runs" {
    local name
    for name in KG_AUTH_TOKEN TOKEN JUPYTER_TOKEN; do
        start_box -p 127.0.0.1::8888 -p 127.0.0.1::8080 -e "$name=let-me-in"
        ask 8888 /api/kernels?token=let-me-in -X POST
        assert_match "$answer" '"name": "python3".* 201$'
        ask 8888 /api/kernels
        assert_match "$answer" ' 401$'
        ask 8080 /v1/sessions -H 'Authorization: Bearer let-me-in'
        assert_match "$answer" '"default".* 200$'
        ask 8080 /v1/sessions
        assert_match "$answer" ' 401$'
        wait_for is_well
        box logs "$id"
        refute_match "$output$errors" 'let-me-in'
        stop_box
        end_box
        assert_equal "$status" 0
    done
}

@test "with the token of the gateway nobody approves or registers over the HTTP API" {
    start_box -p 127.0.0.1::8080 -e TOKEN=let-me-in
    ask 8080 /v1/mcp-servers -H 'Authorization: Bearer let-me-in' -H 'Content-Type: application/json' -d '{"name": "x"}'
    assert_match "$answer" ' 403$'
    stop_box
    end_box
}

@test "without standard input and without a token only the container itself is served, which is said" {
    start_box -p 127.0.0.1::8888 -p 127.0.0.1::8080
    wait_for is_well
    box exec "$id" python3 -c 'import urllib.request as u; print(u.urlopen("http://localhost:8888/api").status)'
    assert_equal "$output" 200
    box exec "$id" python3 -c 'import urllib.request as u; print(u.urlopen("http://localhost:8080/openapi.json").status)'
    assert_equal "$output" 200
    ask 8888 /api
    assert_match "$answer" 'IPYBOX_KERNEL_GATEWAY_TOKEN=.*403'
    ask 8080 /livez
    assert_match "$answer" 'IPYBOX_TOKEN=.*403'
    wait_for log_has 'no IPYBOX_KERNEL_GATEWAY_TOKEN: only this machine, or container, can connect'
    wait_for log_has 'no IPYBOX_TOKEN: only this machine, or container, can connect'
    stop_box
    end_box
    assert_equal "$status" 0
}

@test "with a token for the HTTP API alone the gateway is off" {
    start_box -e IPYBOX_TOKEN=all
    wait_for log_has 'serves HTTP; workspace'
    box exec "$id" bash -c 'echo > /dev/tcp/localhost/8888'
    assert_equal "$status" 1
    stop_box
    end_box
}

@test "with standard input it speaks MCP, tokens or not, and ends with it" {
    drive -e KG_AUTH_TOKEN=a -e TOKEN=b -e JUPYTER_TOKEN=c <<'PY'
prints("6 * 7", 42)
inside("bash", "-c", "! echo > /dev/tcp/localhost/8888 && ! echo > /dev/tcp/localhost/8080")
PY
    run_box -i -e TOKEN=b < /dev/null
    assert_equal "$status" 0
    assert_match "$errors" 'standard input is at its end: nothing to serve'
}

@test "tokens from files are served on all addresses, as those of variables" {
    local file=$BATS_TEST_TMPDIR/token
    echo from-a-file > "$file"
    echo from-another > "$file.2"
    start_box -p 127.0.0.1::8080 -p 127.0.0.1::8888 -e IPYBOX_TOKEN_FILE=/token -e IPYBOX_KERNEL_GATEWAY_TOKEN_FILE=/token2 \
        -v "$file:/token:ro" -v "$file.2:/token2:ro"
    box port "$id" 8080
    local url=http://${output%%$'\n'*}
    answers() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: Bearer from-a-file" "$url/v1/sessions")" = 200 ]; }
    wait_for answers
    box port "$id" 8888
    local gateway=http://${output%%$'\n'*}
    gives() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: token from-another" "$gateway/api/kernelspecs")" = 200 ]; }
    wait_for gives
    stop_box
    end_box
    assert_equal "$status" 0
}

@test "at a terminal it explains itself in five lines, and serves" {
    start_box -t
    wait_for is_well
    box logs "$id"
    assert_equal "$(grep -c . <<< "${output%%20[0-9][0-9]-*}")" 5
    assert_match "$output" 'docker run -i --rm'
    stop_box
    end_box
    assert_equal "$status" 0
}

@test "at a terminal, and as root without capabilities, it stays for docker exec" {
    start_box -t --cap-drop ALL --security-opt no-new-privileges --network none
    wait_for log_has 'nothing is served; programs can be run with `docker exec`'
    box exec "$id" python3 -c 'print(6 * 7)'
    assert_equal "$output" 42
    stop_box
    end_box
    run_box --cap-drop ALL --security-opt no-new-privileges
    assert_equal "$status" 2
}

@test "a container that runs another program is healthy, with --init, too" {
    local options
    for options in '' --init; do
        # shellcheck disable=SC2086
        start_box $options -- sleep infinity
        wait_for is_well
        box exec "$id" ipybox health
        assert_equal "$output" '{"status":"ok","server":false}'
        limited docker rm -f "$id" >/dev/null
    done
    start_box --entrypoint sleep -- infinity
    box exec "$id" ipybox health
    assert_equal "$status" 1
    limited docker rm -f "$id" >/dev/null
}

@test "the image says which ports it has" {
    box image inspect -f '{{json .Config.ExposedPorts}}' "$image"
    assert_equal "$output" '{"8080/tcp":{},"8888/tcp":{}}'
}

@test "every user has a name: on a read-only root, and whatever its number" {
    local user
    for user in 1000:1000 4242:4243; do
        run_box --user "$user" --read-only -- bash -ic 'whoami; id -gn; echo ~ipybox; python3 -c "import getpass; print(getpass.getuser())"'
        assert_equal "$output" $'ipybox\nipybox\n/home/ipybox\nipybox'
        refute_match "$errors" 'no name|cannot find name'
    done
    run_box -- sh -c 'whoami; id -un 731; id -un 5000'
    assert_equal "$output" $'ipybox\nipybox-server'
    assert_match "$errors" 'no such user'
    drive -- --sandbox <<'PY'
prints("import getpass, pwd, os; getpass.getuser(), pwd.getpwuid(os.getuid()).pw_dir", ("ipybox", "/home/ipybox"))
PY
}

@test "/workspace and /home/user lead to the workspace, as a place to mount and to start in, too" {
    workspace 1234:1234
    drive -v "$workspace:/app/workspace" -- --sandbox <<'PY'
prints("import os; _ = open('/workspace/a', 'w').write('1')", "")
prints("open('/home/user/a').read(), os.getcwd()", ("1", "/app/workspace"))
PY
    drive -v "$workspace:/workspace" -w /workspace <<'PY'
prints("import os; open('/app/workspace/a').read(), os.getcwd(), os.getuid()", ("1", "/app/workspace", 1234))
PY
}

@test "KG_ variables do what they say, and those that cannot are named" {
    start_box -p 127.0.0.1::9999 -e KG_AUTH_TOKEN=let-me-in -e KG_PORT=9999 -e KG_IP=0.0.0.0 -e KG_BASE_URL=/base \
        -e KG_MAX_KERNELS=1 -e KG_ALLOW_ORIGIN=https://a.example -e KG_SEED_URI=/seed.ipynb -e KG_API=kernel_gateway.notebook_http
    ask 9999 '/base/api/kernels?token=let-me-in' -X POST -D "$BATS_TEST_TMPDIR/head"
    assert_match "$answer" ' 201$'
    assert_match "$(< "$BATS_TEST_TMPDIR/head")" 'Access-Control-Allow-Origin: https://a.example'
    ask 9999 '/base/api/kernels?token=let-me-in' -X POST
    assert_match "$answer" 'there are 1 kernels, which is the limit.* 403$'
    box logs "$id"
    assert_match "$errors" 'KG_(SEED_URI, KG_API|API, KG_SEED_URI): without effect here'
    stop_box
    end_box
}
