# What the HTTP API tells as it happens: docs/http-api.md, "Events" and "Approvals". The WebSockets are those of the
# Python library `websockets`, on this side of a published port.
load ../lib/helpers

tokens=(-e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute -e IPYBOX_APPROVER_TOKEN=approve)

setup_file()
{
    venv=$("$BATS_TEST_DIRNAME/../../../third_party/venv" "$BATS_TEST_DIRNAME/../lib/websockets.txt")
    export venv
}

# serves [WORD]... - a server with the test's MCP server beside it; sets id and port.
serves()
{
    start_box -p 127.0.0.1::8080 "${tokens[@]}" -v "$here/tool_server.py:/tools/tool_server.py:ro" -- serve "$@"
    box port "$id" 8080
    port=${output##*:}
}

# talk - a conversation with it from outside; standard input is its script.
talk()
{
    {
        cat "$here/http_client.py"
        cat <<'PY'
import base64
import sys
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

EVENTS = "/v1/sessions/default/events"

def follow(path, token="admin", **more):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    headers |= more.pop("headers", {})
    return connect(f"ws://{HOST}:{PORT}{path}", additional_headers=headers, max_size=None, **more)

def refused(path, status, **more):
    try:
        follow(path, **more).close()
    except InvalidStatus as why:
        equal(why.response.status_code, status)
    else:
        raise SystemExit(f"{path} was not refused")

def messages(socket):
    """All that come, and then the close code."""
    try:
        while True:
            yield json.loads(socket.recv(WAIT))
    except ConnectionClosed as why:
        yield why.rcvd.code

def flat(message):
    """As events() of the client gives it."""
    number = {"number": str(message["id"])} if "id" in message else {}
    return number | {"event": message["event"]} | message["data"]

def bearer(token):
    return "ipybox.bearer." + base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")

wait_for("the server", ready)
PY
        cat
    } > "$BATS_TEST_TMPDIR/talk.py"
    WAIT=$guard HOST=127.0.0.1 PORT=$port limit=$whole limited "$venv/bin/python" "$BATS_TEST_TMPDIR/talk.py"
}

@test "a WebSocket tells what the event stream tells, numbered, and again for who comes back" {
    serves
    talk <<'PY'
code = "import time\nfor i in range(20):\n    print(i, flush=True)\n    time.sleep(0.02)\n1 / 0"
place = call("POST", EXECUTIONS, {"code": code, "wait": False}).headers["Location"]
with follow(f"{place}/events") as socket:
    *seen, closed = messages(socket)
equal(closed, 1000)
equal([flat(one) for one in seen], list(events(start("GET", f"{place}/events"))))
equal([one["event"] for one in seen][:2] + [seen[-1]["event"]], ["execution", "begin", "end"])
equal("".join(one["data"]["text"] for one in seen if one["event"] == "stdout"), "".join(f"{i}\n" for i in range(20)))

# left in the middle, and taken up again: nothing twice, nothing lost
numbered = [one["id"] for one in seen if "id" in one]
with follow(f"{EVENTS}?after={numbered[0] - 1}") as socket:
    first = [json.loads(socket.recv(WAIT))["id"] for _ in range(5)]
with follow(f"{EVENTS}?after={first[-1]}") as socket:
    rest = [json.loads(socket.recv(WAIT))["id"] for _ in range(len(numbered) - 5)]
equal(first + rest, numbered)

# who only listens cancels nothing, and what it says ends it
place = call("POST", EXECUTIONS, {"code": "time.sleep(1); print('done')", "wait": False}).headers["Location"]
with follow(f"{place}/events") as socket:
    socket.recv(WAIT)
with follow(EVENTS) as socket:
    socket.send("interrupt")
    equal(list(messages(socket))[-1], 1008)
last = call("GET", "/v1/sessions/default")["last_event"]
with follow(f"{EVENTS}?after={last}") as socket:
    assert socket.ping().wait(WAIT), "no pong came"
wait_for("the cell", lambda: call("GET", place)["status"] == "ok")

# who may, and from where
refused(EVENTS, 401, token=None)
refused(f"{EVENTS}?token=admin&access_token=admin", 401, token=None)
refused(EVENTS, 403, token="approve")
refused(EVENTS, 403, origin="http://elsewhere.example")
refused("/v1/sessions/none/events", 404)
refused(EVENTS, 401, token=None, subprotocols=["ipybox", bearer("wrong")])
with follow(EVENTS, token=None, subprotocols=["ipybox", bearer("execute")], origin=f"http://{HOST}:{PORT}") as socket:
    equal(socket.subprotocol, "ipybox")
    equal(json.loads(socket.recv(WAIT))["event"], "kernel")
PY
    if log_has "$(printf execute | base64 | tr -d =)"; then fail "a token is in the log"; fi
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}

# unread CELLS [MORE] - of 10 MB each; MORE is how many bytes more the server may have then.
unread()
{
    serves
    CELLS=$1 MORE=${2:-} talk <<'PY'
CELLS, MORE = int(os.environ["CELLS"]), os.environ["MORE"]
def resident():
    text = call("GET", "/metrics", token=None).text
    return int(text.split("\nprocess_resident_memory_bytes ")[1].split()[0])

run("1")
socket = follow(EVENTS, max_queue=1, ping_interval=None)
before = resident()
for _ in range(CELLS):
    equal(run("for _ in range(1000): print('x' * 9999)")["status"], "ok")
more = resident() - before
assert not MORE or more < int(MORE), f"{more >> 20} MiB more"   # the log's own MiB, a result of a MiB, buffers of both
seen = []
while not seen or seen[-1].get("data", {}).get("cell") != CELLS + 1 or seen[-1]["event"] != "end":
    seen.append(json.loads(socket.recv(WAIT)))
at = next(i for i, one in enumerate(seen) if one["event"] == "gap")
equal(seen[at]["data"]["missed"], seen[at + 1]["id"] - seen[at - 1]["id"] - 1)
told = sum(len(one["data"]["text"]) for one in seen if one["event"] == "stdout")
assert told < CELLS * 10_000_000, told              # how much is missed goes by what the sockets' buffers take
numbers = [one["id"] for one in seen if "id" in one]
equal(numbers, sorted(set(numbers)))
socket.close()
PY
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}

@test "a WebSocket that is not read finds a gap" {
    unread 10
}

# bats test_tags=alone,measure
@test "a WebSocket that is not read costs the server little" {
    unread 10 $((48 << 20))
}

@test "the progress of a tool, a question of its server, and what waits are told as they come" {
    serves --approve-tool-calls
    talk <<'PY'
server = {"name": "demo", "params": {"command": "python3", "args": ["/tools/tool_server.py"]}}
equal(call("POST", "/v1/mcp-servers", server).status, 201)
refused("/v1/approvals", 403, token="execute")
equal(start("GET", "/v1/approvals", token="execute", headers={"Accept": "text/event-stream"}).getresponse().status, 403)
waiting = events(start("GET", "/v1/approvals", token="approve", headers={"Accept": "text/event-stream"}))
equal(next(waiting)["event"], "listed")

# ten thousand steps are a few events, and the last one is among them
seen = stream("from mcptools.demo import ask, steps\nprint(steps.run(steps.Params(count=10000)))")
asked = next(waiting)
equal((asked["event"], asked["tool"], asked["mine"]), ("asked", "steps", True))
decision = {"decision": "accept", "remember_calls": 1}
equal(call("POST", f"/v1/approvals/{asked['id']}", decision, token="approve").status, 204)
settled = next(waiting)
equal((settled["event"], settled["id"], settled["outcome"]), ("settled", asked["id"], "accepted"))
seen = list(seen)
told = [event for event in seen if event["event"] == "progress"]
assert 1 <= len(told) <= 200, len(told)
equal((told[-1]["progress"], told[-1]["total"], told[-1]["message"]), (10000, 10000, "step 10000"))
equal({(event["server"], event["tool"], event["cell"]) for event in told}, {("demo", "steps", told[0]["cell"])})
equal("".join(event["text"] for event in seen if event["event"] == "stdout"), "told\n")

# a question of the server: a form, whose answer must fit
seen = stream("print(ask.run(ask.Params()))")
asked = next(waiting)
equal(call("POST", f"/v1/approvals/{asked['id']}", {"decision": "accept"}, token="approve").status, 204)
next(waiting)
question = next(waiting)
equal((question["server"], question["form"]["message"], question["mine"]), ("demo", "Who are you?", True))
listed = call("GET", "/v1/approvals", token="approve")["approvals"]
equal([(one["id"], "tool" in one) for one in listed], [(question["id"], False)])
place = f"/v1/approvals/{question['id']}"
for wrong in ({"decision": "accept"}, {"action": "accept"}, {"action": "accept", "content": {"name": 1}}):
    equal(call("POST", place, wrong, token="approve").status, 400)
right = {"action": "accept", "content": {"name": "Ada"}}
equal(call("POST", place, right, token="execute").status, 403)
equal(call("POST", place, right, token="approve").status, 204)
equal(next(waiting)["outcome"], "answered")
equal(call("POST", place, right, token="approve").status, 404)
said = "".join(event["text"] for event in seen if event["event"] == "stdout")
equal(said, '{"action": "accept", "content": {"name": "Ada"}}\n')

# declined, over a WebSocket
with follow("/v1/approvals", token="approve") as socket:
    equal(json.loads(socket.recv(WAIT))["event"], "listed")
    seen = stream("print(ask.run(ask.Params()))")
    for body in ({"decision": "accept"}, {"action": "decline"}):
        asked = json.loads(socket.recv(WAIT))
        equal(asked["event"], "asked")
        equal(call("POST", f"/v1/approvals/{asked['data']['id']}", body, token="approve").status, 204)
        equal(json.loads(socket.recv(WAIT))["event"], "settled")
    has("".join(event["text"] for event in seen if event["event"] == "stdout"), '"decline"')
PY
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}

@test "a stopping server tells every stream its end, and closes with 1001" {
    serves
    talk > "$BATS_TEST_TMPDIR/end" <<'PY' &
streams = [follow(EVENTS + "?after=1000000"), follow("/v1/approvals")]
equal(json.loads(streams[1].recv(WAIT))["event"], "listed")
print("running", flush=True)
for socket in streams:
    *_, last, closed = messages(socket)
    equal((last["event"], last["data"]["reason"], closed), ("closed", "the server is stopping", 1001))
print("well")
PY
    local talking=$!
    wait_for grep -q running "$BATS_TEST_TMPDIR/end"
    box kill -s TERM "$id"
    end_box
    wait "$talking" || fail "$(cat "$BATS_TEST_TMPDIR/end")"
    assert_equal "$(tail -1 "$BATS_TEST_TMPDIR/end")" well
    assert_equal "$status" 0
}

# pip tells nothing of files below 512 KiB.
# bats test_tags=all
@test "a download tells its progress beside pip's output" {
    local ca=()
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro" -e IPYBOX_CA=/ca.pem); fi
    tokens+=("${ca[@]}")
    serves
    talk <<'PY'
accept = {"Accept": "text/event-stream"}
seen = list(events(start("POST", "/v1/packages", {"package": "docutils==0.21.2"}, headers=accept)))
equal((seen[-1]["event"], seen[-1]["status"]), ("end", "ok"))
told = [event for event in seen if event["event"] == "progress"]
equal(told[-1]["progress"], told[-1]["total"])
has(told[-1]["message"], "docutils")
whole = "".join(event["text"] for event in seen if event["event"] == "text")
equal(call("GET", "/v1/files/outputs/" + seen[-1]["output_file"].rpartition("/")[2]).text, whole)
assert "Collecting " in whole and "Progress " not in whole, whole
equal(seen[-1]["output"], "Successfully installed docutils-0.21.2")
PY
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}
