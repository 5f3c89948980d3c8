# What cells plant for MCP servers, which run outside of the walls: none of it runs with a secret. Real servers, by uvx,
# npx and install_package. IPYBOX_CA: a CA bundle that this needs here, as for the build.
load ../lib/helpers

# attacked [OPTION]... <<'PY' - as drive, with a workspace that cells have filled with traps. Each trap that runs leaves
# what it finds in its environment in /app/workspace/stolen.
attacked()
{
    local ca=()
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro" -e IPYBOX_CA=/ca.pem); fi
    workspace 1234:1234
    {
        cat <<'PY'
plant = r'''
import os, site, stat, subprocess, sys
shell = "#!/bin/sh\n(echo " + "{0}; env) >> /app/workspace/stolen\n"
python = "import os; open('/app/workspace/stolen', 'a').write('{0} ' + repr(dict(os.environ)) + chr(10))\n"
def put(path, text):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w") as f: f.write(text)
    os.chmod(path, 0o755)
base, user = site.getuserbase(), site.getusersitepackages()
for name in "uvx", "uv", "npx", "node", "python3", "git", "sh", "mcp-server-time":
    put(f"{base}/bin/{name}", shell.format("user-bin-" + name))
    put(f"node_modules/.bin/{name}", shell.format("node-bin-" + name))
    put(name, shell.format("cwd-" + name))
for name in "sitecustomize", "usercustomize", "mcp_server_time", "mcp", "pip":
    put(f"{user}/{name}.py", python.format("user-site-" + name))
    put(f"{name}.py", python.format("cwd-" + name))
put(f"{user}/trap.pth", python.format("pth").replace(chr(10), "; pass" + chr(10)))
put("node_modules/.bin/mcp-server-filesystem", shell.format("node-bin-server"))
put("package.json", '{"name": "x", "version": "1.0.0", "bin": {"mcp-server-filesystem": "./sh"}}')
put(".npmrc", "script-shell=/app/workspace/sh\nnode-options=--require /app/workspace/t.js\n")
put("t.js", "require('fs').appendFileSync('/app/workspace/stolen', 'npmrc ' + JSON.stringify(process.env))")
put("uv.toml", 'index-url = "http://127.0.0.1:9/nowhere"\n')
put("pyproject.toml", '[tool.uv]\nindex-url = "http://127.0.0.1:9/nowhere"\n')
put(".python-version", "/app/workspace/python3\n")
put(".venv/bin/python3", shell.format("venv"))
for path in "/var/lib/ipybox/servers/x", "/var/lib/ipybox/x", "/var/lib/ipybox/servers/clock.secret/home/.npmrc":
    try: put(path, "")
    except OSError: continue
    sys.stdout.write(path + " could be written\n")
'''
def planted():
    equal(runs(plant).text, "")
def stolen():
    return inside("sh", "-c", "cat /app/workspace/stolen 2>/dev/null || true")
def nothing_stolen():
    if "s3cr3t" in stolen(): fail(stolen()[:3000])
def register(name, **params):
    return tool("register_mcp_server", server_name=name, server_params=params)
def registered(name, **params):
    answer = register(name, **params)
    if answer.error: fail(answer.text)
    return answer.texts[-1]
def install(package):
    answer = tool("install_package", package_name=package)
    if answer.error: fail(answer.text)
SECRET = {"SECRET": "${S}"}
TIME = "mcp-server-time==2026.10.19"
NOW = "print(get_current_time.run(get_current_time.Params(timezone='UTC')))"
def tells_time(name):
    matches(runs(f"from mcptools.{name} import get_current_time\n" + NOW).text, "timezone")
PY
        cat
    } > "$BATS_TEST_TMPDIR/script"
    drive "${ca[@]}" -e S=s3cr3t-value -v "$workspace:/app/workspace" "$@" < "$BATS_TEST_TMPDIR/script"
}

# What all modes have in common, with a place for servers.
with_a_place()
{
    attacked "$@" -- --connect-timeout 150 <<'PY'
install(TIME)
planted()
# A package of install_package: the server has a copy of its own.
note = registered("clock", command="python3", args=["-m", "mcp_server_time"], env=SECRET)
matches(note, r"runs /usr/bin/python3 in /var/lib/ipybox/servers/clock.secret. It holds a secret \(\"env\"\)")
tells_time("clock")
note = registered("clock2", command="mcp-server-time", env=SECRET, cwd="/app/workspace")
matches(note, r"runs /var/lib/ipybox/servers/clock2.secret/home/.local/bin/mcp-server-time in /app/workspace")
tells_time("clock2")
# uvx and npx, also where everything is planted.
matches(registered("clock3", command="uvx", args=[TIME], env=SECRET, cwd="/app/workspace"), "runs /usr/local/bin/uvx")
tells_time("clock3")
note = registered("files", command="npx", env=SECRET, cwd="/app/workspace",
                  args=["-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "."])
matches(note, "runs /usr/local/bin/npx in /app/workspace")
matches(runs("from mcptools.files import list_directory as d; print(d.run(d.Params(path='.')))").text, "package.json")
nothing_stolen()
# What lies where cells write is refused, with what to do.
for params in ({"command": "./sh", "cwd": "/app/workspace"}, {"command": "python3", "args": ["/app/workspace/pip.py"]},
               {"command": "uvx", "args": ["--from", "/app/workspace", "x"]}):
    answer = register("bad", **params, env=SECRET)
    equal(answer.error, True)
    matches(answer.text, "code in cells can write .*app/workspace.*holds a secret.*mounted read-only")
# Without a secret the packages of cells may be used, and the answer says so.
matches(registered("open", command="uvx", args=[TIME]), "runs /usr/local/bin/uvx in /app/workspace. It holds no secret")
equal("s3cr3t" in box.log(), False)
PY
}

# bats test_tags=all
@test "root: servers with a secret run nothing that a cell has planted" {
    with_a_place
}

# bats test_tags=all
@test "a user: servers with a secret run nothing that a cell has planted" {
    with_a_place --user 1234:1234
}

# bats test_tags=all
@test "a user without rights: servers with a secret run nothing that a cell has planted" {
    with_a_place --user 1234:1234 --read-only --tmpfs /tmp --tmpfs /var/lib/ipybox:exec,mode=1777 --cap-drop ALL \
        --security-opt no-new-privileges
}

# bats test_tags=all
@test "without a place a server with a secret uses no package of cells, and one without does" {
    attacked --user 1234:1234 --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges <<'PY'
install(TIME)
answer = register("clock", command="python3", args=["-m", "mcp_server_time"], env=SECRET)
equal(answer.error, True)
matches(answer.text, "holds a secret.*mount a volume at /var/lib/ipybox")
matches(registered("open", command="python3", args=["-m", "mcp_server_time"]), "It holds no secret")
tells_time("open")
planted()
nothing_stolen()
PY
}

# bats test_tags=all
@test "git runs nothing of .git/config, and with a secret only repositories of the server's own" {
    attacked -- --connect-timeout 150 <<'PY'
runs(r'''
import os, subprocess
def git(*words): subprocess.run(["git", *words], check=True, capture_output=True)
git("init", "-q", "."); git("config", "user.email", "a@b"); git("config", "user.name", "x")
open("a", "w").write("a"); git("add", "a"); git("commit", "-qm", "a")
open("trap", "w").write("#!/bin/sh\necho ran >> /app/workspace/ran\n"); os.chmod("trap", 0o755)
for key in "core.fsmonitor", "core.sshCommand", "core.pager", "core.editor":
    git("config", key, "/app/workspace/trap")
os.makedirs(".git/hooks", exist_ok=True)
for hook in "post-checkout", "post-index-change":
    os.symlink("/app/workspace/trap", ".git/hooks/" + hook)
''')
registered("git", command="uvx", args=["mcp-server-git==2026.10.19"])
runs("""
    from mcptools.git import git_status, git_branch, git_create_branch, git_checkout, git_add
    git_add.run(git_add.Params(repo_path='.', files=['a']))
    git_create_branch.run(git_create_branch.Params(repo_path='.', branch_name='b'))
    git_checkout.run(git_checkout.Params(repo_path='.', branch_name='b'))""")
matches(runs("print(git_status.run(git_status.Params(repo_path='.')))").text, "On branch b")
equal(inside("sh", "-c", "cat /app/workspace/ran 2>/dev/null || true"), "")
registered("git2", command="uvx", args=["mcp-server-git==2026.10.19"], env=SECRET, cwd="/app/workspace")
fails("from mcptools.git2 import git_status; git_status.run(git_status.Params(repo_path='.'))", "dubious ownership")
PY
}

@test "servers keep out of each other's folders, and over HTTP it is told how they are started" {
    local ca=()
    workspace 1234:1234
    drive -v "$here/tool_server.py:/tools/tool_server.py:ro" -e S=s3cr3t -e IPYBOX_TOKEN=let-me-in \
        -v "$workspace:/app/workspace" -- --http 8080 <<'PY'
        registers("first")
        command = "for f in /var/lib/ipybox/servers/first/x /var/lib/ipybox/servers/x /var/lib/ipybox/x $HOME/x $TMPDIR/x; do " \
                  "if touch $f 2>/dev/null; then echo $f; fi; done >&2; exec python3 /tools/tool_server.py"
        registers("second", command="sh", args=["-c", command], env={"X": "${S}"})
        matches(box.launch, r"runs /usr/bin/sh in /var/lib/ipybox/servers/second.secret. It holds a secret \(\"env\"\)")
        wait_for_log("/second.secret/home/x")
        wait_for_log("/second.secret/tmp/x")
        equal("servers/first/x" in box.log() or "servers/x" in box.log() or "ipybox/x" in box.log(), False)
        text = inside("python3", "-c", "import urllib.request as u; print(u.urlopen(u.Request("
                      "'http://localhost:8080/v1/mcp-servers', headers={'Authorization': 'Bearer let-me-in'})).read().decode())")
        import json
        first, second = json.loads(text)["servers"]
        equal((first["uses_cells"], first["cwd"], first["program"]), (True, "/app/workspace", "/usr/bin/python3"))
        equal((second["uses_cells"], second["cwd"]), (False, "/var/lib/ipybox/servers/second.secret"))
        equal("s3cr3t" in text, False)
PY
}

@test "cells do not read in the folders of servers: with --user, and with --sandbox" {
    local how
    workspace 1234:1234
    for how in '--user 1234:1234 --' '-- --sandbox'; do
        # shellcheck disable=SC2086  # words
        drive -v "$here/tool_server.py:/tools/tool_server.py:ro" -v "$workspace:/app/workspace" $how <<'PY'
        registers("demo")
        inside("sh", "-c", "cd /var/lib/ipybox/servers/demo/home && echo login > token && chmod 0644 token && ls")
        for path in "", "/servers", "/servers/demo", "/servers/demo/home":
            fails(f"import os; os.listdir('/var/lib/ipybox{path}')", "Operation not permitted|Permission denied")
        fails("open('/var/lib/ipybox/servers/demo/home/token')", "Operation not permitted|Permission denied")
PY
    done
}

@test "--mcp-cwd and --servers-dir: where servers work and live; the workspace is no place for them" {
    workspace 1234:1234
    drive -v "$here/tool_server.py:/tools/tool_server.py:ro" -e S=s3cr3t -v "$workspace:/app/workspace" \
        --tmpfs /srv/mine:mode=1777 -- --mcp-cwd /tools --servers-dir /srv/mine/places <<'PY'
        registers("demo", command="python3", args=["tool_server.py"], env={"X": "${S}"})
        matches(box.launch, "runs /usr/bin/python3 in /tools. It holds a secret")
        matches(inside("ls", "/srv/mine/places"), "demo.secret")
PY
    run_box -v "$workspace:/app/workspace" -- --servers-dir /app/workspace/servers </dev/null
    assert_equal "$status" 2
    assert_match "$errors" "--servers-dir: /app/workspace/servers is in the workspace"
}
