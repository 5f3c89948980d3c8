# Tools of MCP servers, called by code: registration, the generated package, calls, failures, secrets.
load lib/helpers

tools=(-v "$here/tool_server.py:/tools/tool_server.py:ro")

@test "a registered server's tools are imported and called" {
    drive "${tools[@]}" <<'PY'
        equal(registers("demo"), ["echo", "add", "fail", "image", "nothing", "wait", "die", "pid", "environment",
                                  "arguments", "ask", "steps", "odd_name__v2_"])
        prints("from mcptools.demo import echo; print(echo.run(echo.Params(text='hé')))", "hé")
        prints("from mcptools.demo import add; add.run(add.Params(a=2)).total", 3)
        prints("from mcptools.demo import odd_name__v2_ as odd; print(odd.run(odd.Params(text='x')))", "x")
        prints("await echo.arun(echo.Params(text='later'))", "'later'")
        prints("from mcptools.demo import nothing; print(nothing.run(nothing.Params()))", None)
PY
}

@test "code that was imported before goes on after a reset, and the servers are started again" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        first = runs("from mcptools.demo import pid; print(pid.run(pid.Params()))").text
        tool("reset")
        wait_for("the server's end", lambda: int(first) not in [p.pid for p in box.processes()])
        second = runs("from mcptools.demo import pid; print(pid.run(pid.Params()))").text
        equal(first == second, False)
        wait_for("their reaping", lambda: not box.zombies())
PY
}

@test "pictures that a tool gives reach the code as objects" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        prints("""
            from mcptools.demo import image
            block = image.run(image.Params()).content[0]
            print(type(block).__name__, block.mime_type, block.data[:4])""", "ImageContent image/png b'\\x89PNG'")
        matches(runs("block").text, r"images|png")
PY
}

@test "what a tool says when it fails is the exception's text" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        fails("from mcptools.demo import fail; fail.run(fail.Params(text='no such file'))",
              "ToolRunnerError: no such file")
        runs("""
            from ipybox_tools import ToolRunnerError
            from mcpygen.tool_exec.client import ToolRunnerError as Old
            from ipybox.tool_exec.client import ToolRunnerError as Older
            assert ToolRunnerError is Old is Older""")
        fails("fail.run(fail.Params(text=1))", "ValidationError")
PY
}

@test "a server that dies in a call: its last words are told, and the next call starts it again" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        fails("from mcptools.demo import die; die.run(die.Params())", "ToolRunnerError: .*(status 3|out of order)")
        prints("from mcptools.demo import echo; print(echo.run(echo.Params(text='again')))", "again")
        box.wait_for_log("out of order")
PY
}

@test "a server that cannot start: the error names the reason" {
    drive "${tools[@]}" <<'PY'
        answer = tool("register_mcp_server", server_name="bad",
                      server_params={"command": "python3", "args": ["/tools/tool_server.py", "broken-start"]})
        equal(answer.error, True)
        matches(answer.text, "a library is missing")
        answer = tool("register_mcp_server", server_name="bad", server_params={"command": "no-such-program"})
        equal(answer.error, True)
        matches(answer.text, "no-such-program")
        answer = tool("register_mcp_server", server_name="Not a name", server_params={"command": "x"})
        equal(answer.error, True)
        answer = tool("register_mcp_server", server_name="bad", server_params={"cmd": "x"})
        matches(answer.text, "command")
PY
}

@test "calls run side by side, from threads and from tasks" {
    drive "${tools[@]}" <<'PY'
        # No call of its server ends before ten have begun.
        server = ("import sys, threading; sys.path.insert(0, '/tools'); import tool_server as t\n"
                  "ten = threading.Barrier(10)\n"
                  "t.CALLS['wait'] = lambda arguments: t.text(str(ten.wait()))\n"
                  "t.main(sys.argv)")
        registers("demo", command="python3", args=["-c", server])
        runs("""
            import asyncio
            from concurrent.futures import ThreadPoolExecutor
            from mcptools.demo import wait""")
        ten = " ".join(str(i) for i in range(10))
        prints("with ThreadPoolExecutor(10) as pool: places = list(pool.map(lambda _: wait.run(wait.Params()), range(10)))\n"
               "print(*sorted(places))", ten)
        prints("print(*sorted(await asyncio.gather(*(wait.arun(wait.Params()) for _ in range(10)))))", ten)
PY
}

@test "numbers reach the server as the code wrote them" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        prints("""
            from ipybox_tools import ToolRunner
            text = ToolRunner('demo').run_sync('arguments', {'big': 12345678901234567890123, 'whole': 1.0})
            print('12345678901234567890123' in text, '1.0' in text)""", "True True")
PY
}

@test "an interrupted call is given up, and the kernel keeps its state" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        runs("x = 7; from mcptools.demo import wait, echo")
        fails("wait.run(wait.Params(seconds=600))", "TimeoutError", timeout=1)
        prints("print(x, echo.run(echo.Params(text='on')))", "7 on")
PY
}

@test "\${VAR} is replaced from the environment and .env, and the value is nowhere else" {
    workspace 1234:1234
    printf 'FROM_FILE=ham-secret-2\n' > "$workspace/.env"
    drive "${tools[@]}" -e FROM_ENV=spam-secret-1 -e IPYBOX_TOKEN=own-secret -v "$workspace:/app/workspace" <<'PY'
        registers("demo", command="python3", args=["/tools/tool_server.py"],
                  env={"ONE": "${FROM_ENV}", "TWO": "x${FROM_FILE}y", "THREE": "plain"})
        prints("from mcptools.demo import environment as e; print(*[e.run(e.Params(text=n)) for n in "
               "('ONE', 'TWO', 'THREE', 'FROM_ENV')])", "spam-secret-1 xham-secret-2y plain unset")
        equal(inside("grep", "-rl", "spam-secret", "/app/workspace/mcptools", check=False), "")
        prints("import os; print('spam' in str(os.environ))", "False")
        equal("spam-secret" in box.log(), False)
        answer = tool("register_mcp_server", server_name="demo2", server_params={"command": "x${MISSING_ONE}"})
        equal(answer.error, True)
        matches(answer.text, "MISSING_ONE")
        # Its own tokens the server gives to nobody.
        answer = tool("register_mcp_server", server_name="demo2", server_params={"command": "${IPYBOX_TOKEN}"})
        equal((answer.error, "IPYBOX_TOKEN" in answer.text, "own-secret" in answer.text), (True, True, False))
PY
}

@test "a server that ignores the end of its input is ended with the container, and no process stays" {
    drive "${tools[@]}" <<'PY'
        registers("demo", "silent")
        prints("from mcptools.demo import echo; print(echo.run(echo.Params(text='x')))", "x")
PY
}

@test "one slow server keeps nobody waiting" {
    drive "${tools[@]}" <<'PY'
        registers("quick")
        slow = start_tool("register_mcp_server", server_name="slow",
                          server_params={"command": "python3", "args": ["/tools/tool_server.py", "slow-start"]})
        prints("from mcptools.quick import echo; print(echo.run(echo.Params(text='first')))", "first")
        equal([m for m in box.messages if m.get("id") == slow], [])
        runs("open('go', 'w').close()")
        equal(finish(slow).error, False)
PY
}

@test "servers of --mcp-servers are there from the start" {
    workspace 1234:1234
    mkdir "$BATS_TEST_TMPDIR/settings"
    cat > "$BATS_TEST_TMPDIR/settings/servers.json" <<'JSON'
{"mcpServers": {"demo": {"command": "python3", "args": ["/tools/tool_server.py"]},
                "broken": {"command": "python3", "args": ["/tools/tool_server.py", "broken-start"]}}}
JSON
    drive "${tools[@]}" -v "$BATS_TEST_TMPDIR/settings:/settings:ro" -v "$workspace:/app/workspace" \
        -- --mcp-servers /settings/servers.json <<'PY'
        wait_for_log("mcptools.demo: 13 tools")
        wait_for_log("broken of --mcp-servers: .*a library is missing")
        prints("from mcptools.demo import echo; print(echo.run(echo.Params(text='there')))", "there")
PY
    printf '{"mcpServers": {"Bad Name": {}}}' > "$BATS_TEST_TMPDIR/settings/servers.json"
    run_box -v "$BATS_TEST_TMPDIR/settings:/settings:ro" -- --mcp-servers /settings/servers.json </dev/null
    assert_equal "$status" 2
    assert_match "$errors" "servers.json: Bad Name"
}

@test "a package without a registration says what is missing" {
    workspace 1234:1234
    drive "${tools[@]}" -v "$workspace:/app/workspace" <<'PY'
        registers("demo")
PY
    rm -r "$workspace/.ipybox/registrations"
    drive -v "$workspace:/app/workspace" <<'PY'
        fails("from mcptools.demo import echo; echo.run(echo.Params(text='x'))", "demo is not registered: register")
PY
}

@test "registering again writes what has changed, and users' files and what they added to modules stay" {
    workspace 1234:1234
    drive "${tools[@]}" -v "$workspace:/app/workspace" <<'PY'
        registers("demo")
        runs("""
            open('mcptools/demo/own.py', 'w').write('x = 1')
            open('mcptools/demo/echo.py', 'a').write('def run_parsed(params: Params) -> list[str]: return [run(params)]')""")
        look = ["find", "/app/workspace/mcptools", "-name", "*.py", "-printf", "%p %i %T@ %s,"]
        before = inside(*look)
        registers("demo")
        equal(inside(*look), before)
        equal("The package" in box.launch, False)
        registers("demo", "changed")
        matches(box.launch, "The package demo: rewritten: echo, __init__; what users added is kept in: echo")
        prints("from mcptools.demo import echo; echo.run_parsed(echo.Params(text='a'))", "['a']")
        prints("from mcptools.demo import own; own.x", 1)
        matches(inside("cat", "/app/workspace/mcptools/demo/echo.py"), "keep a copy")
        equal(set(inside("ls", "/app/workspace/mcptools").split()) - {"__pycache__"}, {"__init__.py", "demo"})
        equal(inside("stat", "-c", "%u", "/app/workspace/mcptools/demo/echo.py").strip(), "1234")
PY
}

@test "ipybox apigen writes a package, from a server or from a file" {
    workspace 1234:1234
    box run --rm "${tools[@]}" -v "$workspace:/app/workspace" "$image" apigen --server-name demo \
        --server-params '{"command": "python3", "args": ["/tools/tool_server.py"]}'
    assert_equal "$status" 0
    assert_match "$output" "^echo"
    printf '{"tools": [{"name": "Say", "inputSchema": {"type": "object"}}]}' | as_root tee "$workspace/tools.json" >/dev/null
    box run --rm -v "$workspace:/app/workspace" "$image" apigen --server-name other --tools tools.json
    assert_equal "$output" say
    assert_equal "$(stat -c %u:%g "$workspace"/mcptools/{demo/echo.py,other/say.py} | sort -u)" 1234:1234
    box run --rm -v "$workspace:/app/workspace" "$image" apigen --server-name other
    assert_equal "$status" 2
    assert_match "$errors" "--server-params or --tools"
}

@test "a human is asked by the MCP client before a tool is called" {
    drive "${tools[@]}" -- --approve-tool-calls <<'PY'
        greet(elicitation={})
        registers("demo")
        runs("from mcptools.demo import echo")
        call = start_cell("print(echo.run(echo.Params(text='please')))", timeout=4)
        request = asked("elicitation/create")
        for part in ("demo", "echo", "please", "tool_server.py"):
            matches(request["params"]["message"], part)
        time.sleep(5)  # a human who thinks takes nothing from the cell's time
        name, field = next(iter(request["params"]["requestedSchema"]["properties"].items()))
        choices = field.get("enum") or [c["const"] for c in field["oneOf"]]
        reply(request, {"action": "accept", "content": {name: choices[0]}})
        equal(finish(call).text, "please")
        call = start_cell("echo.run(echo.Params(text='no'))")
        reply(asked("elicitation/create"), {"action": "decline"})
        matches(finish(call).text, "ApprovalRejectedError: Approval request for demo.echo rejected")
PY
}

@test "nobody can be asked: the call is not made" {
    drive "${tools[@]}" -- --approve-tool-calls <<'PY'
        registers("demo")
        fails("from mcptools.demo import echo; echo.run(echo.Params(text='x'))",
              "ToolRunnerError: Approval request for demo.echo failed: Approval channel not connected")
PY
}

@test "no answer in time: the call is not made" {
    drive "${tools[@]}" -- --approve-tool-calls --approval-timeout 1 <<'PY'
        greet(elicitation={})
        registers("demo")
        fails("from mcptools.demo import echo; echo.run(echo.Params(text='x'))",
              "ApprovalTimeoutError: Approval request for demo.echo expired")
PY
}

@test "in the stateless era the call ends with the question, and its retry goes on" {
    drive "${tools[@]}" -- --approve-tool-calls <<'PY'
        meta = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
        params = {"command": "python3", "args": ["/tools/tool_server.py"]}
        ask_modern("tools/call", name="register_mcp_server",
                   arguments={"server_name": "demo", "server_params": params})
        code = "from mcptools.demo import echo\nprint('before')\nprint(echo.run(echo.Params(text='hi')))"
        call = {"name": "execute_ipython_cell", "arguments": {"code": code}}
        first = ask_modern("tools/call", **call, _meta=meta)["result"]
        equal(first["resultType"], "input_required")
        key, question = next(iter(first["inputRequests"].items()))
        matches(question["params"]["message"], "demo.*echo")
        name, field = next(iter(question["params"]["requestedSchema"]["properties"].items()))
        choices = field.get("enum") or [c["const"] for c in field["oneOf"]]
        answers = {key: {"action": "accept", "content": {name: choices[0]}}}
        forged = ask_modern("tools/call", **call, inputResponses=answers, requestState="v1.forged", _meta=meta)
        equal(forged["error"]["code"], -32602)
        other = {"name": "execute_ipython_cell", "arguments": {"code": "print('other')"}}
        moved = ask_modern("tools/call", **other, inputResponses=answers, requestState=first["requestState"], _meta=meta)
        equal(moved["error"]["code"], -32602)
        last = ask_modern("tools/call", **call, inputResponses=answers, requestState=first["requestState"], _meta=meta)
        equal(last["result"]["content"][0]["text"], "before\nhi")
        again = ask_modern("tools/call", **call, inputResponses=answers, requestState=first["requestState"], _meta=meta)
        equal(again["error"]["code"], -32602)
PY
}

@test "a server's own question is passed on to the client, and declined where there is none" {
    drive "${tools[@]}" <<'PY'
        greet(elicitation={})
        registers("demo")
        call = start_cell("from mcptools.demo import ask; print(ask.run(ask.Params()))")
        request = asked("elicitation/create")
        matches(request["params"]["message"], "Who are you")
        reply(request, {"action": "accept", "content": {"name": "Ada"}})
        matches(finish(call).text, '"Ada"')
PY
    drive "${tools[@]}" <<'PY'
        registers("demo")
        matches(cell("from mcptools.demo import ask; print(ask.run(ask.Params()))").text, "decline|not found|None|null")
PY
}

@test "a policy allows, asks and denies by server and tool, and a changed tool is asked again" {
    mkdir "$BATS_TEST_TMPDIR/settings"
    cat > "$BATS_TEST_TMPDIR/settings/policy.json" <<'JSON'
{"default": "ask", "rules": [
    {"server": "demo", "tool": "echo", "action": "allow", "pin": true},
    {"server": "demo", "tool": "p*", "action": "allow", "max_calls": 2},
    {"server": "*", "tool": "die", "action": "deny"}]}
JSON
    drive "${tools[@]}" -v "$BATS_TEST_TMPDIR/settings:/settings:ro" -- --tool-policy /settings/policy.json <<'PY'
        registers("demo")
        runs("from mcptools.demo import echo, pid, die, add")
        prints("print(echo.run(echo.Params(text='x')))", "x")
        runs("pid.run(pid.Params()), pid.run(pid.Params())")
        fails("pid.run(pid.Params())", "ApprovalRejectedError")
        fails("die.run(die.Params())", "ApprovalRejectedError: Approval request for demo.die rejected")
        fails("add.run(add.Params(a=1))", "Approval channel not connected")
        registers("demo", "changed")
        fails("echo.run(echo.Params(text='x'))", "Approval channel not connected")
PY
    printf '{"rules": [{"tool": "x", "action": "maybe"}]}' > "$BATS_TEST_TMPDIR/settings/policy.json"
    run_box -v "$BATS_TEST_TMPDIR/settings:/settings:ro" -- --tool-policy /settings/policy.json </dev/null
    assert_equal "$status" 2
    assert_match "$errors" "policy.json.*action"
}

@test "a container without input serves the tool server too, when applications have a token for it" {
    start_box -p 127.0.0.1::8900 -e IPYBOX_TOOL_SERVER_TOKEN=let-me-in -- --tool-server-host 0.0.0.0 --tool-server-port 8900
    box port "$id" 8900
    local url=http://$output
    answers() { [ "$(curl -s -o /dev/null -w '%{http_code}' -X PUT -H "Authorization: Bearer $1" "$url/reset")" = "$2" ]; }
    wait_for answers let-me-in 200
    answers wrong 401
    stop_box
    end_box
    assert_equal "$status" 0
    run_box -- server --tool-server-port 8900
    assert_equal "$status" 0
    assert_match "$errors" "nothing to serve"
}
