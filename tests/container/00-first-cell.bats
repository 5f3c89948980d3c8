# The short way through everything. If one of these fails, look here first.
load lib/helpers

@test "the handshake answers each version with itself, and others with the newest of its era" {
    drive <<'PY'
        for version in "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25":
            result = greet(version)["result"]
            equal(result["protocolVersion"], version)
            equal(result["serverInfo"]["name"], "ipybox")
            equal(result["capabilities"], {"tools": {"listChanged": True}, "resources": {}})
        for version in "1999-01-01", "2026-07-28", "":
            equal(greet(version)["result"]["protocolVersion"], "2025-11-25")
PY
}

@test "a client of the handshake era executes cells that share their state" {
    drive <<'PY'
        greet()
        prints("print('hello'); x = 41", "hello")
        prints("x + 1", 42)
        prints("x += 1", "")
        prints("print(x, end='')", 42)
PY
}

@test "a client of the stateless era executes cells without a handshake" {
    drive <<'PY'
        def cell(code):
            return ask_modern("tools/call", name="execute_ipython_cell", arguments={"code": code})["result"]
        versions = ask_modern("server/discover")["result"]["supportedVersions"]
        equal(versions[0], "2026-07-28")
        cell("x = 41")
        result = cell("x + 1")
        equal(result["content"], [{"type": "text", "text": "42"}])
        equal((result["isError"], result["resultType"]), (False, "complete"))
PY
}

@test "the tools have the names, arguments and defaults that clients know" {
    drive <<'PY'
        greet()
        tools = {tool["name"]: tool for tool in ask("tools/list")["result"]["tools"]}
        equal(list(tools), ["execute_ipython_cell", "install_package", "register_mcp_server", "reset"])
        def arguments(name):
            schema = tools[name]["inputSchema"]
            equal(schema["type"], "object")
            required = schema.get("required", [])
            return {
                name: (of["type"], "required" if name in required else of["default"])
                for name, of in schema["properties"].items()
            }
        equal(arguments("execute_ipython_cell"), {
            "code": ("string", "required"),
            "timeout": ("number", 120),
            "max_output_chars": ("integer", 5000),
            "include_images": ("boolean", False),
        })
        equal(arguments("install_package"), {"package_name": ("string", "required")})
        equal(arguments("reset"), {})
        for tool in tools.values():
            matches(tool["description"], r"\w")
PY
}

@test "reset takes the variables away, leaves the files, and says so" {
    drive <<'PY'
        prints("x = 1; open('kept', 'w').write('as it was')", 9)
        result = tool("reset")
        equal(result.error, False)
        matches(result.text, "^The kernel is new")
        answer = fails("x", "NameError: name 'x' is not defined")
        equal(answer.rest, "")
        prints("open('kept').read()", "'as it was'")
PY
}

@test "the end of standard input ends the server with status 0, at once" {
    drive -e IPYBOX_STOP_GRACE=3600 <<'PY'
        prints("1", 1)
        equal(end(), 0)
PY
}

@test "a client that says nothing is told in the log how to start the container" {
    run_box -i < /dev/null
    assert_equal "$status" 0
    assert_equal "$output" ""
    assert_match "$errors" 'docker run -i'
}

@test "nothing but MCP comes out of standard output, whatever a cell does" {
    drive --  --log-level DEBUG <<'PY'
        prints(r"""
            import ctypes, os, subprocess, sys
            print("print")
            os.write(1, b"write\n")
            subprocess.run(["echo", "child"])
            os.system("echo system")
            libc = ctypes.CDLL(None)
            libc.puts(b"puts")
            sys.__stdout__.write("original\n")
            sys.__stdout__.flush()
        """, "print\nwrite\nchild\nsystem\nputs\noriginal")
        fails("1 / 0", "ZeroDivisionError")
        fails("import os; os.write(1, b'last'); os._exit(1)", "KernelDied")
        prints("1", 1)
PY
}

@test "initialize is answered before the kernel has started" {
    echo "import os, time; exec('while not os.path.exists(\"/tmp/go\"): time.sleep(0.02)')" > "$BATS_TEST_TMPDIR/hold.pth"
    chmod 0644 "$BATS_TEST_TMPDIR/hold.pth"
    drive -v "$BATS_TEST_TMPDIR/hold.pth:/home/ipybox/.local/lib/python3.13/site-packages/hold.pth:ro" <<'PY'
        greet()
        id = start_cell("print('it runs')")
        nothing_else()                          # is answered, but the cell is not: no kernel starts before it may
        inside("touch", "/tmp/go")
        equal(finish(id).text, "it runs")
PY
}

# bats test_tags=measure
@test "initialize is answered long before the kernel has started" {
    run_box -- python3 -c '
import json, subprocess, time
def ask(server, number, method, params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    assert json.loads(server.stdout.readline())["result"]
    return time.perf_counter()
hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
shares = []
for _ in range(5):
    start = time.perf_counter()
    server = subprocess.Popen("ipybox", stdin=-1, stdout=-1, stderr=-3)
    greeted = ask(server, 1, "initialize", hello)
    ran = ask(server, 2, "tools/call", {"name": "execute_ipython_cell", "arguments": {"code": "1"}})
    shares.append((greeted - start) / (ran - start))
    server.stdin.close()
    server.wait()
print(round(min(shares) * 100))
'
    assert_equal "$status" 0
    note "initialize: $output % of the time to the first cell (best of 5)"
    assert_at_most "$output" 25 "% of the time to the first cell"
}
