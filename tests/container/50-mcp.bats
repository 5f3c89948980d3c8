# The protocol: errors, ids, order, progress, cancellation, and clients that behave badly.
load lib/helpers

# What most scripts below use.
vocabulary='
def error(line, code, id=None):
    """The line is answered with this error, under this id; the session goes on."""
    send(line)
    message = receive(f"the error {code}", lambda m: "error" in m)
    equal((message["error"]["code"], message["id"]), (code, id))
    equal(set(message), {"jsonrpc", "id", "error"})
    ask("ping")
    return message["error"]
'

# talk [OPTION]... <<'PY' - as drive, with the vocabulary and after a handshake.
talk()
{
    { printf '%s\ngreet()\n' "$vocabulary"; cat; } > "$BATS_TEST_TMPDIR/script"
    drive "$@" < "$BATS_TEST_TMPDIR/script"
}

@test "a line that is no JSON is -32700 with the id null, and the session goes on" {
    talk <<'PY'
for line in ("garbage", "{", '{"jsonrpc":"2.0","id":1,"method":"ping"', "{'jsonrpc': '2.0'}", '{"id":1}}', "nul", "\x00", "tru",
             b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', '{"jsonrpc":"2.0","id":1,"method":"ping",}', '"\\ud800', "1e", "01"):
    error(line, -32700)
prints("1", 1)
PY
}

@test "JSON that is no JSON-RPC is -32600, under its own id where it has one" {
    talk <<'PY'
for line in "1", '"text"', "null", "true", "[]", "[1]", "{}":
    error(line, -32600)
error({"jsonrpc": "1.0", "id": 7, "method": "ping"}, -32600, 7)
error({"id": 7, "method": "ping"}, -32600, 7)
error({"jsonrpc": 2.0, "id": "x", "method": "ping"}, -32600, "x")
error({"jsonrpc": "2.0", "id": 7}, -32600, 7)
error({"jsonrpc": "2.0", "id": 7, "method": 5}, -32600, 7)
for id in None, 1.5, True, [1], {"a": 1}:
    error({"jsonrpc": "2.0", "id": id, "method": "ping"}, -32600)
error({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}, -32602, 7)
error({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": "x"}, -32602, 7)
prints("1", 1)
PY
}

@test "empty lines, carriage returns and responses are taken without a word" {
    talk <<'PY'
send("")
send("\r")
send({"jsonrpc": "2.0", "id": 5, "result": {}})
send({"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}})
send('{"jsonrpc":"2.0","id":"cr","method":"ping"}\r')
equal(answer("cr")["result"], {})
notify("notifications/no-such-thing", a=1)
notify("notifications/initialized")
notify("notifications/cancelled", requestId=99)
notify("notifications/cancelled", requestId=None)
notify("notifications/cancelled")
nothing_else()
PY
}

@test "ids are echoed exactly as they were written" {
    talk <<'PY'
for id in ("0", "-0", "-1", "1", "9007199254740993", "123456789012345678901234567890", '""', '"0"', '"text"', '"é"', '"\\u00e9"',
           '"quote \\" and \\\\ "', '" "'):
    send(f'{{"jsonrpc":"2.0","method":"ping","id":{id}}}')
    raw = receive(f"the answer to {id}", lambda m: "result" in m).raw
    equal(f'"id":{id},' in raw, True)
prints("1", 1)
PY
}

@test "a request whose id is still open is refused, and the open one is answered" {
    talk <<'PY'
prints("import os, time", "")
id = start_cell("while not os.path.exists('/tmp/go'): time.sleep(0.02)\n'first'")
send({"jsonrpc": "2.0", "id": id, "method": "ping"})
message = receive("an error", lambda m: "error" in m)
equal((message["id"], message["error"]["code"]), (id, -32600))
inside("touch", "/tmp/go")
equal(finish(id).text, "'first'")
equal(answer(post("ping", id=id))["result"], {})        # now it may be used again
PY
}

@test "methods and tools that are not there are refused by name" {
    talk <<'PY'
for method in "no/such", "prompts/list", "server/discover", "", "tools/calls":
    matches(error({"jsonrpc": "2.0", "id": 1, "method": method}, -32601, 1)["message"], re.escape(method))
def call(params):
    return error({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, -32602, 1)["message"]
matches(call({"name": "no_such_tool", "arguments": {}}), "Unknown tool: no_such_tool")
call({"arguments": {}})
call({"name": 5})
call({"name": "reset", "arguments": [1]})
call({"name": "reset", "arguments": "x"})
error({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}}, -32602, 1)
PY
}

@test "before initialize only initialize and ping are answered" {
    drive <<'PY'
        for method in "tools/list", "tools/call":
            equal(ask(method, {"name": "reset"})["error"]["code"], -32600)
        equal(ask("ping")["result"], {})
        equal(ask("initialize", {})["error"]["code"], -32602)
        equal(ask("initialize", {"protocolVersion": 5})["error"]["code"], -32602)
        equal(ask("tools/list")["error"]["code"], -32600)
        greet()
        equal(len(ask("tools/list")["result"]["tools"]), 4)
PY
}

@test "wrong arguments are errors of the tool that name the argument" {
    talk <<'PY'
def wrong(name, pattern, **arguments):
    answer = Answer(ask("tools/call", {"name": name, "arguments": arguments}))
    equal(answer.error, True)
    matches(answer.text, rf"^Error executing tool {name}: .*{pattern}")
wrong("execute_ipython_cell", "code")
wrong("execute_ipython_cell", "code", code=5)
for timeout in 0, -1, "x", "", "inf", "nan", [1], True:
    wrong("execute_ipython_cell", "timeout", code="1", timeout=timeout)
for limit in -1, 1.5, "x", [1], False:
    wrong("execute_ipython_cell", "max_output_chars", code="1", max_output_chars=limit)
wrong("execute_ipython_cell", "include_images", code="1", include_images="yes")
wrong("install_package", "package_name")
wrong("install_package", "package_name", package_name=5)
prints("1", 1, timeout="50", max_output_chars="10")        # numbers as text, as models write them
prints("1", 1, timeout=59.9, unknown="ignored")
prints("1", 1, timeout=None, max_output_chars=None, include_images=None)    # null is left out
PY
}

@test "a batch is answered message by message in the revisions that had them, and refused in later ones" {
    drive <<'PY'
        for version in "2024-11-05", "2025-03-26":
            greet(version)
            send([
                {"jsonrpc": "2.0", "id": "a", "method": "ping"},
                {"jsonrpc": "2.0", "method": "notifications/initialized"},
                {"jsonrpc": "2.0", "id": "b", "method": "no/such"},
                5,
                {"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": {"name": "execute_ipython_cell", "arguments": {"code": "1 + 1"}}},
            ])
            equal(answer("a")["result"], {})
            equal(answer("b")["error"]["code"], -32601)
            equal(answer(None)["error"]["code"], -32600)
            equal(finish("c").text, "2")
            send("[]")
            equal(answer(None)["error"]["code"], -32600)
            send("[1,")
            equal(answer(None)["error"]["code"], -32700)
        greet("2025-06-18")
        send([{"jsonrpc": "2.0", "id": "d", "method": "ping"}])
        equal(answer(None)["error"]["code"], -32600)
        nothing_else()
PY
}

@test "a line of 64 MB is refused under its own id, costs no memory, and the session goes on" {
    talk <<'PY'
prints("1", 1)
before = server().peak
for id, line in (
    (64, b'{"jsonrpc":"2.0","id":64,"method":"tools/call","params":{"name":"execute_ipython_cell","arguments":{"code":"' + b"x" * (64 << 20) + b'"}}}'),
    ("last", b'{"jsonrpc":"2.0","method":"ping","params":{"a":"' + b"\\\\" * (32 << 20) + b'","b":{"id":3}},"id":"last"}'),
    (None, b"x" * (64 << 20)),
):
    matches(error(line, -32600, id)["message"], "2097152 bytes")
peak = server().peak
note(f"peak of the server: {before >> 20} MiB before, {peak >> 20} MiB after lines of 64 MB")
below(peak, 48 << 20)
prints("1", 1)
PY
}

@test "bombs of nesting and of values are refused, cost little, and the session goes on" {
    talk <<'PY'
prints("1", 1)
for bomb in (
    b"[" * 2_000_000,
    b'{"a":' * 400_000,
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":' + b"[" * 900_000 + b"]" * 900_000 + b"}}",
    b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[' + b"0," * 1_000_000 + b"0]}}",
):
    error(bomb, -32700)
peak = server().peak
note(f"peak of the server after the bombs: {peak >> 20} MiB")
below(peak, 256 << 20)
prints("1", 1)
PY
}

@test "calls that come at once run one after the other, in their order" {
    talk <<'PY'
prints("ran = []", "")
ids = [start_cell(f"ran.append({i}); ran[-3:]") for i in range(200)]
for i in reversed(range(200)):
    equal(finish(ids[i]).text, str(list(range(200))[max(0, i - 2):i + 1]))
# What needs no kernel does not wait for it.
id = start_cell("import time; time.sleep(1)")
equal(ask("ping")["result"], {})
equal(len(ask("tools/list")["result"]["tools"]), 4)
equal(finish(id).text, "")
PY
}

@test "a reset waits for its turn between cells" {
    talk <<'PY'
first = start_cell("import time; x = 1; time.sleep(0.5); x")
middle = start_tool("reset")
last = start_cell("x")
equal(finish(first).text, "1")
equal(finish(middle).error, False)
matches(finish(last).text, "NameError")
PY
}

@test "progress comes while the cell runs, under the token of the call" {
    talk <<'PY'
for number, token in enumerate(("token", 7, 0, "é")):
    id = start_cell(f"""
import os, time
for i in range(3): print(i, flush=True); time.sleep(0.3)
while not os.path.exists("/tmp/go{number}"): time.sleep(0.05)""", _meta={"progressToken": token})
    told = []
    while not told:
        told = notifications("notifications/progress")
    inside("touch", f"/tmp/go{number}")         # until now the cell has not ended
    equal(finish(id).text, "0\n1\n2")
    told += notifications("notifications/progress")
    equal({json.dumps(note["progressToken"]) for note in told}, {json.dumps(token)})
    equal("".join(note["message"] for note in told), "0\n1\n2\n")
    steps = [note["progress"] for note in told]
    equal(steps, sorted(set(steps)))
runs("print('no token, no progress')")
nothing_else()
PY
}

@test "a flood of output is not a flood of progress" {
    talk <<'PY'
id = start_cell("for i in range(200_000): print(i, 'x' * 50)", _meta={"progressToken": 1})
finish(id)
told = notifications("notifications/progress")
below(sum(len(note["message"]) for note in told), 1 << 20)
matches(told[-1]["message"], "more output follows")
below(len(told), 500)
PY
}

@test "the stateless era: discovery, lists and errors are as the revision has them" {
    drive <<'PY'
        found = ask_modern("server/discover")["result"]
        equal(found["supportedVersions"], ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])
        equal((found["resultType"], found["capabilities"]), ("complete", {
            "tools": {"listChanged": True}, "resources": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}))
        equal(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ipybox")
        listed = ask_modern("tools/list")["result"]
        equal((listed["resultType"], listed["cacheScope"]), ("complete", "private"))
        below(0, listed["ttlMs"])
        equal(type(listed["ttlMs"]), int)
        equal(len(listed["tools"]), 4)
        def refused(method, code, meta):
            error = ask(method, {"_meta": meta})["error"]
            equal(error["code"], code)
            return error
        version, capabilities = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
        data = refused("tools/list", -32022, {**ENVELOPE, version: "1900-01-01"})["data"]
        equal((data["requested"], data["supported"][0]), ("1900-01-01", "2026-07-28"))
        refused("tools/list", -32602, {version: "2026-07-28"})
        refused("tools/list", -32602, {**ENVELOPE, version: 5})
        refused("tools/list", -32602, {**ENVELOPE, capabilities: []})
        for removed in "initialize", "ping", "logging/setLevel", "no/such":
            refused(removed, -32601, ENVELOPE)
        equal(ask_modern("tools/call", name="no_such")["error"]["code"], -32602)
        equal(ask("tools/list")["error"]["code"], -32600)             # without _meta it is the other era, not begun
PY
}

@test "both eras may be mixed on one connection, and share the kernel" {
    drive <<'PY'
        def modern(code):
            return ask_modern("tools/call", name="execute_ipython_cell", arguments={"code": code})["result"]
        modern("x = 1")
        greet()
        prints("x += 1; x", 2)
        result = modern("x")
        equal((result["content"][0]["text"], result["resultType"]), ("2", "complete"))
        equal("resultType" in cell("x").result, False)
PY
}

@test "a subscription of the stateless era is acknowledged, stays silent, and does not keep the server" {
    drive -e IPYBOX_STOP_GRACE=3600 <<'PY'
        id = post("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": ENVELOPE}, id="L1")
        note = receive("the acknowledgement", lambda m: m.get("method") == "notifications/subscriptions/acknowledged")
        equal(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "L1")
        notify("notifications/cancelled", requestId="L1")
        post("subscriptions/listen", {"notifications": {}, "_meta": ENVELOPE}, id="L2")
        receive("the acknowledgement", lambda m: m.get("method") == "notifications/subscriptions/acknowledged")
        nothing_else()
        equal(end(), 0)
PY
}

@test "a call of the stateless era that is cancelled gets no answer" {
    drive <<'PY'
        def call(code, id):
            meta = {**ENVELOPE, "progressToken": id}
            post("tools/call", {"name": "execute_ipython_cell", "arguments": {"code": code}, "_meta": meta}, id=id)
        call("import time; x = 1", "a")
        answer("a")
        call("x = 2; print('begun', flush=True); time.sleep(1000)", "b")
        receive("its output", lambda m: m.get("method") == "notifications/progress")
        notify("notifications/cancelled", requestId="b")
        call("x", "c")
        equal(answer("c")["result"]["content"][0]["text"], "2")
        notifications("notifications/progress")
        nothing_else()
PY
}

@test "at the end of input what is open is answered before the server ends" {
    talk -e IPYBOX_STOP_GRACE=3600 <<'PY'
prints("import os, time", "")
ids = [start_cell("while not os.path.exists('/tmp/go'): time.sleep(0.02)\n0"), *(start_cell(str(i)) for i in range(1, 4))]
close()
inside("touch", "/tmp/go")
for i, id in enumerate(ids):
    equal(finish(id).text, str(i))
equal(ended(), 0)
PY
}

@test "a last line without its line break is a message too" {
    output=$(printf '{"jsonrpc":"2.0","id":1,"method":"ping"}' |
        limited docker run -i --rm --label "ipybox.test=$name" "$image" 2>/dev/null)
    assert_equal "$output" '{"jsonrpc":"2.0","id":1,"result":{}}'
}

@test "a client that ends in the middle of a call that never ends is not waited for beyond the grace" {
    talk -e IPYBOX_STOP_GRACE=1 <<'PY'
id = begin_cell(STUBBORN)
equal(end(), 0)
equal(finish(id).error, True)
PY
}

# unread COUNT - a client asks so often, and reads nothing until the server has stopped reading, too.
unread()
{
    COUNT=$1 talk <<'PY'
import threading
prints("1", 1)
box.reading.clear()
ask_for = int(os.environ["COUNT"])              # each answer has some 3 KB
def flood():
    for i in range(ask_for):
        box.client.stdin.write(b'{"jsonrpc":"2.0","id":"f%d","method":"tools/list"}\n' % i)
    box.client.stdin.flush()
writer = threading.Thread(target=flood)
writer.start()
last, stuck = -1, time.monotonic()
while time.monotonic() - stuck < 1.5:           # until nothing moves any more
    time.sleep(0.1)
    moved = inside("cat", f"/proc/{server().pid}/io", check=False) or server().peak
    if moved != last:
        last, stuck = moved, time.monotonic()
equal(writer.is_alive(), True)
peak = server().peak
note(f"peak of the server with a client that does not read: {peak >> 20} MiB")
if "PEAK" in os.environ: below(peak, int(os.environ["PEAK"]) << 20)
box.reading.set()
for i in range(ask_for):
    if len(answer(f"f{i}")["result"]["tools"]) != 4:
        fail(f"answer {i}")
writer.join()
prints("1", 1)
PY
}

@test "a client that does not read stops being read, and then gets every answer" {
    unread 13000
}

# bats test_tags=measure
@test "a client that does not read 130 MB costs the server no memory" {
    PEAK=24 unread 40000
}

@test "a client that goes away while a cell prints does not keep the container" {
    drive <<'PY'
        prints("import time", "")
        start_cell("while True: print('x' * 1000, flush=True); time.sleep(0.01)", _meta={"progressToken": 1})
        receive("progress", lambda m: m.get("method") == "notifications/progress")
        box.client.kill()
        box.client.wait()
        wait_for("the end of the container", lambda: box.name not in docker("ps", "--format", "{{.Names}}"))
        box.status = 0
PY
}

@test "when the reader of standard output is gone everything ends at once" {
    run_box -- bash -c '
        mkfifo /tmp/in
        sleep 1000 > /tmp/in & holder=$!
        printf "%s\n" "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}" "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}" > /tmp/in &
        ipybox < /tmp/in | head -c 1
        kill $holder'
    assert_equal "$output" "{"
    assert_equal "$status" 0
}
