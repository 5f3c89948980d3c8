# How an agent finds the tools of MCP servers, and calls them as it guesses.
load lib/helpers

tools=(-v "$here/tool_server.py:/tools/tool_server.py:ro")

@test "what was registered is answered with signatures, named to the client, and found by words" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        receive("the change", lambda m: m.get("method") == "notifications/tools/list_changed")
        listed = {t["name"]: t["description"] for t in ask("tools/list")["result"]["tools"]}
        matches(listed["register_mcp_server"], r"Registered now: demo \(13 tools\)\.$")
        prints("import mcptools; mcptools.search('echoes text', 1)", "demo.echo(text: str) -> str: Echo a text.")
        prints("mcptools.servers()", "demo: 13 tools, running")
        prints("'add' in dir(mcptools.demo), 'demo' in dir(mcptools)", "(True, True)")
        matches(runs("help(mcptools.demo)").text, r"add\(a: int, b: int = 1\) -> Result: Add\.")
        text = runs("help(mcptools.demo.add)").text
        matches(text, r"a: int")
        below(len(text), 1500)
        fails("mcptools.demo.addition", "no tool 'addition'")
        fails("mcptools.other", "no server 'other'. Registered: demo")
PY
}

@test "a tool is called as a model guesses it, and what is wrong says what is right" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        prints("from mcptools.demo import add, echo\nadd.run(a=2).total", 3)
        prints("add.run({'a': 2, 'b': 5}).total", 7)
        prints("add(a=2).total", 3)
        prints("(await add.arun(a=2)).total", 3)
        prints("add.run(add.Params(a=2)).total", 3)
        fails("add.run(x=2)", r"add takes no argument x\. Its arguments: \(a: int, b: int \| None = 1\)")
        fails("add.run(a='two')", r"add: a: Input should be a valid integer.*not 'two'\. Its arguments: ")
        fails("add.run(2)", "Params, a dict or keywords are needed, not int")
        fails("echo.run(text='half \\ud83d')", "half of a surrogate pair")
PY
}

@test "what is not given is not sent, nor is None where the schema has no null" {
    drive "${tools[@]}" <<'PY'
        registers("demo")
        matches(runs("from mcptools.demo import arguments\nprint(arguments.run())").text, r'"arguments":\{\}')
        prints("from mcptools.demo import add\nadd.run(a=2, b=None).total", 3)
PY
}

@test "servers start side by side, calls and imports wait for them, and a failed start has its last words" {
    workspace 1234:1234
    mkdir "$BATS_TEST_TMPDIR/settings"
    python3 - "$BATS_TEST_TMPDIR/settings/servers.json" <<'PY'
import json, sys
def server(*words): return {"command": "python3", "args": ["/tools/tool_server.py", *words]}
five = {f"s{n}": server("with-five") for n in range(5)}
json.dump({"mcpServers": five | {"slow": server("slow-start"), "broken": server("broken-start")}}, open(sys.argv[1], "w"))
PY
    drive "${tools[@]}" -v "$BATS_TEST_TMPDIR/settings:/settings:ro" -v "$workspace:/app/workspace" \
        -- --mcp-servers /settings/servers.json <<'PY'
        matches(greet()["result"]["instructions"], r"s0 \(.*slow \(starting\)")
        prints("from mcptools.s0 import echo; echo(text='up')", "'up'")
        prints("import mcptools; [getattr(mcptools, f's{n}').echo(text='x') for n in range(5)]", ["x"] * 5)
        fails("from mcptools.broken import echo", "ImportError: .*a library is missing")
        matches(runs("mcptools.servers()").text, r"(?s)broken: failed: .*a library is missing.*s0: 13 tools, running.*slow: starting")
        listed = {t["name"]: t["description"] for t in ask("tools/list")["result"]["tools"]}
        matches(listed["register_mcp_server"], r"s0 \(13 tools\), .*slow \(starting\), broken \(failed\)\.$")
        prints("import threading; threading.Timer(0.2, lambda: open('go', 'w').close()).start(); mcptools.slow.echo(text='late')", "'late'")
PY
}

# Real programs, which have nothing in these caches and may not fetch it: that they say so shows that they were told.
@test "settings of uv and npm in the container's environment reach what fetches a server" {
    drive -e UV_OFFLINE=1 -e UV_CACHE_DIR=/cache/uv -e npm_config_offline=true -e npm_config_cache=/cache/npm \
        --tmpfs /cache:exec,mode=1777 -- --connect-timeout 50 <<'PY'
        def refused(**params):
            answer = tool("register_mcp_server", server_name="absent", server_params=params)
            equal(answer.error, True)
            return answer.text
        matches(refused(command="uvx", args=["mcp-server-time==2026.10.19"]), "(?i)network (access )?.*disabled")
        matches(refused(command="npx", args=["-y", "@modelcontextprotocol/server-memory@2026.8.31"]), "only-if-cached")
        matches(inside("sh", "-c", "ls /cache/uv /cache/npm"), "_logs[\\s\\S]*CACHEDIR.TAG")
PY
}

@test "with --search-tool an agent finds tools without running code" {
    drive "${tools[@]}" -- --search-tool <<'PY'
        greet()
        equal("search_tools" in [t["name"] for t in ask("tools/list")["result"]["tools"]], True)
        registers("demo")
        equal(tool("search_tools", query="echo a text").text.splitlines()[0], "demo.echo(text: str) -> str: Echo a text.")
        matches(tool("search_tools", query="demo.add").text, r'(?s)^demo\.add\(.*arguments: \{.*"a".*\nresult: \{.*"total"')
        equal(tool("search_tools", query="kubernetes").text, "No registered tool has one of these words.")
PY
}
