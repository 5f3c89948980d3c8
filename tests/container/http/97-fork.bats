# Forks of live sessions: docs/fork.md.
load ../lib/helpers

begin()
{
    start_box -e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute "$@"
    wait_for is_well
}

# What a branch has, and what it does not share; with the options of the server that are given.
branches()
{
    begin -- serve "$@"
    talk_inside <<'PY'
wait_for("the server", ready)
text("""
import json as j, os, random
os.makedirs("/tmp/claude", exist_ok=True); os.chdir("/tmp/claude")
os.environ["MINE"] = "yes"
data = list(range(1000))
def total(): return sum(data)
file = open("lines", "w+"); file.write("one\\n")
class Thing: pass
thing = Thing(); thing.n = 1
random.seed(1)""")
equal(fork("default", name="b")["sessions"], [{"id": "b"}])

# it has all, and changes its own
listed = {one["name"] for one in call("GET", "/v1/sessions/b/variables")["variables"]}
assert {"data", "thing", "file"} <= listed, listed
equal(call("GET", "/v1/sessions/b")["forked_from"], "default")
equal(text("print(total(), thing.n, os.getcwd(), os.environ['MINE'], j.dumps([1]))", "b"), "499500 1 /tmp/claude yes [1]\n")
text("thing.n = 2; data.append(5); other = 3; os.chdir('/')", "b")
equal(text("print(thing.n, total(), 'other' in globals(), os.getcwd())"), "1 499500 False /tmp/claude\n")
equal(text("print(thing.n, total(), other, os.getcwd())", "b"), "2 499505 3 /\n")

# a place in its files of its own, and random numbers
text("file.write('branch\\n'); file.flush()", "b")
equal(text("print(file.tell(), open('lines').read().split())"), "4 ['one', 'branch']\n")
assert text("print(random.random())", "b") != text("print(random.random())")
fork("default", count=2, name="seeded", random="keep")
draws = [text("print(random.random(), random.random())", name) for name in ("seeded-1", "seeded-2", "default")]
equal(len(set(draws)), 1)
for name in ("seeded-1", "seeded-2"):
    equal(call("DELETE", f"/v1/sessions/{name}").status, 204)

# what a kernel does: displays, errors, other streams, commands, a top-level await, threads, an interrupt
equal(run("2 * 21", "b")["outputs"][0]["data"]["text/plain"], "42")
equal(run("1 / 0", "b")["error"]["ename"], "ZeroDivisionError")
equal(run("import sys; print('e', file=sys.stderr)", "b")["stderr"], "e\n")
equal(run("!echo from a command", "b")["stdout"], "from a command\r\n")
equal(text("import asyncio; await asyncio.sleep(0.01); print(await asyncio.to_thread(total))", "b"), "499505\n")
soft = run("while True: pass", "b", timeout_ms=300)
equal((soft["status"], soft["timeout"], soft["kernel_replaced"]), ("timeout", "soft", False))
equal(text("print(other)", "b"), "3\n")

# its events begin with it; a branch is forked again, and outlives what it comes from
equal(call("GET", "/v1/sessions/b")["state"], "idle")
equal(run("3", "b")["cell"], run("3", "b")["cell"] - 1)
fork("b", name="c")
text("exit()", "b")
equal(text("print(other, thing.n)", "c"), "3 2\n")
equal(call("DELETE", "/v1/sessions/b").status, 204)
equal(text("print(other, thing.n)", "c"), "3 2\n")

# a reset gives it an ordinary kernel
equal(call("POST", "/v1/sessions/c/reset").status, 204)
equal(run("other", "c")["error"]["ename"], "NameError")
equal(text("print(thing.n)"), "1\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "a branch has all that the session has in memory, and each changes its own" {
    branches
}

@test "a branch has all that the session has in memory, behind the sandbox too" {
    branches --sandbox
}

@test "ipybox fork prints the ids of the sessions that it makes" {
    begin -- serve --sandbox
    box exec "$id" ipybox exec 'x = 5'
    box exec "$id" ipybox fork --count 2 try
    assert_equal "$output" "try-1
try-2"
    box exec "$id" ipybox exec --session try-2 'x'
    assert_equal "$output" 5
    box exec "$id" ipybox exec 'import socket; s = socket.socket()'
    box exec "$id" ipybox fork again
    assert_equal "$status" 1
    assert_match "$errors" 'ipybox fork: .*a socket'
    box exec "$id" ipybox exec 'import random; random.seed(1); x'
    box exec "$id" ipybox fork --force --wait --keep-random again
    assert_equal "$output" again
    for session in default again; do
        box exec "$id" ipybox exec --session $session 'round(random.random(), 3)'
        assert_equal "$output" 0.134
    done
    box kill -s TERM "$id"
    end_box
}

@test "a fork right after a cell that failed, or was interrupted, runs its first cell" {
    begin -- serve
    talk_inside <<'PY'
wait_for("the server", ready)
text("x = 1")
for n in range(10):
    equal(run("1 / 0")["status"], "error")
    fork("default", name=f"failed-{n}")
    equal(text("print(x)", f"failed-{n}"), "1\n")
equal(run("while True: pass", timeout_ms=300)["timeout"], "soft")
fork("default", name="interrupted")
equal(text("print(x)", "interrupted"), "1\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "eight branches compute their own results, and the end of one leaves the rest" {
    begin -- serve --sandbox
    talk_inside <<'PY'
import concurrent.futures
wait_for("the server", ready)
text("numbers = list(range(100000))")
names = [item["id"] for item in fork("default", count=8, name="n")["sessions"]]
equal(names, [f"n-{i}" for i in range(1, 9)])
equal(text("numbers.clear(); print(len(numbers))"), "0\n")
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    code = [f"print(sum(x * {i} for x in numbers))" for i in range(1, 9)]
    equal(list(pool.map(text, code, names)), [f"{4999950000 * i}\n" for i in range(1, 9)])
equal(call("DELETE", "/v1/sessions/n-3").status, 204)
equal(run("import os; os.kill(os.getpid(), 9)", "n-5")["status"], "lost")
for name in names[:2] + names[3:4] + names[5:]:
    equal(text("print(len(numbers))", name), "100000\n")

# the parent's kernel goes, with what it started; they stay
parent = text("import subprocess; p = subprocess.Popen(['sleep', '1000']); print(os.getpid() if 'os' in globals() else p.pid)")
equal(call("POST", "/v1/sessions/default/reset").status, 204)
wait_for("the parent's process to end", lambda: not pathlib.Path(f"/proc/{parent.strip()}").exists())
for name in names[:2] + names[3:4] + names[5:]:
    equal(text("print(len(numbers))", name), "100000\n")
    equal(call("DELETE", f"/v1/sessions/{name}").status, 204)
PY
    box kill -s TERM "$id"
    end_box
}

@test "what cannot be forked is named, and a fork that is forced does without" {
    begin -- serve
    talk_inside <<'PY'
wait_for("the server", ready)
refused = [
    ("import threading, time\nt = threading.Thread(target=time.sleep, args=(1000,), name='mine', daemon=True); t.start()", "the thread 'mine'"),
    ("import subprocess\np = subprocess.Popen(['sleep', '1000'])", "child processes ("),
    ("import socket\ns = socket.socket()", "a socket (descriptor "),
    ("import os\nr, w = os.pipe()", "a pipe (descriptor "),
    ("import asyncio\ntask = asyncio.get_event_loop().create_task(asyncio.sleep(1000), name='mine')", "the asyncio task 'mine'"),
    ("import sqlite3\ndb = sqlite3.connect('/tmp/x.db'); db.execute('create table if not exists t(a)'); db.commit()", "the SQLite database /tmp/x.db"),
    ("import fcntl\nf = open('/tmp/locked', 'w'); fcntl.flock(f, fcntl.LOCK_EX)", "a lock on /tmp/locked"),
    ("import sys, types\nsys.modules['polars'] = types.ModuleType('polars')", "the package polars, whose threads end"),
]
for n, (code, name) in enumerate(refused):
    equal(call("POST", "/v1/sessions", {"id": f"s{n}"}).status, 201)
    equal(run(code + "\nx = 7", f"s{n}")["status"], "ok")
    answer = call("POST", f"/v1/sessions/s{n}/fork", {"name": "never"})
    equal(answer.status, 409)
    has(answer["detail"], name)
    equal(text("print(x)", f"s{n}"), "7\n")
    equal(fork(f"s{n}", name=f"f{n}", force=True)["sessions"], [{"id": f"f{n}"}])
    equal(text("print(x)", f"f{n}"), "7\n")
    equal(call("DELETE", f"/v1/sessions/f{n}").status, 204)
    equal(text("print(x)", f"s{n}"), "7\n")
    equal(call("DELETE", f"/v1/sessions/s{n}").status, 204)
equal(call("GET", "/v1/sessions/never").status, 404)

# %%bash leaves a thread behind that is the kernel's own
text("%%bash\nV=3")
fork("default", name="bash")
equal(run("%%bash\necho again", "bash")["stdout"], "again\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "a fork of what is busy, gone or over the limit is refused, and waits where it is asked to" {
    begin -- serve --max-sessions 4
    talk_inside <<'PY'
wait_for("the server", ready)
equal(call("POST", "/v1/sessions/none/fork").status, 404)
for body in ({"count": 0}, {"count": 65}, {"name": 3}, {"force": "yes"}, {"counts": 1}, {"name": "a/b"}, {"name": ""}, {"name": 62 * "n"}, {"random": "old"}, {"random": True}):
    equal(call("POST", "/v1/sessions/default/fork", body).status, 400)
equal(call("POST", "/v1/sessions/default/fork", token=None).status, 401)
equal(call("POST", "/v1/sessions", {"id": "x"}).status, 201)
equal(call("POST", "/v1/sessions/default/fork", {"name": "x"}).status, 409)
equal(call("DELETE", "/v1/sessions/x").status, 204)

busy = start("POST", EXECUTIONS, {"code": "import time; time.sleep(1.5); late = 1"})
wait_for("the cell", lambda: call("GET", "/v1/sessions/default")["state"] == "busy")
answer = call("POST", "/v1/sessions/default/fork")
equal(answer.status, 409)
has(answer["detail"], "is busy")
equal(fork("default", name="w", wait=True)["sessions"], [{"id": "w"}])
equal(text("print(late)", "w"), "1\n")
equal(json.loads(busy.getresponse().read())["status"], "ok")

answer = call("POST", "/v1/sessions/default/fork", {"count": 3})
equal(answer.status, 429)
has(answer["detail"], "--max-sessions")
equal(len(call("GET", "/v1/sessions")["sessions"]), 2)
equal(call("POST", "/v1/sessions", {"id": "idle"}).status, 201)
text("exit()", "idle")
equal(call("DELETE", "/v1/sessions/idle").status, 204)

# a request that ends while it waits makes its session all the same; the session that it is of may end
waits = start("POST", EXECUTIONS, {"code": "time.sleep(1)"})
wait_for("the cell", lambda: call("GET", "/v1/sessions/default")["state"] == "busy")
start("POST", "/v1/sessions/default/fork", {"name": "later", "wait": True}).close()
equal(json.loads(waits.getresponse().read())["status"], "ok")
wait_for("the fork", lambda: call("GET", "/v1/sessions/later").status == 200)
equal(text("print(late)", "later"), "1\n")
equal(call("DELETE", "/v1/sessions/w").status, 204)
run("while True: pass", "later", wait=False)
parked = start("POST", "/v1/sessions/later/fork", {"name": "orphan", "wait": True})
wait_for("the fork to wait", lambda: call("GET", "/v1/sessions/later")["queued"] == 2)
equal(call("DELETE", "/v1/sessions/later").status, 204)
equal(parked.getresponse().status, 409)
wait_for("its end", lambda: len(call("GET", "/v1/sessions")["sessions"]) == 1)
equal(text("print(late)"), "1\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "a branch has tokens of its own, and reaches nothing of the session that it comes from" {
    begin -- serve
    talk_inside <<'PY'
wait_for("the server", ready)
text("import os, signal, ctypes; old = os.environ['IPYBOX_TOOL_TOKEN']; parent = os.getpid(); secret = b'only here'")
fork("default", count=2, name="t")
tokens = [text("print(os.environ['IPYBOX_TOOL_TOKEN'])", name) for name in ("default", "t-1", "t-2")]
equal(len({*tokens, text("print(old)")}), 4)

# what the session had when it was forked is worth nothing to any of them
hello = """
import json, socket
def hello(token):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(os.environ['IPYBOX_TOOL_SOCKET'])
        s.sendall((json.dumps({'jsonrpc': '2.0', 'id': 0, 'method': 'hello', 'params': {'token': token}}) + chr(10)).encode())
        return 'error' not in s.makefile().readline()
print(hello(old), hello(os.environ['IPYBOX_TOOL_TOKEN']))"""
for name in ("default", "t-1", "t-2"):
    equal(text(hello, name), "False True\n")

# no signal, no memory, no descriptors of the parent or a sibling; what the same code does to itself works
sibling = text("print(os.getpid())", "t-2").strip()
reach = """
def reach(pid):
    found = []
    for what in (lambda: os.kill(pid, 0), lambda: open(f'/proc/{pid}/mem', 'rb').close(), lambda: os.readlink(f'/proc/{pid}/fd/0')):
        try:
            what()
            found.append(True)
        except OSError:
            found.append(False)
    return found
print(reach(os.getpid()), reach(parent), reach(SIBLING), reach(os.getppid()))""".replace("SIBLING", sibling)
no = [False] * 3
equal(text(reach, "t-1"), f"{[True] * 3} {no} {no} {no}\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "a branch is held by the budgets, and it alone is ended for it" {
    begin -- serve --kernel-memory 200M
    talk_inside <<'PY'
wait_for("the server", ready)
text("x = 1")
fork("default", count=2, name="m")
died = run("y = bytearray(400 << 20); import time; time.sleep(60)", "m-1")
equal(died["status"], "lost")
has(died.text, "--kernel-memory")
equal(text("print(x)", "m-2"), "1\n")
equal(text("print(x)"), "1\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "100 forks leave nothing" {
    begin --cap-add SYS_PTRACE -- serve --max-sessions 20
    talk_inside <<'PY'
wait_for("the server", ready)
text("x = 1; import subprocess")
fork("default", name="first")
call("DELETE", "/v1/sessions/first")

def quiet():
    seen = traces()
    time.sleep(1)
    return traces() == seen

wait_for("a server that does nothing", quiet)
before = traces()
for n in range(20):
    for item in fork("default", count=5)["sessions"]:
        text("p = subprocess.Popen(['sleep', '1000'], start_new_session=True)" if n % 4 == 0 else "x", item["id"])
        equal(call("DELETE", f"/v1/sessions/{item['id']}").status, 204)
wait_for("all to be gone", lambda: all(now <= then for now, then in zip(traces(), before)))
equal(text("print(x)"), "1\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "the audit log names the session that a branch comes from" {
    begin -- serve --audit-log /tmp/audit.jsonl
    talk_inside <<'PY'
wait_for("the server", ready)
run("1")
fork("default", name="a")
equal(call("DELETE", "/v1/sessions/a").status, 204)
PY
    box exec "$id" grep '"session":"a"' /tmp/audit.jsonl
    assert_match "$output" '"kind":"session_created".*"parent":"default"'
    box kill -s TERM "$id"
    end_box
}

# lies - as talk; LYING is code for a kernel whose root is a process of its own making, which says what it likes on the line.
lies()
{
    { cat <<'PY'; cat; } | talk_inside
LYING = """
import os, time, ipybox_kernel.branch as b
def lie(program, line):
    if middle := os.fork():
        os.waitpid(middle, 0)
        return 0
    if os.fork():
        os._exit(0)
    os.setsid()
    b.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    root = os.getpid()
    if not (branch := os.fork()):
        return root
    os.write(line, b.WORD.pack(1, NAMED or branch, 0, b""))
    DO
    while True: time.sleep(1000)
b.forks.fork_branch = lie"""
PY
}

@test "a kernel that lies about its branch has no other process signalled" {
    begin -- serve
    lies <<'PY'
wait_for("the server", ready)
equal(call("POST", "/v1/sessions", {"id": "victim"}).status, 201)
victim = text("import os, time; print(os.getpid())", "victim").strip()
cell = start("POST", "/v1/sessions/victim/executions", {"code": "time.sleep(4); print('whole')"})
wait_for("the cell", lambda: call("GET", "/v1/sessions/victim")["state"] == "busy")
text(LYING.replace("NAMED", victim).replace("DO", "pass"))
answer = call("POST", "/v1/sessions/default/fork", {"name": "evil", "force": True})
if answer.status == 201:
    run("while True: pass", "evil", timeout_ms=300)
equal(json.loads(cell.getresponse().read())["stdout"], "whole\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "a kernel that lies about its branch is held by its budget" {
    begin -- serve --kernel-memory 200M
    lies <<'PY'
wait_for("the server", ready)
text(LYING.replace("NAMED", "0").replace("DO", "x = bytearray(b'1') * (400 << 20); open('/tmp/had', 'w').close(); time.sleep(4); open('/tmp/kept', 'w').close()"))
answer = call("POST", "/v1/sessions/default/fork", {"name": "evil", "force": True})
time.sleep(7)
equal((answer.status, pathlib.Path("/tmp/kept").exists()), (201, False))
PY
    box kill -s TERM "$id"
    end_box
}

@test "without its library a kernel is not forked, and told why" {
    begin --tmpfs /usr/lib/ipybox -- serve
    talk_inside <<'PY'
wait_for("the server", ready)
run("x = 1")
refused = call("POST", "/v1/sessions/default/fork", {})
equal((refused.status, "forks.so" in refused.text), (422, True))
equal(text("print(x)"), "1\n")
PY
    box kill -s TERM "$id"
    end_box
}

@test "with --fork-tool an agent forks its session, works in the forks and ends them" {
    drive -v "$here/tool_server.py:/tools/tool_server.py:ro" -- --fork-tool --checkpoints 2 --approve-tool-calls <<'PY'
        greet(elicitation={})
        runs("import random; data = list(range(5)); fixed = None")
        equal(tool("fork", count=2, name="try").text,
              "The new sessions are try-1 and try-2. Name one as session in other calls; end_session ends it.")
        runs("fixed = sorted(data, reverse=True); data.clear()", session="try-1")
        runs("fixed = 'other'", session="try-2")
        prints("fixed, data", "(None, [0, 1, 2, 3, 4])")
        prints("fixed, data", "(None, [0, 1, 2, 3, 4])", session="default")
        prints("fixed, data", "([4, 3, 2, 1, 0], [])", session="try-1")
        matches(tool("rewind", session="try-2").text, "are as they were before cell")
        prints("print(fixed)", "None", session="try-2")

        # its tool calls are asked from this client
        registers("demo")
        call = start_cell("from mcptools.demo import add; add.run(a=2).total", session="try-1")
        reply(asked("elicitation/create"), {"action": "accept", "content": {"decision": "approve"}})
        equal(finish(call).text, "3")

        # a fork of a fork; errors; the end
        equal(tool("fork", name="deep", session="try-1").text.split(".")[0], "The new session is deep")
        prints("fixed", "[4, 3, 2, 1, 0]", session="deep")
        runs("import socket; s = socket.socket()", session="deep")
        matches(tool("fork", session="deep").text, r"Error executing tool fork: .*a socket")
        matches(tool("fork", name="try-2").text, "try-2")
        fails("1", "there is no session none; fork makes sessions", session="none")
        equal(tool("end_session", session="deep").text, "The session has ended.")
        matches(tool("end_session", session="deep").text, "deep was not made by fork")
        matches(tool("end_session", session="default").text, "default was not made by fork")
        fails("1", "there is no session deep", session="deep")
        runs("exit()", session="try-1")
        prints("1 + 1", 2)
PY
}

@test "over HTTP the tools fork and end_session are offered in both eras, and forks of a client end with it" {
    begin -- serve --fork-tool
    talk_inside <<'PY'
wait_for("the server", ready)
META = {f"io.modelcontextprotocol/{name}": value
        for name, value in (("protocolVersion", "2026-07-28"), ("clientCapabilities", {}))}

def ask(method, params, **headers):
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return call("POST", "/mcp", message, headers={"Accept": "application/json, text/event-stream"} | headers)

def said(answer):
    return json.loads(answer.text.partition("data: ")[2] or answer.text)["result"]["content"][0]["text"]

def modern(name, /, **arguments):
    params = {"name": name, "arguments": arguments, "_meta": META}
    return said(ask("tools/call", params, **{"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": name}))

def ids():
    return [item["id"] for item in call("GET", "/v1/sessions")["sessions"]]

modern("execute_ipython_cell", code="x = 5", session="mine")
has(modern("fork", session="mine", name="copy"), "The new session is copy.")
equal(modern("execute_ipython_cell", code="x", session="copy"), "5")
equal(modern("end_session", session="copy"), "The session has ended.")
has(modern("end_session", session="none"), "there is no session none")
has(modern("end_session", session="default"), "cannot be ended")
wait_for("its end", lambda: ids() == ["default", "mine"] or ids() == ["mine", "default"])

opened = ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
own = {"Mcp-Session-Id": opened.headers["Mcp-Session-Id"]}
def tool(name, /, **arguments):
    return said(ask("tools/call", {"name": name, "arguments": arguments}, **own))
tool("execute_ipython_cell", code="y = 6")
has(tool("fork", count=2, name="branch"), "branch-1 and branch-2")
equal(tool("execute_ipython_cell", code="y", session="branch-2"), "6")
has(tool("execute_ipython_cell", code="x", session="mine"), "there is no session mine")
has(tool("end_session", session="mine"), "mine was not made by fork")
equal(len(ids()), 5)
call("DELETE", "/mcp", headers=own)
wait_for("the end of its sessions", lambda: sorted(ids()) == ["default", "mine"])
PY
    box kill -s TERM "$id"
    end_box
}

# Their threads: OpenBLAS's, pyarrow's and duckdb's pools have run before the fork, in what is forked.
# bats test_tags=all
@test "data of numpy, pandas, matplotlib, pyarrow and duckdb is used in forks; polars and scikit-learn are refused by name" {
    local this_image=${IPYBOX_TEST_SCIENCE_IMAGE:-ipybox:science}
    begin -- serve --sandbox
    talk_inside <<'PY'
import concurrent.futures
wait_for("the server", ready)
text("""
import duckdb, io, matplotlib.pyplot as plt, numpy as np, os, pandas as pd, pyarrow as pa, pyarrow.compute as pc
matrix = np.arange(250_000, dtype=float).reshape(500, 500)
product = matrix @ matrix
frame = pd.DataFrame({"n": range(100_000), "k": [i % 7 for i in range(100_000)]})
table = pa.table({"n": range(1_000_000)})
total = pc.sum(table["n"]).as_py()
db = duckdb.connect()
db.register("frame", frame)
db.execute("create table groups as select k, sum(n) as s from frame group by k order by k")
plt.plot([1, 2, 3])""")
check = """
own = os.getpid() % 1000
matrix[0, 0] = own
assert np.allclose((matrix @ matrix)[1:, 1:], product[1:, 1:], rtol=1e-3)
inverse = np.linalg.inv(matrix[:50, :50] + own * np.eye(50))
assert np.allclose((matrix[:50, :50] + own * np.eye(50)) @ inverse, np.eye(50), atol=1e-3)
frame["own"] = own
assert frame.groupby("k").n.sum().sum() == 4999950000 and frame.own.sum() == own * 100_000
assert pc.sum(table["n"]).as_py() == total == 499999500000
assert pa.Table.from_pandas(frame).num_rows == 100_000
db.execute("insert into groups values (?, 0)", [own])
sums = db.execute("select count(*), sum(s) from groups").fetchone()
assert sums == (8, 4999950000), sums
assert db.execute("select sum(range) from range(1000000)").fetchone() == (499999500000,)
picture = io.BytesIO()
plt.savefig(picture)
assert picture.getvalue().startswith(b'\\x89PNG')
print("all")"""
names = [item["id"] for item in fork("default", count=2, name="data")["sessions"]]
with concurrent.futures.ThreadPoolExecutor(3) as pool:
    equal(list(pool.map(lambda name: text(check, name), [*names, "default"])), ["all\n"] * 3)
equal(text(check.replace("== (8,", "== (9,"), names[0]), "all\n")

for package, code, obstacle in (
    ("polars", "import polars; polars.DataFrame({'a': [3, 1]}).sort('a')", "the package polars, whose threads end"),
    ("sklearn", "from sklearn.cluster import KMeans; import numpy; KMeans(2, n_init=1).fit(numpy.eye(4))", "OpenMP, whose threads end"),
):
    equal(call("POST", "/v1/sessions", {"id": package}).status, 201)
    text(code + "\nx = 7", package)
    answer = call("POST", f"/v1/sessions/{package}/fork", {"name": "never"})
    equal(answer.status, 409)
    has(answer["detail"], obstacle)
    fork(package, name=f"{package}-forced", force=True)
    equal(text("print(x)", f"{package}-forced"), "7\n")
PY
    box kill -s TERM "$id"
    end_box
}
