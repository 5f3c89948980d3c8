# Request ids and traces: from a request over HTTP to the servers that its code calls, to the log and the audit log.
load ../lib/helpers

# The conversation; it runs in the container and leaves what the audit log must have.
conversation()
{
    cat <<'PY'
import socket, subprocess, sys
ID, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
TRACE = {"traceparent": f"00-{ID}-{SPAN}-01", "tracestate": "a=b"}
wait_for("the server", ready)
other = subprocess.Popen([sys.executable, "/tools/trace_server.py", "9000"], stderr=subprocess.DEVNULL)
wait_for("the server of the site", lambda: socket.socket().connect_ex(("127.0.0.1", 9000)) == 0)
servers = {"program": {"command": "python3", "args": ["/tools/trace_server.py"]}, "site": {"url": "http://127.0.0.1:9000/mcp"}}
for name, params in servers.items():
    answer = call("POST", "/v1/mcp-servers", {"name": name, "params": params}, headers={"X-Request-Id": f"req-{name}"})
    equal((answer.status, answer.headers["X-Request-Id"]), (201, f"req-{name}"))

def told(server, headers):
    code = f"secret = 'hunter2'\nfrom mcptools.{server} import told\nprint(told.run(told.Params()))"
    answer = call("POST", EXECUTIONS, {"code": code}, headers=headers)
    equal((answer.status, answer["status"]), (200, "ok"))
    return json.loads(answer["stdout"])

# the trace goes on, in the way of each server, from a span of its own
spans = {SPAN}
for server in servers:
    for _ in range(2):
        seen = told(server, {"X-Request-Id": "req-cell", **TRACE})
        version, trace, span, flags = seen["traceparent"].split("-")
        equal((version, trace, flags, seen["tracestate"]), ("00", ID, "01", "a=b"))
        spans.add(span)
equal(len(spans), 5)

# without one, or with what is none, nothing is sent
for server in servers:
    equal(told(server, {}), {})
    equal(told(server, {"traceparent": f"00-{'0' * 32}-{SPAN}-01", "tracestate": "a=b"}), {})

# ids: one that is not harmless is replaced; problems have it
odd = call("GET", "/livez", headers={"X-Request-Id": "a b\"c"})
equal(len(odd.headers["X-Request-Id"]), 32)
missing = call("GET", "/v1/sessions/none", headers={"X-Request-Id": "req-missing"})
equal((missing.status, missing["request_id"], missing.headers["X-Request-Id"]), (404, "req-missing", "req-missing"))

# changes of files
connection = http.client.HTTPConnection(HOST, 8080)
own = {"Authorization": "Bearer admin", "X-Request-Id": "req-file"}
connection.request("PUT", "/v1/files/a.txt", "hello", own)
equal(connection.getresponse().status, 201)
connection.close()
equal(call("POST", "/v1/files/a.txt", {"action": "move", "to": "b.txt"}, headers=own).status, 200)
equal(call("DELETE", "/v1/files/b.txt", headers=own).status, 204)
equal(call("POST", "/v1/packages", {"package": "https://user:hunter2@localhost:1/x?k=hunter2"}, headers=own)["status"], "error")
other.kill()
PY
}

# What the log and the audit log hold; $1 and $2.
records()
{
    python3 - "$@" <<'PY'
import json, sys
log = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
audit = [json.loads(line) for line in open(sys.argv[2])]
assert any(r.get("request_id") == "req-cell" and "POST /v1/sessions/{id}/executions: 200" in r["text"] for r in log), log[-5:]
for words in open(sys.argv[1]).read(), open(sys.argv[2]).read():
    assert not any(word in words for word in ("hunter2", "mcptools.", "Bearer")), words
def of(**members):
    return [r for r in audit if all(r.get(name) == value for name, value in members.items())]
traced = of(request_id="req-cell", trace_id="4bf92f3577b34da6a3ce929d0e0e4736")
assert [r["kind"] for r in traced] == ["cell", "tool_call"] * 4, traced
assert len(of(kind="approval", request_id="req-cell")) == 4
for name in "program", "site":
    assert of(kind="server_registered", server=name, outcome="ok", request_id=f"req-{name}"), audit
assert [(r["kind"], r.get("path"), r.get("to"), r.get("bytes")) for r in of(request_id="req-file") if "path" in r] == [
    ("file_written", "a.txt", None, 5), ("file_moved", "a.txt", "b.txt", None), ("file_deleted", "b.txt", None, None)]
assert [r["package"] for r in of(request_id="req-file") if "package" in r] == ["https://***@localhost:1/x?***"] * 2
cells = of(door="gateway")
assert [r["kind"] for r in cells] == ["cell", "cell_end"] and cells[0]["bytes"] == len("print(6 * 7)"), cells
print("well")
PY
}

@test "a request is found again in the log, in the audit log and at the servers that its code calls" {
    local audit=$BATS_TEST_TMPDIR/audit
    mkdir "$audit"
    as_root chown 1000:1000 "$audit"
    start_box -e IPYBOX_TOKEN=admin -v "$audit:/audit" -v "$here/trace_server.py:/tools/trace_server.py:ro" -- serve \
        --audit-log /audit/log --log-format json --log-level DEBUG --kernel-gateway-port 8888
    talk_inside < <(conversation)
    box exec -i --user 1000 "$id" python3 - 8888 "" 'print(6 * 7)' < "$here/gateway_client.py"
    assert_equal "$output" 42
    box exec "$id" ipybox audit verify /audit/log
    assert_equal "$status" 0
    box exec "$id" ipybox exec 'from IPython.display import clear_output, display
h = display("0 %", display_id="p"); print("between"); h.update("100 %")'
    assert_equal "$output" $'\'100 %\'\nbetween'
    docker exec "$id" cat /audit/log > "$BATS_TEST_TMPDIR/records"
    docker logs "$id" > "$BATS_TEST_TMPDIR/log" 2>&1
    assert_equal "$(records "$BATS_TEST_TMPDIR/log" "$BATS_TEST_TMPDIR/records")" well
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}
