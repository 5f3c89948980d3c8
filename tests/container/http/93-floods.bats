# Floods: what hostile code, clients and MCP servers can make much of costs others nothing.
load ../lib/helpers

tokens=(-e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute)

# bats test_tags=all
@test "a cell's forged and refused events, and 100 forgotten MCP sessions, cost little and lock nobody out" {
    start_box "${tokens[@]}" --tmpfs /logs:size=12m,mode=1777 \
        -v "$here/tool_server.py:/tools/tool_server.py:ro" -- \
        serve --sandbox --max-sessions 20 --audit-log /logs/log
    talk_inside <<'PY'
wait_for("the server", ready)
equal(call("GET", "/readyz", token=None)["audit"], "written")

# cells of a gateway that nobody has configured, with the kernel's own key
forged = run("""
import json
kernel = get_ipython().kernel
for i in range(4000):
    for state in ("busy", "idle"):
        parent = {"header": {"msg_id": f"r{i}", "msg_type": "execute_request", "session": "x"}}
        kernel.session.send(kernel.iopub_socket, "status", {"execution_state": state}, parent=parent, ident=kernel._topic("status"))
print("sent")""", timeout_ms=60000)
has(forged.text, "sent")

# calls that are refused
params = {"command": "python3", "args": ["/tools/tool_server.py"]}
equal(call("POST", "/v1/mcp-servers", {"name": "demo", "params": params}).status, 201)
flood = run("""
from ipybox_tools import ToolRunner
refused = 0
runner = ToolRunner(server_name="demo")
for i in range(6000):
    try:
        runner.run_sync(tool_name="not\u202elisted", tool_args={})
    except Exception as e:
        refused += 1
        last = str(e)
print(refused, last)""", timeout_ms=100000)
has(flood["stdout"], "6000 ")
has(flood["stdout"], "lists no tool")
has(flood["stdout"], r"not\u202elisted")

# sessions of MCP that nobody comes back to: none has a kernel
accept = {"Accept": "application/json, text/event-stream"}
hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
equal([call("POST", "/mcp", hello, headers=accept).status for _ in range(19)], [200] * 19)
full = call("POST", "/mcp", hello, headers=accept)
equal((full.status, 1 <= int(full.headers["Retry-After"]) <= 10), (503, True))
has(call("GET", "/metrics", token=None).text, "ipybox_kernels 1\n")
wait_for("room", lambda: call("POST", "/mcp", hello, headers=accept).status == 200)
wait_for("room for others", lambda: call("POST", "/v1/sessions", {"id": "mine"}).status == 201)
equal(run("6 * 7", "mine")["status"], "ok")
PY
    wait_for log_has "ends to make room for another: it ran nothing and was not used for"
    run_audit=$(limited docker exec "$id" bash -c '
        ipybox audit verify /logs/log; stat -c %s /logs/log
        grep -c "\"door\":\"gateway\"" /logs/log
        grep -o "\"kind\":\"left_out\",\"of\":\"[a-z_]*\",\"count\":[0-9]*" /logs/log || true' || true)
    printf '%s\n' "$run_audit"
    assert_match "$run_audit" "OK, [0-9]+ records"
    assert_match "$run_audit" $'\n0\n'
    assert_at_most "$(sed -n 2p <<< "$run_audit")" 1300000 "bytes of the audit log"
    # a disk that one cell fills: what was kept for the log is used first, then its records are in the container's
    limited docker exec "$id" bash -c 'cat /dev/zero > /logs/filler; df /logs' || true
    talk_inside <<'PY'
for _ in range(30):
    equal(run("1")["status"], "ok")
equal(call("GET", "/readyz", token=None)["audit"], "written")
has(call("GET", "/metrics", token=None).text, 'ipybox_audit_state{state="written"} 1')
metrics = call("GET", "/metrics", token=None).text
print([line for line in metrics.splitlines() if "loop_" in line and line[0] != "#"])
PY
    box kill -s TERM "$id"
    box logs "$id"
    assert_match "$errors" "it ran nothing and was not used for"
    end_box
}

# server_floods [MOST] - MOST is the longest turn of the loop in seconds of processor time.
server_floods()
{
    local server=$BATS_TEST_TMPDIR/flood.py
    cat > "$server" <<'PY'
import json, sys
line = "x" * 200 + "\n"
def say(message):
    print(json.dumps(message), flush=True)
for text in sys.stdin:
    request = json.loads(text)
    method, number = request.get("method"), request.get("id")
    if method == "initialize":
        say({"jsonrpc": "2.0", "id": number, "result": {"protocolVersion": "2025-06-18",
             "capabilities": {"tools": {}}, "serverInfo": {"name": "f", "version": "1"}}})
    elif method == "tools/list":
        say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "\u202e" + line}})
        say({"jsonrpc": "2.0", "id": number, "result": {"tools": [{"name": "flood", "inputSchema": {"type": "object"}}]}})
    elif method == "tools/call":
        for i in range(40000):
            sys.stderr.write(line)
            if i % 4 == 0:
                say({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "\u202e" + line}})
        say({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "flooded"}]}})
    elif number is not None:
        say({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": "no"}})
PY
    start_box "${tokens[@]}" -v "$server:/tools/flood.py:ro" -- serve
    talk_inside -e "MOST=${1:-}" <<'PY'
wait_for("the server", ready)
planted = run("""
import os
os.makedirs("mcptools", exist_ok=True)
for i in range(4000):
    os.close(os.open(f"mcptools/.new-{i}", os.O_CREAT | os.O_WRONLY))
print(len(os.listdir("mcptools")))""")
equal(planted["stdout"], "4000\n")
equal(call("POST", "/v1/mcp-servers", {"name": "flood", "params": {"command": "python3", "args": ["/tools/flood.py"]}}).status, 201)
has(run("from mcptools.flood import flood\nprint(flood.run(flood.Params()))")["stdout"], "flooded")
equal(call("DELETE", "/v1/mcp-servers/flood").status, 204)
turns = [line for line in call("GET", "/metrics", token=None).text.splitlines() if line.startswith("ipybox_loop_")]
print(turns)
longest = next(float(line.split()[1]) for line in turns if line.startswith('ipybox_loop_turn_seconds_max{clock="cpu"}'))
assert not os.environ["MOST"] or longest < float(os.environ["MOST"]), turns
PY
    box logs "$id"
    assert_at_most "${#errors}" 600000 "bytes of the log"
    assert_match "$errors" "flood: [0-9]+ more lines, [0-9]+ KiB, were left out"
    assert_match "$errors" 'flood: \\u202ex'
    box kill -s TERM "$id"
    end_box
}

@test "an MCP server that floods the log, and one with leftovers in its folder, cost others little" {
    server_floods
}

# bats test_tags=alone,measure
@test "an MCP server that floods the log, and leftovers in a folder, hold the loop for less than 0.1 s" {
    server_floods 0.1
}

@test "the execute token reads no .env and writes no hooks over /v1/files, with --sandbox and without" {
    local more
    for more in "" --sandbox; do
        start_box "${tokens[@]}" -- serve ${more:+"$more"}
        talk_inside <<'PY'
import io, tarfile
wait_for("the server", ready)
def put(path, body, token):
    connection = http.client.HTTPConnection(HOST, PORT, timeout=WAIT)
    connection.request("PUT", path, body, {"Authorization": f"Bearer {token}"})
    return connection.getresponse().status
def archive(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, kind, link in members:
            one = tarfile.TarInfo(name)
            one.type, one.linkname, one.size = kind, link, 0
            tar.addfile(one)
    return out.getvalue()
for path in (".env", ".git/hooks/pre-commit", "plain"):
    equal(put(f"/v1/files/{path}?parents=true", b"SECRET=1", "admin"), 201)
run("import os; os.symlink('.env', 'link'); os.symlink('.git/hooks', 'hooks')")
for path in (".env", "link"):
    equal(call("GET", f"/v1/files/{path}", token="execute").status, 403)
    equal(call("GET", f"/v1/files/{path}").status, 200)
equal(call("GET", "/v1/files/plain", token="execute").text, "SECRET=1")
for path in (".git/hooks/post-commit", "hooks/post-commit", ".git/hooks/new/x", ".mcp.json", ".env"):
    equal(put(f"/v1/files/{path}?parents=true", b"x", "execute"), 403)
equal(call("GET", "/v1/files/.git/hooks/new").status, 404)
equal(put("/v1/files/mine/x?parents=true", b"x", "execute"), 201)
move = {"action": "move", "to": "seen"}
equal(call("POST", "/v1/files/.env", move, token="execute").status, 403)
equal(call("POST", "/v1/files/.git", move, token="execute").status, 403)
equal(call("POST", "/v1/files/mine/x", {"action": "move", "to": ".git/hooks/x"}, token="execute").status, 403)
equal(call("POST", "/v1/files/.git/hooks/dir", {"action": "make_folder"}, token="execute").status, 403)
equal(call("DELETE", "/v1/files/.git?recursive=true", token="execute").status, 403)
equal(call("DELETE", "/v1/files/.env", token="execute").status, 403)
for bad in ((".git/hooks/h", tarfile.REGTYPE, ""), ("copy", tarfile.LNKTYPE, ".env")):
    equal(put("/v1/tar", archive(bad), "execute"), 403)
equal(put("/v1/tar", archive(("fine", tarfile.REGTYPE, "")), "execute"), 200)
connection = start("GET", "/v1/tar", token="execute")
names = tarfile.open(fileobj=io.BytesIO(connection.getresponse().read())).getnames()
equal((".env" in names, "plain" in names), (False, True))
PY
        box kill -s TERM "$id"
        end_box
    done
}

@test "who follows the events of an earlier life is told so at once" {
    start_box "${tokens[@]}" -- serve
    talk_inside > "$BATS_TEST_TMPDIR/last" <<'PY'
wait_for("the server", ready)
print(run("1")["events"]["last"])
PY
    local last
    last=$(tail -n 1 "$BATS_TEST_TMPDIR/last")
    box restart "$id"
    talk_inside <<PY
wait_for("the server", ready)
run("print('here')")
first, *_ = [next(events(start("GET", "/v1/sessions/default/events", headers={"Last-Event-ID": "$last"})))]
equal((first["event"], first["after"]), ("reset", $last))
PY
    box kill -s TERM "$id"
    end_box
}

# much [MOST] - MOST is the longest turn in milliseconds of processor time, by the server's own account: an upper bound for
# what one peer costs the others.
much()
{
    local server=$BATS_TEST_TMPDIR/many.py
    cat > "$server" <<'PY'
import json, sys
properties = {f"p{i}": {"type": "string", "description": "what it is good for"} for i in range(5)}
tools = [{"name": f"tool_{i}", "description": f"Does {i}.", "inputSchema": {"type": "object", "properties": properties}}
         for i in range(3000)]
def say(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for text in sys.stdin:
    request = json.loads(text)
    method, number = request.get("method"), request.get("id")
    if method == "initialize":
        say({"id": number, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}},
             "serverInfo": {"name": "m", "version": "1"}}})
    elif method == "tools/list":
        at = int((request.get("params") or {}).get("cursor", 0))
        more = {"nextCursor": str(at + 500)} if at + 500 < len(tools) else {}
        say({"id": number, "result": {"tools": tools[at:at + 500], **more}})
    elif method == "tools/call":
        for _ in range(2000):
            say({"method": "notifications/tools/list_changed"})
        say({"id": number, "result": {"content": [{"type": "text", "text": "called"}]}})
    elif number is not None:
        say({"id": number, "error": {"code": -32601, "message": "no"}})
PY
    start_box "${tokens[@]}" -v "$server:/tools/many.py:ro" -- serve
    talk_inside -e "MOST=${1:-}" <<'PY'
import time
wait_for("the server", ready)
def longest():
    name = 'ipybox_loop_turn_seconds_max{clock="cpu"}'
    lines = call("GET", "/metrics", token=None).text.splitlines()
    return 1000 * next(float(line.split()[1]) for line in lines if line.startswith(name))
figures = []
def measured(what):
    figures.append((what, longest()))
    print(f"{figures[-1][1]:8.1f} ms  so far, {what}")
measured("start")
planted = run("""
import os
os.makedirs("mcptools/.new-deep", exist_ok=True)
os.makedirs("many/folder/deep", exist_ok=True)
def plant(folder, n, name):
    for i in range(n):
        os.close(os.open(f"{folder}/{name}{i}", os.O_CREAT | os.O_WRONLY))
plant("mcptools", 10000, ".new-")
plant("mcptools/.new-deep", 10000, "x")
plant("many", 100000, "n")
for i in range(2000):
    os.mkdir(f"many/folder/{i}")
print("planted")""", timeout_ms=100000)
has(planted.text, "planted")
measured("cells that plant")
params = {"command": "python3", "args": ["/tools/many.py"]}
for made in (call("POST", "/v1/mcp-servers", {"name": "many", "params": params}) for _ in range(2)):
    equal((made.status, len(made["modules"])), (201, 3000))
measured("registration of 3,000 tools, twice")
equal(len(call("GET", "/v1/mcp-servers/many")["tools"]), 3000)
measured("3,000 tools as JSON")
has(run("from mcptools.many import tool_2999\nprint(tool_2999.run(tool_2999.Params()))")["stdout"], "called")
measured("a call, and 2,000 times that the list has changed")
page = call("GET", "/v1/files/many")
equal((len(page["entries"]), page["next"] != ""), (1000, True))
measured("a page of 100,000 names")
wait_for("the judge", lambda: call("GET", "/v1/files/many/n1", token="execute").status == 200)
measured("a judge of 102,000 names")
wait_for("a clean folder", lambda: run("import os; print([n for n in os.listdir('mcptools') if n[0] != '_'])")["stdout"] == "['many']\n")
measured("20,000 leftovers")
has(run("x = '" + "y" * 2_000_000 + "'\nprint(len(x))")["stdout"], "2000000")
has(call("POST", "/v1/sessions/default/executions", {"more": [0] * 600_000}).text, "more than 50000 values")
measured("bodies of 2 MB and of 600,000 values")
has(run("print('z' * 8_000_000)", timeout_ms=60000).text, "zzz")
measured("a cell that prints 8 MB")
assert not os.environ["MOST"] or max(ms for _, ms in figures) < float(os.environ["MOST"]), figures
PY
    box kill -s TERM "$id"
    end_box
}

# bats test_tags=all
@test "3,000 tools, 100,000 names, 20,000 leftovers and large bodies are served" {
    much
}

# bats test_tags=alone,measure
@test "3,000 tools, 100,000 names, 20,000 leftovers and large bodies hold the loop for less than 20 ms" {
    much 20
}

# talk_raw - talk_inside, with requests that no client would send.
talk_raw()
{
    { cat <<'PY'; cat; } | talk_inside
import re, socket

BASE = "/librechat/v1"
FORM = "Content-Type: multipart/form-data; boundary=b"
FILE = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
EDDSA, NONE = "eyJhbGciOiJFZERTQSJ9", "eyJhbGciOiJub25lIn0"

def descriptors():
    text = call("GET", "/metrics", token=None).text
    return int(re.search(r"^(?:ipybox_)?process_open_fds (\d+)", text, re.MULTILINE)[1])

def raw(text):
    connection = socket.create_connection((HOST, PORT), WAIT)
    try:
        connection.sendall(text.encode())
    except OSError:
        pass  # it was answered before all of it was there
    return connection

def head(method, path, *more, token="admin"):
    lines = [f"{method} {BASE}{path} HTTP/1.1", "Host: localhost", "Connection: close", f"Authorization: Bearer {token}", *more]
    return "\r\n".join(lines) + "\r\n\r\n"

def heard(text):
    connection, answer = raw(text), b""
    try:
        while chunk := connection.recv(65536):
            answer += chunk
    except OSError:
        pass
    return answer.decode()
PY
}

@test "LibreChat's wire: headers, tokens, half requests, 1,000 connections and uploads that break off cost nothing" {
    local key=$BATS_TEST_TMPDIR/key.pem
    cat > "$key" <<'PEM'
-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
PEM
    start_box "${tokens[@]}" -v "$key:/run/key.pem:ro" -- serve --librechat --librechat-jwt-keys /run/key.pem
    talk_raw <<'PY'
def still_serves():
    equal(call("POST", f"{BASE}/exec", {"lang": "bash", "code": "echo 1"})["stdout"], "1\n")

wait_for("the server", ready)
still_serves()
before = descriptors()

has(heard(head("GET", "/files/x", *(f"X-{i}: {i}" for i in range(100000)))), "HTTP/1.1 431 ")
long = heard(head("GET", "/files/x", "X-Long: " + "x" * 17000))
has(long, "HTTP/1.1 431 ")
has(long, '{"error":"invalid_request","message":"')

for token, why in (
    ("x" * 15000, "bring a token of LibreChat"), ("..", "no base64url"), ("\u00e9.b.c", "no base64url"),
    (f"{NONE}.e30.", "its alg is not EdDSA or RS256"), (f"{EDDSA}.e30.{'A' * 86}", "its signature is wrong"),
    (f"{EDDSA}.e30.{'A' * 9000}", "no JWT of at most 8192 bytes"),
):
    answer = heard(head("GET", "/files/x", token=token))
    has(answer, "HTTP/1.1 401 ")
    has(answer, '{"error":"unauthorized","message":"')
    has(answer, why)

length = "Content-Length: 1000000"
half = [raw(head("POST", "/exec", "Content-Type: application/json", length) + '{"lang"') for _ in range(200)]
half += [raw(f"POST {BASE}/up") for _ in range(100)]
half += [raw(head("POST", "/upload", FORM, length) + FILE + "x" * 1000) for _ in range(100)]
still_serves()
for connection in half:
    connection.close()
wait_for("their end", lambda: descriptors() <= before + 2)

idle = [raw("GET /librechat") for _ in range(1000)]
still_serves()
for connection in idle:
    connection.close()
wait_for("their end", lambda: descriptors() <= before + 2)
left = call("POST", f"{BASE}/exec", {"lang": "bash", "code": "find /app/workspace/librechat -type f"})
equal(left["stdout"], "")
equal(len(call("GET", "/v1/sessions")["sessions"]), 1)
PY
    box kill -s TERM "$id"
    end_box
}
