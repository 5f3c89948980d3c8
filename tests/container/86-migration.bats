# What the Python ipybox took, and this one takes as well.
load lib/helpers

tools=(-v "$here/tool_server.py:/tools/tool_server.py:ro" -v "$here/http_tool_server.py:/tools/http_tool_server.py:ro")

@test "--sandbox-config without its file: the default sandbox and a warning, and no cell makes the file for the next start" {
    drive -- --sandbox --sandbox-config sandbox-config.json <<'PY'
        prints("import os; os.getcwd()", "'/app/workspace'")
        prints("open('x', 'w').write('abc')", 3)
        fails("open(os.path.expanduser('~/y'), 'w')", "Operation not permitted")
        fails("open('sandbox-config.json', 'w')", "Operation not permitted")
        fails("os.rename('x', 'sandbox-config.json')", "Operation not permitted")
        wait_for_log("WARNING sandbox: --sandbox-config: there is no sandbox-config.json; the default sandbox is used")
PY
}

@test "--sandbox-config without --sandbox is ignored, and said so" {
    drive -- --sandbox-config sandbox-config.json <<'PY'
        prints("open('/home/ipybox/y', 'w').write('abc')", 3)
        wait_for_log("WARNING sandbox: --sandbox-config is ignored without --sandbox")
PY
}

@test "a redirect of a remote server is followed within its origin, with method, body and headers; no other is" {
    drive "${tools[@]}" <<'PY'
        runs("""
            import socket, subprocess, time
            server = subprocess.Popen(["python3", "/tools/http_tool_server.py", "8765"])
            while socket.socket().connect_ex(("127.0.0.1", 8765)): time.sleep(0.05)""")
        for name in "mcp", "moved":
            url = {"url": f"http://127.0.0.1:8765/{name}", "type": "streamable_http"}
            equal(registers(name, headers={"Authorization": "Bearer hush"}, **url), ["echo"])
            prints(f"from mcptools.{name} import echo; print(echo.run(echo.Params(text='a')))",
                   "a POST /mcp/ Bearer hush")
        answer = tool("register_mcp_server", server_name="older", server_params={"url": "http://127.0.0.1:8765/mcp/", "type": "sse"})
        matches(answer.text, r'status 405 \(.*\); it may speak the newer transport: "type": "streamable_http"')
        for name, why in ("away", "a redirect to http://localhost:1, which is another origin"), ("loop", "more than 5 redirects"):
            answer = tool("register_mcp_server", server_name=name,
                          server_params={"url": f"http://127.0.0.1:8765/{name}", "type": "streamable_http"})
            equal(answer.error, True)
            matches(answer.text, why)
            equal("hush" in answer.text, False)
PY
}

@test "a server's name has the letters that it has, and none differs from another in case alone" {
    drive "${tools[@]}" <<'PY'
        equal(registers("GitHub")[0], "echo")
        prints("from mcptools.GitHub import echo; print(echo.run(echo.Params(text='a')))", "a")
        answer = tool("register_mcp_server", server_name="github", server_params={"command": "python3", "args": ["/tools/tool_server.py"]})
        matches(answer.text, "github differs only in case from the registered GitHub")
        matches(tool("register_mcp_server", server_name="None", server_params={"command": "x"}).text, "keyword")
PY
}

@test "run() of a tool without an output schema says that it gives a str" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        prints("""
            from mcptools.demo import add, echo
            print(*(tool.run.__annotations__['return'].__name__ for tool in (echo, add)))
            print(isinstance(echo.run(echo.Params(text='a')), str))""", "str Result\nTrue")
PY
}

@test "a --workspace below the mount that is not there is made, as the mount's owner" {
    workspace 1234:5678
    drive -v "$workspace:/app/workspace" -- --workspace /app/workspace/sub/dir <<'PY'
        prints("import os; os.getuid(), os.getcwd()", "(1234, '/app/workspace/sub/dir')")
PY
    assert_equal "$(stat -c '%u:%g' "$workspace/sub" "$workspace/sub/dir" | sort -u)" 1234:5678
}
