# Sessions of one container against each other: channels, keys, tokens, sockets (docs/processes.md, docs/kernels.md).
load ../lib/helpers

tokens=(-e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute-secret -e SERVICE_KEY=service-secret)

# mode_options MODE - sets options to those of docker run: R as root, U as a user, K as one without anything.
mode_options()
{
    options=()
    case $1 in
    U) options=(--user 1234:1234) ;;
    K) options=(--user 1234:1234 --read-only --tmpfs /tmp --tmpfs /app/workspace:mode=1777 --cap-drop ALL --security-opt no-new-privileges) ;;
    esac
}

end_server()
{
    limited docker rm -f "$id" >/dev/null
}

# talk - a conversation with the API of the container $id, from inside it; standard input is its script.
talk()
{
    cat "$here/apart_acts.py" - | talk_inside -w /
}

against_each_other()
{
    local options
    mode_options "$1"
    shift
    start_box "${tokens[@]}" "${options[@]}" -- serve --http 8080 "$@"
    talk <<'PY'
wait_for("the server", ready)
for name in ("alice", "mallory"):
    equal(call("POST", "/v1/sessions", {"id": name}).status, 201)
equal(run("1 + 1", "alice")["status"], "ok")

# what alice prints is hers, and so is her key, and the spare's
speaking = stream("import time\nfor i in range(600):\n    print('alice speaks', flush=True)\n    time.sleep(0.1)", "alice")
next(event for event in speaking if event["event"] == "stdout")
equal(act("read_keys()"), [])
equal(act("hear_channels()"), [])
speaking.close()
wait_for("alice", lambda: run("1", "alice")["status"] == "ok")

# a local peer that is a cell has no role, whatever program it uses
equal(act("ask_api()"), [])
text = act("command('ipybox', 'exec', '6 * 7')")
assert "42" not in text and text, text

# nobody but the server gets a token
token = value("import os; os.environ['IPYBOX_TOOL_TOKEN']", "alice")
equal(act("take_sockets()"), "")
caught = run("from ipybox_tools import blocking\nblocking.call('approve', {'server_name': 'x', 'tool_name': 'y', 'tool_args': {}})", "alice")
assert token not in act("heard()"), act("heard()")
print("after its name was taken:", caught["status"], error(caught))

# the servers of all are not a session's to stop
if "not the server" not in error(caught):
    told = error(run("from ipybox_tools import client\nclient.reset_sync()", "mallory"))
    assert "may not stop the MCP servers" in told, told
    # a token dies with its kernel, and with it what was opened
    equal(act(f"hello({token!r})"), "in")
    equal(call("POST", "/v1/sessions/alice/reset").status, 204)
    equal(act("wait_for_end()"), "ended")
    equal(act(f"hello({token!r})"), "the token is not that of a kernel")
PY
    box exec "$id" ipybox health
    [[ $output != *mallory* ]] || fail "a cell answers the health check: $output"
    [ "$status" -eq 0 ] || assert_match "$errors" "which is not the server"
    end_server
}

@test "two sessions do not reach each other's keys, channels and tokens: root" {
    against_each_other R
    against_each_other R --sandbox
}

@test "two sessions do not reach each other's keys, channels and tokens: --user" {
    against_each_other U
    against_each_other U --sandbox
}

@test "two sessions do not reach each other's keys, channels and tokens: nothing allowed" {
    against_each_other K
    against_each_other K --sandbox
}

@test "packages and MCP servers have no role on the socket of the command line" {
    for mode in R U; do
        mode_options "$mode"
        start_box "${tokens[@]}" "${options[@]}" -- serve --http 8080
        talk <<'PY'
wait_for("the server", ready)
out = value("import tempfile; tempfile.mkdtemp(dir='/tmp')")
run(f"import os; os.chmod({out!r}, 0o777)")
probe = ACTS + f"\nopen({out!r} + '/NAME', 'w').write(repr(ask_api()))\n"
run(f"open({out!r} + '/server.py', 'w').write({probe.replace('NAME', 'server')!r})")
call("POST", "/v1/mcp-servers", {"name": "probe", "params": {"command": "/usr/bin/env", "args": ["python3", out + "/server.py"]}})
equal(value(f"open({out!r} + '/server').read()"), "[]")
# the set-up says what it got in pip's own output, which it need not be allowed to write
backend = ACTS + "\ndef build_wheel(*a, **k):\n    raise SystemExit('the set-up got ' + repr(ask_api()) + '.')\n"
project = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n[project]\nname = "probe"\nversion = "1"\n'
run(f"import os; os.mkdir({out!r} + '/p'); open({out!r} + '/p/pyproject.toml', 'w').write({project!r}); open({out!r} + '/p/backend.py', 'w').write({backend!r}); os.chmod({out!r} + '/p', 0o777)")
told = call("POST", "/v1/packages", {"package": out + "/p"}).text
assert "the set-up got []." in told, told
PY
        end_server
    done
}

@test "no environment block of init and server holds a secret" {
    for mode in R U; do
        mode_options "$mode"
        start_box --cap-add SYS_PTRACE "${tokens[@]}" "${options[@]}" -- serve --http 8080
        wait_for docker exec "$id" ipybox health
        box exec --user 0 "$id" sh -c \
            'for p in /proc/[0-9]*; do case $(cat $p/comm) in ipybox) tr -d "\0" <$p/environ; echo; echo looked at $p;; esac; done'
        [ "$(grep -c 'looked at' <<<"$output")" -ge 2 ] || fail "nothing was looked at: $output"
        [[ $output != *-secret* && $output != *IPYBOX_TOKEN* ]] || fail "a secret is there: $output"
        end_server
    done
}

@test "the kernel gateway and its kernels have no socket that a cell could take or reach" {
    for mode in R U K; do
        mode_options "$mode"
        start_box "${tokens[@]}" -e IPYBOX_KERNEL_GATEWAY_TOKEN=gateway-secret "${options[@]}" -- \
            serve --http 8080 --kernel-gateway-port 8888
        talk <<'PY'
wait_for("the server", ready)
def gateway(path):
    request = urllib.request.Request("http://localhost:8888" + path, headers={"Authorization": "token gateway-secret"})
    try:
        return json.load(urllib.request.urlopen(request))
    except OSError:
        return None
wait_for("the gateway", lambda: gateway("/api"))
equal(len(gateway("/api/kernels")), 1)
equal(act("[line for line in open('/proc/net/unix') if 'gateway' in line]", "default"), [])
gateway("/api/kernels")
speaking = stream("import time\nfor i in range(600):\n    print('alice speaks', flush=True)\n    time.sleep(0.1)")
next(event for event in speaking if event["event"] == "stdout")
equal(call("POST", "/v1/sessions", {"id": "mallory"}).status, 201)
equal(act("read_keys()"), [])
assert act("len(kernels())") >= 2
equal(act("hear_channels()"), [])
next(event for event in speaking if event["event"] == "stdout")    # she still speaks
PY
        end_server
    done
}
