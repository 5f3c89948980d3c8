# Cells and the kernel's life: state, interrupts, deaths, environment, and no output lost.
load lib/helpers

# quick_cells COUNT
quick_cells()
{
    COUNT=$1 drive <<'PY'
        prints("import os, subprocess", "")
        def code(i):
            if i % 10 == 9:
                return f"_ = subprocess.run(['echo', '{i}'])"
            return f"_ = os.write(1, b'{i}\\n')" if i % 5 == 0 else f"print({i})"
        lost = []
        for i in range(int(os.environ["COUNT"])):
            answer = cell(code(i))
            if (answer.text, answer.rest, answer.error) != (str(i), "", False):
                lost.append((i, answer))
        equal(lost, [])
PY
}

@test "1,000 quick cells lose no output: print, os.write(1), child processes" {
    quick_cells 1000
}

# bats test_tags=all
@test "10,000 quick cells lose no output: print, os.write(1), child processes" {
    quick_cells 10000
}

@test "the language is IPython's: await at the top level, magics, shell commands" {
    drive <<'PY'
        prints("import asyncio; await asyncio.sleep(0.01); print('awaited')", "awaited")
        prints("async def f(): return 7\nawait f()", 7)
        prints("%pwd", "'/app/workspace'")
        prints("!echo from the shell", "from the shell")
        prints("files = !echo one two\nfiles", "['one two']")
        prints("%%bash\necho from bash", "from bash")
        matches(runs("%timeit -n1 -r1 pass").text, "loop")
        prints("6 * 7", 42)
        prints("_ + 1", 43)
        matches(runs("len?").text, "Return the number of items")
PY
}

@test "input() is refused with a clear error, at once" {
    drive <<'PY'
        fails("input('name? ')", r"StdinNotImplementedError: input\(\) is not available")
        fails("import getpass; getpass.getpass()", r"getpass\(\) is not available")
        prints("import sys; sys.stdin.read()", "''")
        prints("1", 1)
PY
}

@test "an exception is told with its traceback and without colours, after what was printed" {
    drive <<'PY'
        answer = fails("print('before')\ndef f():\n    return 1 / 0\nf()", "^Error executing tool execute_ipython_cell: ZeroDivisionError: division by zero\n")
        matches(answer.text, r"----> \d return|---> 3|-> 3 +return 1 / 0")
        equal("\x1b" in answer.message.raw or "\\u001b" in answer.message.raw, False)
        matches(answer.rest, "before")
        for code in "1 +", "%no_such_magic", "%%bash\nexit 3", "raise SystemExit(3)", "assert False":
            answer = cell(code)
            equal((code, "\\u001b" in answer.message.raw), (code, False))
        prints("1", 1)
PY
}

@test "a cell over its timeout is interrupted, and the state is kept" {
    drive <<'PY'
        prints("import time; x = 1", "")
        answer = fails("print('begun'); x = 2; time.sleep(1000); x = 3", "TimeoutError.*4 s.*interrupted.*keeps its state", timeout=4)
        matches(answer.rest, "begun")
        answer = prints("x", 2)
        equal(answer.rest, "")
        fails("await __import__('asyncio').sleep(1000)", "TimeoutError", timeout=0.5)
        fails("while True: pass", "TimeoutError", timeout=0.5)
        fails("!sleep 1000", "TimeoutError", timeout=0.5)
        prints("x", 2)
PY
}

@test "a cancelled cell is interrupted and never answered, and the state is kept" {
    drive <<'PY'
        prints("import time; x = 1", "")
        id = begin_cell("x = 2; print('begun', flush=True); time.sleep(1000); x = 3")
        notify("notifications/cancelled", requestId=id, reason="enough")
        answer = prints("x", 2)                 # before WAIT is over, so it was not slept through
        equal(answer.rest, "")
        notifications("notifications/progress") # the line that it had begun may come in two
        nothing_else()
PY
}

@test "a cell that is cancelled while it waits in the queue never runs" {
    drive <<'PY'
        prints("import os, time; ran = []", "")
        first = start_cell("while not os.path.exists('/tmp/go'): time.sleep(0.02)\nran.append('first')")
        second = start_cell("ran.append('second')")
        third = start_cell("ran.append('third')")
        notify("notifications/cancelled", requestId=second)
        ask("ping")                             # what was sent before has been read
        inside("touch", "/tmp/go")
        finish(first), finish(third)
        prints("ran", "['first', 'third']")
        nothing_else()
PY
}

@test "a cell that ignores the interrupt loses its kernel, and its answer says so" {
    drive -e IPYBOX_INTERRUPT_GRACE=1 <<'PY'
        prints("x = 1", "")
        answer = fails(STUBBORN, "TimeoutError.*ignored the interrupt.*new one.*variables and imports are gone", timeout=4)
        matches(answer.rest, "begun")
        matches(fails("x", "NameError").rest, r"\[ipybox\] This cell ran in a new kernel: .*time limit")
        prints("x = 1", "")
        id = begin_cell(STUBBORN)
        notify("notifications/cancelled", requestId=id)
        answer = fails("x", "NameError")
        matches(answer.rest, r"\[ipybox\].*new kernel")
        nothing_else()
PY
}

@test "the death of a kernel ends the cell with its cause, and the next cell runs in a new one and says so" {
    drive <<'PY'
        def dies(code, cause):
            prints("x = 1", "")
            # What libzmq's thread has not sent yet ends with the process: it dies when its words have arrived.
            id = begin_cell("import os, time; print('last words', flush=True)\n"
                            f"while not os.path.exists('/tmp/go'): time.sleep(0.02)\nos.remove('/tmp/go')\n{code}")
            inside("touch", "/tmp/go", user="1000")
            answer = finish(id)
            equal(answer.error, True)
            matches(answer.text, f"KernelDied: .*{cause}")
            matches(answer.text, "new kernel: all variables and imports are gone")
            matches(answer.rest, "last words")
            answer = fails("x", "NameError")
            matches(answer.rest, r"\[ipybox\] This cell ran in a new kernel: .*" + cause)
            equal(prints("1", 1).rest, "")
        dies("import os; os._exit(3)", "(exit )?status 3")
        dies("import ctypes; ctypes.string_at(0)", "signal 11|SIGSEGV|[Ss]egmentation fault")
        dies("import os; os.kill(os.getpid(), 9)", "signal 9|SIGKILL|[Kk]illed")
        dies("import os; os.abort()", "signal 6|SIGABRT|[Aa]borted")
PY
}

@test "what was printed before os._exit() is delivered, flushed or not" {
    drive <<'PY'
        for _ in range(5):
            answer = fails("import os; print('last words'); os._exit(3)", "KernelDied")
            matches(answer.rest, "last words")
PY
}

@test "a crash is told with the line of Python that crashed" {
    drive <<'PY'
        answer = fails("def crash():\n    import ctypes\n    ctypes.string_at(0)\ncrash()", "KernelDied")
        matches(answer.text, "Segmentation fault.*in crash")
PY
}

@test "a kernel that was killed for want of memory: the answer names memory" {
    drive -m 300m --memory-swap 300m -- --kernel-memory 0 <<'PY'
        prints("x = 1", "")
        id = begin_cell("import os, time; print('growing', flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.02)\n"
                        "b = bytearray()\nwhile True: b += b'x' * 10_000_000")
        inside("touch", "/tmp/go")
        answer = finish(id)
        equal(answer.error, True)
        matches(answer.text, "KernelDied.*memory")
        matches(answer.rest, "growing")
        fails("x", "NameError")
        prints("1", 1)
        wait_for("health", healthy)
PY
}

@test "exit() and quit() end the kernel in order; the next cell says so" {
    drive <<'PY'
        for leave in "exit()", "quit()":
            prints("x = 1", "")
            prints(f"print('bye')\n{leave}", "bye")
            answer = fails("x", "NameError")
            matches(answer.rest, r"new kernel.*exit\(\)")
            equal(prints("1", 1).rest, "")
PY
}

@test "a kernel that dies between cells is replaced, and the next cell says so" {
    drive <<'PY'
        runs("x = 1; import os, threading, time\n"
             "def die():\n  while not os.path.exists('/tmp/die'): time.sleep(0.02)\n  os._exit(4)\nthreading.Thread(target=die).start()")
        inside("touch", "/tmp/die")
        wait_for_log("exited with status 4")
        answer = fails("x", "NameError")
        matches(answer.rest, r"new kernel: .*status 4")
PY
}

stopped_in_a_cell()
{
    drive <<'PY'
        prints("import os, signal; os.kill(os.getpid(), signal.SIGSTOP); print('resumed')", "resumed")
PY
}

stopped_between_cells()
{
    drive <<'PY'
        prints("import os; x = os.getpid()", "")
        inside("bash", "-c", f"kill -STOP {runs('x').text}")
        prints("x > 0", True)
PY
}

@test "a kernel that was stopped by a signal is resumed after missing its heartbeats" {
    at_once stopped_in_a_cell stopped_between_cells
}

@test "nothing of the server's environment reaches a cell but KERNEL_ENV_*" {
    drive -e SECRET=1 -e KERNEL_ENV_PLAIN=plain -e KERNEL_ENV_SPACE='a "b" $c' -e KERNEL_ENV_EMPTY= -e IPYBOX_LOG_LEVEL=DEBUG <<'PY'
        prints("import os; [os.environ[name] for name in ('PLAIN', 'SPACE', 'EMPTY')]", """['plain', 'a "b" $c', '']""")
        prints("[name for name in os.environ if name == 'SECRET' or name.startswith(('IPYBOX_L', 'KERNEL_ENV', 'PUID', 'HOSTNAME'))]", "[]")
        names = json.loads(runs("import json; print(json.dumps(sorted(os.environ)))").text)
        allowed = {
            "CLICOLOR", "EMPTY", "GIT_PAGER", "HOME", "IPYTHONDIR", "LANG", "LOGNAME", "NO_COLOR", "PAGER", "PATH",
            "PLAIN", "PYDEVD_USE_FRAME_EVAL", "PYTHONUNBUFFERED", "PYTHONUSERBASE", "SPACE", "TERM", "USER", "JPY_PARENT_PID", "LC_CTYPE",
            "MPLBACKEND", "IPYBOX_TOOL_SERVER", "IPYBOX_TOOL_SOCKET", "IPYBOX_TOOL_TOKEN",
        }
        equal(sorted(set(names) - allowed), [])
        prints("!echo ${SECRET-unset}", "unset")
PY
}

@test "KERNEL_ENV_* comes from .env too, read as python-dotenv does, and the environment wins" {
    workspace 1234:5678
    cat > "$BATS_TEST_TMPDIR/env" <<'ENV'
# a comment
KERNEL_ENV_PLAIN=plain # another
export KERNEL_ENV_EXPORTED = spaces are trimmed
KERNEL_ENV_DOUBLE="one\ntwo \"quoted\""
KERNEL_ENV_SINGLE='one\ntwo $PLAIN'
KERNEL_ENV_LINES="first
second"
BASE=base
KERNEL_ENV_FROM=${BASE}/${KERNEL_ENV_PLAIN}/${NOT_THERE:-default}
KERNEL_ENV_BOTH=file
KERNEL_ENV_EMPTY=
SECRET=1
PIP_INDEX_URL=http://127.0.0.1:1/
TZ=Asia/Tokyo
ENV
    as_root cp "$BATS_TEST_TMPDIR/env" "$workspace/.env"
    drive -v "$workspace:/app/workspace" -e KERNEL_ENV_BOTH=environment <<'PY'
        def value(name, expected):
            prints(f"import os; print(repr(os.environ.get('{name}')))", repr(expected))
        value("PLAIN", "plain")
        value("EXPORTED", "spaces are trimmed")
        value("DOUBLE", 'one\ntwo "quoted"')
        value("SINGLE", r"one\ntwo $PLAIN")
        value("LINES", "first\nsecond")
        value("FROM", "base/plain/default")
        value("BOTH", "environment")
        value("EMPTY", "")
        value("SECRET", None)
        value("BASE", None)
        value("TZ", None)
        wait_for_log(r"sets 2 that reach no program .*: PIP_INDEX_URL, TZ; give them to the container \(docker run -e")
PY
}

@test "the current directory is the workspace, and it is importable from" {
    workspace 1234:5678
    as_root bash -c "echo 'value = 5' > '$workspace/module_of_mine.py'"
    drive -v "$workspace:/app/workspace" <<'PY'
        prints("import os; os.getcwd()", "'/app/workspace'")
        prints("import module_of_mine; module_of_mine.value", 5)
        tool("reset")
        prints("import os; os.getcwd()", "'/app/workspace'")
PY
}

@test "what a thread prints after its cell comes with the next one, marked" {
    drive <<'PY'
        prints("""
            import os, threading, time
            done = threading.Event()
            def late():
                while not os.path.exists("/tmp/go"): time.sleep(0.02)
                print("late words", flush=True)
                done.set()
                open("/tmp/printed", "w").close()
            threading.Thread(target=late).start()
        """, "")
        inside("touch", "/tmp/go")
        wait_for("the thread", lambda: inside("ls", "/tmp/printed", check=False))
        answer = prints("done.is_set()", True)
        matches(answer.rest, r"\[ipybox\] Output that came after the cell before had ended:\nlate words")
        equal(prints("1", 1).rest, "")
PY
}

@test "a picture and a progress bar of a thread come with the next cell, and so does their last state" {
    drive <<'PY'
        runs(f"""
            import os, threading
            done = threading.Event()
            def late():
                while not os.path.exists("/tmp/go"): done.wait(0.02)
                for i in range(101): print(f"\\r{{i}}%", end="", flush=True)
                {SHOW_PNG}
                handle = display("first", display_id=True)
                handle.update("second")
                open("/tmp/shown", "w").close()
                done.set()
            threading.Thread(target=late).start()
        """)
        inside("touch", "/tmp/go")
        wait_for("the thread", lambda: inside("ls", "/tmp/shown", check=False))
        answer = prints("done.wait()", True)
        found = matches(answer.rest, r"had ended:\n100%\n'second'\n\nGenerated images:\n\n- \[\w{8}\]\((/app/workspace/images/\w{8}\.png)\)\n\Z")
        prints(f"open({found[1]!r}, 'rb').read(4)", r"b'\x89PNG'")
        equal(prints("1", 1).rest, "")
PY
}

@test "what a task and a child of a cell print after it comes with a later one" {
    drive <<'PY'
        prints("""
            import asyncio, os, subprocess
            async def late():
                while not os.path.exists("/tmp/go"): await asyncio.sleep(0.02)
                print("words of a task", flush=True)
                open("/tmp/printed", "w").close()
            task = asyncio.create_task(late())
        """, "")
        inside("touch", "/tmp/go")
        wait_for("the task", lambda: inside("ls", "/tmp/printed", check=False))
        answer = prints("task.done()", True)
        matches(answer.rest, r"\[ipybox\] Output that came after the cell before had ended:\nwords of a task")
        for start in ("child = subprocess.Popen(['sh', '-c', {!r}])", "_ = os.system('(' + {!r} + ') &')"):
            inside("rm", "/tmp/go")
            script = "while [ ! -e /tmp/go ]; do sleep 0.05; done; echo words of a child; echo and errors >&2"
            prints(start.format(script), "")
            inside("touch", "/tmp/go")
            # The capture takes its time: it may come while the next cell runs, and is that one's then.
            def told():
                answer = runs("pass")
                return answer.text + answer.rest
            both = ""
            while both.count("words of a child") + both.count("and errors") < 2:
                both += wait_for("its words", told)
            equal(prints("1", 1).rest, "")
PY
}

@test "children that a cell leaves running do not keep it from ending" {
    drive <<'PY'
        runs("import subprocess; p = subprocess.Popen(['sleep', '1000'])")
        tool("reset")
        prints("1", 1)
PY
}

@test "a fork that prints, a pool of processes, and logging reach the cell" {
    drive <<'PY'
        equal(runs("""
            import warnings; warnings.simplefilter("ignore")
            import os
            pid = os.fork()
            if pid == 0:
                print("from the child", flush=True)
                os._exit(0)
            _ = os.waitpid(pid, 0)
        """).text, "from the child")
        prints("import multiprocessing as m\nwith m.get_context('fork').Pool(2) as pool: print(pool.map(abs, [-1, -2]))", "[1, 2]")
        prints("import logging; logging.warning('logged')", "WARNING:root:logged")
        prints("import sys; print('to stderr', file=sys.stderr)", "to stderr")
PY
}

@test "a large program text and a large result come through" {
    drive <<'PY'
        prints("len('" + "x" * 2_000_000 + "')", 2_000_000)
        prints("'y' * 3_000_000", repr("y" * 3_000_000), max_output_chars=4_000_000)
PY
}

@test "cells that wait behind one that fails run all the same, and SystemExit ends a cell, not the kernel" {
    drive <<'PY'
        prints("x = 1", "")
        failing = start_cell("import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.02)\n1 / 0")
        behind = [start_cell(f"print(x + {n})") for n in range(5)]
        ask("ping")                             # all of them are there
        inside("touch", "/tmp/go")
        matches(finish(failing).text, "ZeroDivisionError")
        equal([finish(id).text for id in behind], ["1", "2", "3", "4", "5"])
        answer = fails("import sys; print('said'); sys.exit(3)", r"SystemExit: 3")
        matches(answer.rest, "said")
        prints("x", 1)
PY
}

@test "a reset waits for the cells before it, and what is asked for after it runs in the new kernel" {
    drive <<'PY'
        prints("x = 1", "")
        before = [start_cell("import os, time\nwhile not os.path.exists('/tmp/go'): time.sleep(0.02)\nprint('slow', x)"),
                  start_cell("print('quick', x)")]
        reset = start_tool("reset")
        after = start_cell("print('x' in globals())")
        ask("ping")                             # all of them are there
        inside("touch", "/tmp/go")
        equal([finish(id).text for id in before], ["slow 1", "quick 1"])
        equal(finish(reset).error, False)
        answer = finish(after)
        equal((answer.text, answer.rest), ("False", ""))
        nothing_else()
PY
}

# In scripts: waits for a spare kernel, which a reset takes at once, while the old one may still be there.
spare='
prints("1", 1)
known, top = set(), server().pid
def spare_waits():
    known.add(int(cell("import os; os.getpid()").text))         # of the session
    wait_for("a spare kernel", lambda: [p for p in kernels() if p.pid not in known and p.ppid != top and p.state != "Z"])
'

@test "what a kernel held (a port, a lock, a child's port) is free for the first cell after a reset or exit()" {
    { echo "$spare"; cat <<'PY'; } > "$BATS_TEST_TMPDIR/script"
HOLD = """
import fcntl, os, socket, subprocess, sys
lock = open('lock', 'w')
fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
port = socket.create_server(('127.0.0.1', 9001))
serve = "import socket; s = socket.create_server(('127.0.0.1', 9002)); print('up', flush=True); s.accept()"
child = subprocess.Popen([sys.executable, '-c', serve], stdout=subprocess.PIPE, text=True, start_new_session=True)
print('held', child.stdout.readline().strip() == 'up')"""
for _ in range(10):
    prints(HOLD, "held True")
    spare_waits()
    tool("reset")
for _ in range(3):
    last = cell(HOLD)
    matches(last.rest + last.text, "held True")
    spare_waits()
    cell("exit()")
PY
    drive < "$BATS_TEST_TMPDIR/script"
}

@test "a reset does not wait for the end of a kernel that holds nothing, and does for one that holds a file" {
    { echo "$spare"; cat <<'PY'; } > "$BATS_TEST_TMPDIR/script"
LINGER = "import os, threading, time; threading.Thread(target=time.sleep, args=(1000,)).start(); print(os.getpid())"
def lives_on():                         # looked for in the next cell
    pid = cell(LINGER).text             # until it is killed, 1.5 s after it was to end
    spare_waits()
    reset, look = start_tool("reset"), start_cell(f"import os; os.path.exists('/proc/{pid}')")
    finish(reset)
    return finish(look).text
wait_for("a cell beside the old kernel", lambda: lives_on() == "True")  # where the machine stood still it had gone
prints("kept = open('kept', 'w')", "")
equal(lives_on(), "False")
PY
    drive < "$BATS_TEST_TMPDIR/script"
}
