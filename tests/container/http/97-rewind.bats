# Rewind of sessions: docs/rewind.md.
load ../lib/helpers

# talk - a conversation with the API of the container $id, from inside it; standard input is its script.
talk()
{
    { cat <<'PY'; cat; } | talk_inside
def kept(session="default"):
    return [item["cell"] for item in call("GET", f"/v1/sessions/{session}/checkpoints")["checkpoints"]]

def back(cell, session="default", **more):
    answer = call("POST", f"/v1/sessions/{session}/rewind", {"cell": cell, **more})
    equal(answer.status, 200)
    return answer
PY
}

begin()
{
    start_box -e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute "$@"
    wait_for is_well
}

rewinds()
{
    begin -- serve --checkpoints 3 "$@"
    talk <<'PY'
wait_for("the server", ready)
text("""
import random, os
os.makedirs("/tmp/claude", exist_ok=True)
data = [1]
random.seed(7)
file = open("/tmp/claude/lines", "w+"); file.write("one\\n")""")
text("data.append(2); drawn = random.random(); os.chdir('/tmp/claude'); file.write('two\\n')")
drawn = text("print(drawn)")
text("del data; file.close()")
equal(kept(), [2, 3, 4])
events = call("GET", "/v1/sessions/default")["last_event"]

# variables, working directory, random states, places in files, In [n]; not the files
answer = back(2)
equal((answer["cell"], answer["undone"], answer["not_undone"]["tool_calls"]), (2, [2, 3, 4], []))
has(answer["not_undone"]["other"][0], "files")
equal(text("print(data, os.getcwd() == '/tmp/claude', 'drawn' in globals(), file.tell())"), "[1] False False 4\n")
equal(text("print(random.random())"), drawn)
equal(text("print(open('/tmp/claude/lines').read().split())"), "['one', 'two']\n")
equal(run("len(In)")["outputs"][0]["data"]["text/plain"], "6")

# the session is the same one: cells count on, its events too, and a state of its new line is there
equal(run("1")["cell"], 9)
assert call("GET", "/v1/sessions/default")["last_event"] > events
equal(kept(), [7, 8, 9])
back(8)
equal(text("print(len(In))"), "6\n")

# places are those of before, however soon the kernel goes on and moves them
text("files = [open(f'/tmp/claude/{n}', 'w+') for n in range(300)]")
moved = run("for file in files: file.seek(9)")["cell"]
back(moved)
equal(text("print({file.tell() for file in files}); [file.close() for file in files]; del files"), "{0}\n")

# what a kernel does: displays, errors, commands, threads, an interrupt; and forks
equal(run("2 * 21")["outputs"][0]["data"]["text/plain"], "42")
equal(run("1 / 0")["error"]["ename"], "ZeroDivisionError")
equal(run("!echo from a command")["stdout"], "from a command\r\n")
equal(text("import asyncio; print(await asyncio.to_thread(sum, data))"), "1\n")
soft = run("while True: pass", timeout_ms=300)
equal((soft["status"], soft["timeout"], soft["kernel_replaced"]), ("timeout", "soft", False))
fork("default", name="b")
text("data.append(9)")
back(call("GET", "/v1/sessions/default/checkpoints")["next_cell"] - 1)
equal(text("print(data)"), "[1]\n")
equal(text("print(data)", "b"), "[1]\n")
equal(call("DELETE", "/v1/sessions/b").status, 204)

# a reset ends them
equal(call("POST", "/v1/sessions/default/reset").status, 204)
equal(kept(), [])
equal(run("data")["error"]["ename"], "NameError")
PY
    box kill -s TERM "$id"
    end_box
}

@test "a rewind brings back what the kernel had in memory, and the session goes on" {
    rewinds
}

@test "a rewind brings back what the kernel had in memory, behind the sandbox too" {
    rewinds --sandbox
}

@test "a hundred rewinds leave the next one as good, and the session's end leaves nothing" {
    begin --cap-add SYS_PTRACE -- serve --checkpoints 3
    talk <<'PY'
wait_for("the server", ready)
text("import os")
equal(call("POST", "/v1/sessions/default/reset").status, 204)

def quiet():
    seen = traces()
    time.sleep(1)
    return traces() == seen

wait_for("a server that does nothing", quiet)
before = traces()
equal(call("POST", "/v1/sessions", {"id": "s"}).status, 201)
text("import os; x = 0; files = len(os.listdir('/proc/self/fd'))", "s")
for n in range(100):
    cell = run(f"x = {n}; y = 1", "s")["cell"]
    back(cell, "s")
equal(text("print(x, 'y' in globals())", "s"), "0 False\n")
assert int(text("print(len(os.listdir('/proc/self/fd')) - files)", "s")) < 40
equal(call("DELETE", "/v1/sessions/s").status, 204)
wait_for("all to be gone", lambda: all(now <= then for now, then in zip(traces(), before)))
PY
    box kill -s TERM "$id"
    end_box
}

@test "connections that a kernel takes up late do not stay with those that go back" {
    begin -- serve --checkpoints 3
    talk <<'PY'
wait_for("the server", ready)
# as on a slow machine, where a kernel looks at what it has open before its connections are there
text("""
import os, socket

def is_connection(fd):
    with socket.socket(fileno=os.dup(fd)) as end:
        return end.family == socket.AF_UNIX and end.getsockname().startswith(app.ip)

def come_late():
    global app
    app = get_ipython().kernel.parent
    own = app._branches._own
    late = [fd for fd, link in own.items() if link.startswith("socket:") and is_connection(fd)]
    for fd in late:
        del own[fd]
    return len(late)

files = len(os.listdir("/proc/self/fd"))""")
for n in range(6):
    assert int(text("print(come_late())")) >= 4
    back(run("1")["cell"])
left = int(text("print(len(os.listdir('/proc/self/fd')) - files)"))
assert left < 8, left
PY
    box kill -s TERM "$id"
    end_box
}

@test "states outlive their kernel, and go with what they cannot be kept for" {
    begin -- serve --checkpoints 2 --kernel-idle-timeout 2 --sandbox
    talk <<'PY'
wait_for("the server", ready)
text("keep = 7")
for code, status in (("import os; os._exit(3)", "lost"), ("exit()", "ok")):
    ended = run(code)
    equal(ended["status"], status)
    back(ended["cell"])
    equal(text("print(keep)"), "7\n")

# what the kernel held is free when the next cell runs
text("import fcntl, os; os.makedirs('/tmp/claude', exist_ok=True); lock = lambda f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)")
back(run("f = open('/tmp/claude/lock', 'w'); lock(f)")["cell"])
equal(text("with open('/tmp/claude/lock', 'w') as g: lock(g); print('f' in globals())"), "False\n")

# settings of the sandbox are not changed back
before = call("GET", "/v1/sessions/default/sandbox")["settings"]
wanted = {**before, "filesystem": {**before["filesystem"], "denyRead": [*before["filesystem"].get("denyRead", []), "/etc/hostname"]}}
text("print(open('/etc/hostname').read())")
assert kept()
answer = call("PUT", "/v1/sessions/default/sandbox", {"settings": wanted})
equal((answer.status, kept()), (409, [])) # its kernel is a fork: with a reset alone
equal(call("PUT", "/v1/sessions/default/sandbox", {"settings": wanted, "reset": True}).status, 200)
equal(run("open('/etc/hostname')")["error"]["ename"], "PermissionError")

wait_for("the kernel's idle end", lambda: call("GET", "/v1/sessions/default")["state"] == "down")
equal(kept(), [])
PY
    box kill -s TERM "$id"
    end_box
}

@test "a rewind that cannot be is refused by name, and a cell without a state runs" {
    begin -- serve --checkpoints 2
    talk <<'PY'
wait_for("the server", ready)
def refused(status, body, session="default", token="admin"):
    answer = call("POST", f"/v1/sessions/{session}/rewind", body, token=token)
    equal(answer.status, status)
    return answer["detail"]

refused(404, {"cell": 1}, "none")
refused(401, {"cell": 1}, token=None)
for body in ({}, {"cell": 0}, {"cell": -1}, {"cell": 1.5}, {"cell": "1"}, {"cell": 1, "wait": "yes"}, {"cells": 1}, {"cell": 2**40}):
    refused(400, body)
has(refused(409, {"cell": 1}), "none is kept")
for n in range(1, 5):
    text(f"n = {n}")
equal(kept(), [3, 4])
has(refused(409, {"cell": 2}), "kept are the states before the cells 3, 4")
has(refused(409, {"cell": 99}), "before cell 99 is not kept")

# busy, and with wait in turn
busy = start("POST", EXECUTIONS, {"code": "import time; time.sleep(1.5); n = 5"})
wait_for("the cell", lambda: call("GET", "/v1/sessions/default")["state"] == "busy")
has(refused(409, {"cell": 4}), "is busy")
back(4, wait=True)
equal(json.loads(busy.getresponse().read())["status"], "ok")
equal(text("print(n)"), "3\n")

# a cell before which the kernel cannot be forked
text("import socket; s = socket.socket()")
cell = run("m = 1")["cell"]
equal(kept()[-1], cell - 1)
missing = call("GET", "/v1/sessions/default/checkpoints")["missing"]
equal([item["cell"] for item in missing], [cell])
has(missing[0]["reason"], "a socket (descriptor ")
has(refused(409, {"cell": cell}), "a socket (descriptor ")
equal(text("print(m)"), "1\n")

# fewer for one session, never more; none where it wants none
equal(call("POST", "/v1/sessions", {"id": "few", "checkpoints": 0}).status, 201)
equal(call("POST", "/v1/sessions", {"id": "many", "checkpoints": 16}).status, 201)
equal(call("POST", "/v1/sessions", {"id": "bad", "checkpoints": 17}).status, 400)
for n in range(4):
    text("1", "few")
    text("1", "many")
equal((kept("few"), kept("many")), ([], [3, 4]))
has(refused(422, {"cell": 1}, "few"), "--checkpoints")
PY
    box kill -s TERM "$id"
    end_box
}

@test "states count with their kernel's memory, and the oldest end first" {
    begin -- serve --checkpoints 4 --kernel-memory 300M
    talk <<'PY'
wait_for("the server", ready)
text("data = bytearray(b'1') * (60 << 20)")
for n in range(4):
    text(f"data = bytearray(b'{n}') * (60 << 20)")  # each state has 60 MiB of its own
answer = None

def is_short():
    global answer
    answer = call("GET", "/v1/sessions/default/checkpoints")
    return answer["missing"] and all(item["memory"] for item in answer["checkpoints"])

wait_for("the oldest state to end", is_short)
ended = [item["cell"] for item in answer["missing"]]
left = [item["cell"] for item in answer["checkpoints"]]
assert ended and left, answer.text
assert max(ended) < min(left), answer.text
for item in answer["missing"]:
    has(item["reason"], "--kernel-memory")
for item in answer["checkpoints"][1:]:
    assert 50 << 20 < item["memory"] < 120 << 20, answer.text
equal(text("print(data[:1])"), "bytearray(b'3')\n")
back(left[-1])
equal(text("print(len(data) >> 20)"), "60\n")

# the kernel alone is ended for what is its own
equal(run("more = bytearray(b'1') * (500 << 20); import time; time.sleep(60)")["status"], "lost")
PY
    box kill -s TERM "$id"
    end_box
}

@test "without --checkpoints nothing is kept" {
    begin -- serve
    talk <<'PY'
wait_for("the server", ready)
text("1")
equal(kept(), [])
equal(call("POST", "/v1/sessions/default/rewind", {"cell": 1}).status, 422)
PY
    box kill -s TERM "$id"
    end_box
}
