# The HTTP API: docs/http-api.md.
load ../lib/helpers

tokens=(-e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute -e IPYBOX_APPROVER_TOKEN=approve)

# Cells, their streams and what becomes of them.
cells()
{
    cat <<'PY'
wait_for("the server", ready)
equal(call("GET", EXECUTIONS, token=None).status, 401)
equal(call("GET", EXECUTIONS, token="approve").status, 403)
equal(call("GET", "/openapi.json", token=None)["openapi"], "3.1.0")

# a cell, its streams apart, its displays whole
answer = run("""
import sys
from IPython.display import HTML, display
print("out"); print("err", file=sys.stderr); display(HTML("<b>bold</b>")); 6 * 7""")
equal(answer.status, 200)
equal((answer["status"], answer["stdout"], answer["stderr"]), ("ok", "out\n", "err\n"))
equal([output["type"] for output in answer["outputs"]], ["display", "result"])
equal(answer["outputs"][0]["data"]["text/html"], "<b>bold</b>")
equal(answer["outputs"][1]["data"]["text/plain"], "42")
equal(call("GET", answer.headers["Location"]).text, answer.text)
equal(run("1 / 0")["error"]["ename"], "ZeroDivisionError")

# soft and hard timeouts are told apart
soft = run("while True: pass", timeout_ms=300)
equal((soft["status"], soft["timeout"], soft["kernel_replaced"]), ("timeout", "soft", False))

# a retried request is one execution
key = {"Idempotency-Key": "k"}
first = call("POST", EXECUTIONS, {"code": "n = globals().get('n', 0) + 1"}, headers=key)
again = call("POST", EXECUTIONS, {"code": "n = globals().get('n', 0) + 1"}, headers=key)
equal((first["id"], again.headers["Idempotency-Replayed"]), (again["id"], "true"))
equal(run("print(n)")["stdout"], "1\n")

# a stream, left and taken up again
seen = stream("import time\nfor i in range(3):\n    print(i, flush=True)\n    time.sleep(0.1)",
              on_disconnect="detach")
place = next(seen)
first = next(event for event in seen if event["event"] == "stdout")     # a line comes in one event or more
path = f"{EXECUTIONS}/{place['id']}/events"
rest = list(events(start("GET", path, headers={"Last-Event-ID": first["number"]})))
equal(first["text"] + "".join(e["text"] for e in rest if e["event"] == "stdout"), "0\n1\n2\n")
equal((rest[-1]["event"], rest[-1]["status"]), ("end", "ok"))
whole = list(events(start("GET", path)))
equal([e["event"] for e in whole][:2], ["execution", "begin"])
numbers = [int(e["number"]) for e in whole if "number" in e]
equal(numbers, list(range(numbers[0], numbers[0] + len(numbers))))

# who leaves, cancels
left = stream("import time; time.sleep(600)")
next(left)
left.close()
equal(run("'here'")["status"], "ok")
PY
}

# Sessions of their own, and a tool call that waits for the approver.
sessions_and_tools()
{
    cat <<'PY'
os.makedirs("/app/workspace/sub", exist_ok=True)
for n in range(10):
    env = {"N": str(n), "TZ": "Asia/Tokyo", "PYTHONPATH": f"/one/{n}::/two"}
    equal(call("POST", "/v1/sessions", {"id": f"s{n}", "env": env, "cwd": "sub"}).status, 201)
for n in range(10):
    equal(run("import os; x = os.environ['N']; print(x, os.getcwd())", f"s{n}")["stdout"], f"{n} /app/workspace/sub\n")
for n in range(10):
    equal(run("print(x)", f"s{n}")["stdout"], f"{n}\n")
    # what Python reads of its environment when it starts; no name is left of what gave it to it
    equal(run("import sys, time; print(time.localtime(0).tm_hour, time.tzname[0], sys.path[:2], 'path' in globals())",
              f"s{n}")["stdout"], f"9 JST ['/one/{n}', '/two'] False\n")
equal(call("POST", "/v1/sessions", {}).status, 201)
equal(run("import time; print(time.localtime(0).tm_hour)")["stdout"], "0\n")
full = call("POST", "/v1/sessions", {})
equal((full.status, full.headers["Content-Type"]), (429, "application/problem+json"))
has(full["detail"], "--max-sessions")
for n in range(1, 10):
    equal(call("DELETE", f"/v1/sessions/s{n}").status, 204)
equal(call("GET", "/v1/sessions/s1").status, 404)
equal(call("POST", "/v1/sessions/s0/reset").status, 204)
equal(run("import os; print(os.environ['N'], 'x' in globals())", "s0")["stdout"], "0 False\n")

# a tool call waits for the approver, and is the session's
server = {"name": "demo", "params": {"command": "python3", "args": ["/tools/tool_server.py"]}}
equal(call("POST", "/v1/mcp-servers", server, token="execute").status, 403)
registered = call("POST", "/v1/mcp-servers", server)
equal(registered.status, 201)
has(registered.text, '"echo"')
seen = stream("from mcptools.demo import echo; print(echo.run(echo.Params(text='hi')))", "s0")
asked = next(event for event in seen if event["event"] == "approval")
equal((asked["session"], asked["tool"], asked["arguments"]), ("s0", "echo", {"text": "hi"}))
equal(call("POST", f"/v1/approvals/{asked['id']}", {"decision": "accept"}, token="execute").status, 403)
waiting = call("GET", "/v1/approvals", token="approve")["approvals"]
equal([(one["id"], one["mine"]) for one in waiting], [(asked["id"], True)])
equal(call("POST", f"/v1/approvals/{asked['id']}", {"decision": "accept"}, token="approve").status, 204)
rest = list(seen)
equal("".join(event["text"] for event in rest if event["event"] == "stdout"), "hi\n")
equal(rest[-1]["status"], "ok")

# packages, as kernels find them
packages = {one["name"]: one["version"] for one in call("GET", "/v1/packages", token="execute")["packages"]}
equal(run("import ipykernel; print(ipykernel.__version__)")["stdout"], packages["ipykernel"] + "\n")
equal(call("GET", "/v1/packages", token="approve").status, 403)

metrics = call("GET", "/metrics", token=None).text
has(metrics, '\nipybox_tool_calls_total{outcome="ok"} 1\n')
has(metrics, '\nipybox_approvals_total{verdict="accepted"} 1\n')
has(metrics, '\nipybox_cells_total{status="timeout"} 1\n')
PY
}

# Not ready, no new work; the running cell ends in its grace; streams have a last event.
the_end()
{
    cat <<'PY'
import socket
seen = stream("import socket\ngo = socket.create_server(('127.0.0.1', 8999))\nprint('begun', flush=True)\ngo.accept()\nprint('done')")
next(event for event in seen if event["event"] == "stdout")
everything = start("GET", "/v1/sessions/default/events?after=1000000")
print("running", flush=True)
wait_for("the end", lambda: call("GET", "/readyz", token=None).status == 503)
equal(call("GET", "/livez", token=None).status, 200)
equal(run("1").status, 503)
refused = call("POST", "/v1/sessions", {"id": "late"})
equal((refused.status, refused["detail"]), (503, "the server is stopping"))
equal(call("GET", "/readyz", token=None)["status"], "stopping")
socket.create_connection(("127.0.0.1", 8999)).close()
rest = list(seen)
equal((rest[-1]["event"], rest[-1]["status"]), ("end", "ok"))
equal([event["event"] for event in events(everything)][-1], "closed")
print("well")
PY
}

@test "sessions, executions, streams, approvals and an ordered end over HTTP" {
    start_box "${tokens[@]}" -v "$here/tool_server.py:/tools/tool_server.py:ro" \
        -- serve --approve-tool-calls --max-sessions 12 --stop-grace 60
    talk_inside < <(cells)
    talk_inside < <(sessions_and_tools)

    # from a container of its own: what is inside ends with the server
    cat "$here/http_client.py" <(the_end) > "$BATS_TEST_TMPDIR/end.py"
    limited docker run -i --rm --network "container:$id" --name "$name-client" --label "ipybox.test=$name" \
        -e "WAIT=$guard" --entrypoint python3 "$image" - < "$BATS_TEST_TMPDIR/end.py" > "$BATS_TEST_TMPDIR/end" &
    local talking=$!
    wait_for grep -q running "$BATS_TEST_TMPDIR/end"
    box kill -s TERM "$id"
    end_box
    wait "$talking" || fail "$(cat "$BATS_TEST_TMPDIR/end")"
    assert_equal "$(tail -1 "$BATS_TEST_TMPDIR/end")" well
    assert_equal "$status" 0
}

# bats test_tags=all
@test "two sessions that fill a container together: the kernel that grows ends, and Linux ends none" {
    start_box -m 512m --memory-swap 512m "${tokens[@]}" -- serve
    talk_inside <<'PY'
wait_for("the server", ready)
call("POST", "/v1/sessions", {"id": "other"})
equal(run("b = bytearray(b'x') * (200 << 20)")["status"], "ok")
GROW = """
import time
kept = []
while True:
    kept.append(bytearray(b'x') * (8 << 20))
    time.sleep(0.1)                              # the server looks meanwhile: Linux would choose by size
"""
has(run(GROW, "other")["reason"], "the container's memory")
equal(run("print(len(b) >> 20)")["stdout"], "200\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "the limits of a session hold for its kernels alone, and the errors of its cells name them" {
    start_box "${tokens[@]}" -- serve --kernel-memory 1G
    talk_inside <<'PY'
wait_for("the server", ready)
wide = call("POST", "/v1/sessions", {"limits": {"memory": 2 << 30}})
equal(wide.status, 422)
has(wide["detail"], "limits.memory: must be at most 1073741824")
tight = call("POST", "/v1/sessions", {"id": "tight", "limits": {
    "memory": 300 << 20, "disk": 64 << 20, "tasks": 40, "open_files": 200, "file_size": 1 << 20}})
equal((tight.status, tight["limits"]["memory"], tight["limits"]["tasks"]), (201, 300 << 20, 40))
FILES = "kept = [open('/dev/null') for _ in range(250)]"
FILE = "import os; file = open('big', 'wb'); file.write(bytes(2 << 20)); file.flush()"
TASKS = "import threading\nfor _ in range(60): threading.Thread(target=threading.Event().wait, daemon=True).start()"
for code, error in ((FILES, "Too many open files"), (FILE, "File too large"), (TASKS, "can't start new thread")):
    has(str(run(code, "tight")["error"]), error)
    equal(run(code.replace("60", "3"))["status"], "ok")
has(run("x = bytearray(1 << 29); import time; time.sleep(30)", "tight")["reason"], "300 MiB memory (--kernel-memory)")
equal(run("x = bytearray(1 << 29); print(len(x))")["stdout"], f"{1 << 29}\n")
full = run("import time\nfor i in range(99):\n    open(f'f{i}', 'wb').write(bytes(1 << 20))\ntime.sleep(30)", "tight")
has(full["reason"], "64 MiB disk space (--kernel-disk)")
equal(run("print('again')", "tight")["stdout"], "again\n")
PY
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}

@test "without a token only the container itself may connect" {
    run_box -- serve --http 0.0.0.0:8080
    assert_equal "$status" 2
    assert_match "$errors" 'give IPYBOX_TOKEN'
    start_box -- serve
    talk_inside <<'PY'
import socket
wait_for("the server", ready)
equal(call("POST", EXECUTIONS, {"code": "print(1)"}, token=None)["stdout"], "1\n")
equal(call("GET", "/v1/approvals", token=None).status, 401)
def from_outside(head):
    with socket.create_connection((socket.gethostbyname(socket.gethostname()), 8080), WAIT) as s:
        s.sendall(head)
        return s.makefile("rb").read().decode()
for line in "GET /livez", "GET /", "GET /v1/sessions", "POST /v1/sessions/default/executions", "POST /mcp", "nonsense":
    said = from_outside(f"{line} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n{{\"code\": \"1\"}}".encode())
    assert said.startswith("HTTP/1.1 403 ") and "-e IPYBOX_TOKEN=" in said and "ipybox has no token" in said, said
PY
    log_has 'no IPYBOX_TOKEN'
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}

@test "beside standard input and output the default session is the same one" {
    {
        printf 'HTTP = Path("%s").read_text()\n' "$here/http_client.py"
        cat <<'PY'
        prints("x = 41; print(x)", 41)
        said = inside("env", f"WAIT={WAIT}", "python3", "-", stdin=HTTP + "print(run('print(x + 1)').text)")
        matches(said, r'"stdout":"42\\n"')
PY
    } | sed 's/^ *//' > "$BATS_TEST_TMPDIR/script"
    drive "${tokens[@]}" -e IPYBOX_HTTP=8080 < "$BATS_TEST_TMPDIR/script"
}

@test "a file of 512 MiB goes up and comes down, alone and in an archive, and the server stays below 64 MiB" {
    start_box "${tokens[@]}" -- serve
    talk_inside <<'PY'
from pathlib import Path
BLOCK, BLOCKS = bytes(range(256)) * 4096, 512
TOKEN = {"Authorization": "Bearer execute"}

def peak():
    """KiB of the server."""
    [process] = [path.parent for path in Path("/proc").glob("[0-9]*/cmdline") if path.read_bytes() == b"ipybox\0serve\0"]
    return int((process / "status").read_text().split("VmHWM:")[1].split()[0])

def download(path):
    connection = http.client.HTTPConnection(HOST, PORT, timeout=WAIT)
    connection.request("GET", path, headers=TOKEN)
    answer = connection.getresponse()
    equal(answer.status, 200)
    while block := answer.read(len(BLOCK)):
        yield block

wait_for("the server", ready)
connection = http.client.HTTPConnection(HOST, PORT, timeout=WAIT)
length = {"Content-Length": str(len(BLOCK) * BLOCKS), "Content-Type": "application/octet-stream"}
connection.request("PUT", "/v1/files/big", (BLOCK for _ in range(BLOCKS)), TOKEN | length)
equal(connection.getresponse().status, 201)
equal([block == BLOCK for block in download("/v1/files/big")], [True] * BLOCKS)
assert sum(map(len, download("/v1/tar"))) > len(BLOCK) * BLOCKS
assert peak() < 64 * 1024, f"{peak()} KiB"
print(peak(), "KiB")
PY
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 0
}
