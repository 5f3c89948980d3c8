# Kernels at their worst: killed, stopped, starved, flooding and lying, and a server that goes on.
load lib/helpers

@test "a kernel killed while it is busy, while it starts, and while it is interrupted" {
    drive <<'PY'
        def settles(value):
            """Each cell whose kernel was killed, before it ran or after, is told so; soon one runs."""
            for _ in range(4):
                answer = cell(f"print({value})")
                if not answer.error: break
                matches(answer.text, "the kernel's process was killed by signal 9")
            equal(answer.text, str(value))
            return answer
        runs("1")
        busy = begin_cell("import time; print('up', flush=True); time.sleep(600)")
        for process in box.kernels(): box.kill(process)
        matches(finish(busy).text, "KernelDied: the kernel's process was killed by signal 9")
        matches(settles(2).rest, "new kernel")
        start_tool("reset")
        for process in box.kernels(): box.kill(process)
        settles(3)
        stubborn = start_cell("import time\nwhile True:\n  try: time.sleep(600)\n"
                              "  except BaseException: open('/tmp/interrupted', 'w').close()", timeout=1)
        wait_for("its interrupt", lambda: inside("ls", "/tmp/interrupted", check=False))
        for process in box.kernels(): box.kill(process)
        matches(finish(stubborn).text, "TimeoutError|KernelDied")
        settles(4)
        wait_for("their reaping", lambda: not box.zombies())
PY
}

@test "a kernel that ignores SIGINT is replaced after the grace, and the answer says so" {
    drive -e IPYBOX_INTERRUPT_GRACE=1 <<'PY'
        code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
        fails(code, "ignored the interrupt, so its kernel was ended", timeout=4)
        prints("1", 1)
PY
}

@test "a fork bomb ends with its cell, and the next cell runs" {
    drive --pids-limit 300 -e IPYBOX_INTERRUPT_GRACE=1 <<'PY'
        fails("import os, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
              "while True:\n  try: os.fork()\n  except OSError: pass",
              "ignored the interrupt|KernelDied", timeout=2)
        def few():
            try: return len(box.processes()) < 20
            except Exception: return False      # the bomb has left no room for who looks
        wait_for("an end of the bomb", few)
        wait_for("a kernel", lambda: cell("1").text == "1")
        wait_for("their reaping", lambda: not box.zombies())
PY
}

# The children go on where they are, each in a copy of the kernel, and so does the bomb in them.
@test "a fork bomb that takes no precautions ends with an interrupt or with the budget, and the next cell runs" {
    for budget in "" "--kernel-tasks 100"; do
        # shellcheck disable=SC2086  # words
        drive --pids-limit 300 -- $budget <<'PY'
            answer = cell("import os\nwhile True: os.fork()", timeout=5)
            equal(answer.error, True)
            matches(answer.text, "BlockingIOError|KeyboardInterrupt|TimeoutError|KernelDied")
            def alive():
                try: return cell("6 * 7").text == "42"
                except Exception: return False
            wait_for("a cell that runs", alive)
            tool("reset")
            wait_for("an end of the bomb", lambda: len(box.processes()) < 20)
            prints("6 * 7", 42)
            wait_for("their reaping", lambda: not box.zombies())
PY
    done
}

@test "a template that was killed is started anew, and new kernels are forked by the new one" {
    drive <<'PY'
        def template():
            server = box.server().pid
            words = ["-I", "-m", "ipybox_kernel.template"]
            return next((p for p in processes() if p.words[1:4] == words and p.ppid == server), None)
        def is_below(pid, top):
            parents = {p.pid: p.ppid for p in processes()}
            while pid in parents and pid != top: pid = parents[pid]
            return pid == top
        def kernel(): return int(runs("import os; print(os.getpid())").text)
        first = wait_for("the template", template)
        wait_for("a kernel of it", lambda: tool("reset") and is_below(kernel(), first.pid))
        box.kill(first)
        wait_for_log("the kernel template .* it is tried again in")
        def another():
            found = template()
            return found if found and found.pid != first.pid else None
        second = wait_for("another template", another)
        wait_for("a kernel of that one", lambda: tool("reset") and is_below(kernel(), second.pid))
        prints("1", 1)
PY
}

@test "ten thousand threads end with the timeout" {
    drive --pids-limit 20000 -e IPYBOX_INTERRUPT_GRACE=2 <<'PY'
        answer = cell("import threading, time\nfor i in range(10000):\n"
                      "    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                      "time.sleep(600)", timeout=8)
        equal(answer.error, True)
        matches(answer.text, "TimeoutError: the cell ran longer than 8 s")  # and not that a thread could not be started
        prints("1", 1)
PY
}

@test "os._exit in an import, in a thread and at the end of a cell" {
    drive <<'PY'
        runs("open('bad.py', 'w').write('import os; os._exit(7)')")
        fails("import bad", "KernelDied: the kernel's process exited with status 7")
        fails("import threading, os, time; threading.Timer(0.1, os._exit, (8,)).start(); time.sleep(600)", "exited with status 8")
        prints("1", 1)
        matches(fails("import os; print('said', flush=True); os._exit(9)", "status 9").rest, "said")
        prints("2", 2)
PY
}

@test "a file of the user's that ends every kernel at its start is named, and without it kernels start" {
    local how
    for how in IPYBOX_LOG_LEVEL=INFO IPYBOX_NO_KERNEL_TEMPLATE=1; do
        drive -e "$how" <<'PY'
place = runs("import site, os; p = site.getusersitepackages(); os.makedirs(p, exist_ok=True); print(p)").text.strip()
for name, line, says in (
    ("end.pth", "import os; os.kill(os.getpid(), 9)", "killed by signal 9"),
    ("end.pth", "import os; os.execv('/bin/false', ['false'])", "exited with status 1"),
    ("usercustomize.py", "import os; os.abort()", "killed by signal 6"),
):
    runs(f"open('{place}/{name}', 'w').write({line + chr(10)!r})")
    died = str(tool("reset").texts)
    matches(died, says + ".* while it loaded " + f"{place}/{name}".replace(".", "\\.") + "; remove that file")
    matches(str(tool("execute_ipython_cell", code="1").texts), "while it loaded")
    inside("rm", f"{place}/{name}")
    tool("reset")
    prints("6 * 7", 42)
PY
    done
}

@test "what users have is loaded without the template's socket" {
    drive <<'PY'
runs('''import os, site
place = site.getusersitepackages()
os.makedirs(place, exist_ok=True)
code = """import os, socket, stat, sys
def maker(fd):
    s = socket.socket(fileno=os.dup(fd))
    if s.type == socket.SOCK_SEQPACKET:
        return int.from_bytes(s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], "little")
sockets = [n for n in range(1024) if os.path.exists(f"/proc/self/fd/{n}") and stat.S_ISSOCK(os.stat(n).st_mode)]
sys.held = [maker(n) for n in sockets if maker(n) is not None]
"""
open(f"{place}/look.py", "w").write(code)
open(f"{place}/look.pth", "w").write("import look\\n")''')
tool("reset")
# The kernel's line to its shim is the one pair of this kind; the template's was made by the server.
prints("import os, sys; sys.held == [os.getppid()]", True)
PY
}

@test "os._exit in what is loaded at a kernel's start costs that file and no kernel" {
    local how
    for how in IPYBOX_LOG_LEVEL=INFO IPYBOX_NO_KERNEL_TEMPLATE=1; do
        drive -e "$how" <<'PY'
runs("""import os, site
place = site.getusersitepackages()
os.makedirs(place, exist_ok=True)
for name in "bad.pth", "usercustomize.py":
    open(f"{place}/{name}", "w").write("import os; os._exit(7)\\n")
open(f"{place}/good.pth", "w").write("import sys; sys.good = 42\\n")""")
tool("reset")
prints("import sys; sys.good", 42)
died = str(fails("import os; os._exit(8)", "exited with status 8").texts)
matches(died, r"/bad\.pth: os\._exit\(7\)")
matches(died, r"usercustomize: os\._exit\(7\)")
PY
    done
}

# bats test_tags=all
@test "200 MB in one message arrive, and one that is too large is an error in the cell" {
    drive <<'PY'
        show = "from IPython.display import display\ndisplay({{'text/plain': 'x' * {}}}, raw=True)"
        answer = cell(show.format(200 * 1000 * 1000))
        equal(answer.error, False)
        matches(answer.text, "200000000 characters")
        fails(show.format(260 << 20), "ValueError: 2726\\d+ bytes are too much for one message")
        prints("1", 1)
PY
}

@test "binary buffers, forged, unsigned and mangled messages change nothing" {
    drive <<'PY'
        runs("kernel = get_ipython().kernel; socket, session = kernel.iopub_socket, kernel.session\n"
             "message = session.msg('stream', {'name': 'stdout', 'text': 'forged'}, parent=kernel.get_parent('shell'))\n"
             "signed = session.serialize(message)\n"
             "def raw(*parts): kernel.iopub_thread.send_multipart(list(parts))")
        runs("session.send(socket, 'comm_msg', {'comm_id': 'x', 'data': {}}, buffers=[bytes(range(256))] * 100, ident=b'x')")
        answer = cell("raw(b'x'); raw(b'x', b'<IDS|MSG>'); raw(b'x', b'<IDS|MSG>', b'0' * 64, *signed[2:])\n"
                      "raw(b'x', b'<IDS|MSG>', b'', *signed[2:]); raw(*[bytes([255] * 10)] * 20); raw(*[b''] * 2000)\n"
                      "print('real')")
        equal((answer.text, answer.error), ("real", False))
        prints("1", 1)
PY
}

@test "a full disk is said, and the server goes on" {
    drive --tmpfs /app/workspace:size=2m,mode=1777 <<'PY'
        answer = cell("print('x' * 20_000_000)")
        matches(answer.text, "Output truncated")
        matches(answer.text, "No space left on device")
        runs("import glob, os\nfor f in glob.glob('outputs/*'): os.remove(f)")
        prints("1", 1)
PY
}

# resets COUNT - and the server is as it was after the first 50.
resets()
{
    COUNT=$1 drive <<'PY'
        def state():
            server = box.server()
            look = ("import os,sys; p='/proc/%d' % int(sys.argv[1]); print(len(os.listdir(p+'/fd')),"
                    " [l.split()[1] for l in open(p+'/status') if l.startswith('VmRSS')][0],"
                    " sum(len(f) for _, _, f in os.walk('/run/ipybox')))")
            return [int(n) for n in box.inside("python3", "-c", look, str(server.pid)).split()]
        def reset(times):
            for _ in range(times): equal(tool("reset").error, False)
            prints("1", 1)
        def settled():                          # a template, the session's kernel and a spare one, each with what is above it
            wait_for("three kernels", lambda: len(kernels()) == 3)
            wait_for("their reaping", lambda: not zombies())
            return state()
        reset(50)
        before, there = settled(), len(processes())
        reset(int(os.environ["COUNT"]))
        after = settled()
        note(f"descriptors, KiB, files: {before} -> {after}")
        below(after[0], before[0] + 5)
        below(after[2], before[2] + 5)
        below(len(processes()), there + 3)
        if os.environ.get("GROWTH"): below(after[1], before[1] + int(os.environ["GROWTH"]))
PY
}

@test "a hundred resets leave no process, descriptor or file behind" {
    resets 100
}

# bats test_tags=all
@test "a thousand resets leave no process, descriptor or file behind" {
    resets 950
}

# bats test_tags=measure
@test "after a thousand resets the server has at most 3 MiB more" {
    GROWTH=3072 resets 950
}
