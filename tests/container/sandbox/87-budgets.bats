# What one kernel may use of the disk and of memory (docs/sandbox-budgets.md).
load ../lib/helpers

setup_file()
{
    export BATS_TEST_TIMEOUT=450
}

# Python that writes `mib` in different ways; each returns what keeps the space.
writes='
import ctypes, mmap, os, signal, subprocess, tempfile, time
MIB = 1 << 20

def fill(file, mib):
    for _ in range(mib):
        file.write(bytes(MIB))
    file.flush()
    return file

def plainly(mib, place="."):
    return fill(open(f"{place}/plain", "wb"), mib)

def in_small_files(mib):
    os.makedirs("small", exist_ok=True)
    for i in range(mib * 256):
        open(f"small/{i}", "w").close()

def removed(mib):
    return fill(tempfile.TemporaryFile(dir="/tmp"), mib)

def by_a_child_that_nobody_waits_for(mib):
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if os.fork() == 0:
        plainly(mib, "/tmp")
        os._exit(0)

def by_a_shell(mib):
    subprocess.run(["head", "-c", f"{mib}M", "/dev/zero"], stdout=open("shell", "wb"), check=True)

def through_memory(mib):
    with open("mapped", "wb") as file:
        file.truncate(mib * MIB)
    with open("mapped", "r+b") as file, mmap.mmap(file.fileno(), 0) as at:
        for i in range(0, mib * MIB, 4096):
            at[i] = 1

def reserved(mib):
    with open("reserved", "wb") as file:
        os.posix_fallocate(file.fileno(), 0, mib * MIB)
'

# Sets acts: options of docker run, with which code finds these under /writes.py.
acts()
{
    echo "$writes" > "$BATS_TEST_TMPDIR/writes.py"
    chmod 0644 "$BATS_TEST_TMPDIR/writes.py"
    acts=(-v "$BATS_TEST_TMPDIR/writes.py:/writes.py:ro")
}

@test "--kernel-disk: a kernel that takes more is ended, however it writes; the next one counts anew" {
    acts
    drive_timeout=400 drive "${acts[@]}" -- --kernel-disk 100M <<'PY'
        writes = "exec(open('/writes.py').read())"
        over = "KernelDied: .*100 MiB disk space .--kernel-disk. was reached"
        def clean():
            runs("import os, shutil, glob\n"
                 "for name in glob.glob('*') + glob.glob('/tmp/plain'):\n"
                 "    shutil.rmtree(name) if os.path.isdir(name) else os.remove(name)")
            tool("reset")
        for act in ("plainly", "removed", "by_a_shell", "through_memory", "reserved", "in_small_files",
                    "by_a_child_that_nobody_waits_for"):
            runs(writes)
            runs(f"kept = {act}(50); time.sleep(2.5)")
            prints("print(1 + 1)", 2)
            clean()
            runs(writes)
            runs("time.sleep(4)")  # what was removed is not set off against what comes
            fails(f"kept = {act}(150); time.sleep(60)", over)
            prints("print(2 + 2)", 4)
            clean()
        for place in ("/tmp", "/var/tmp", "/home/ipybox"):
            if cell(f"import os; print(os.access({place!r}, os.W_OK), end='')").text == "True":
                runs(writes)
                runs("time.sleep(4)")  # what was removed is not set off against what comes
                fails(f"kept = plainly(150, {place!r}); time.sleep(60)", over)
                runs(f"import os; os.remove({place!r} + '/plain')")
        prints("open('hole', 'wb').truncate(1 << 40); import time; time.sleep(3); print('there')", "there")
        wait_for("their reaping", lambda: not box.zombies())
PY
}

@test "--kernel-disk with --sandbox" {
    acts
    drive "${acts[@]}" -- --sandbox --kernel-disk 100M <<'PY'
        runs("exec(open('/writes.py').read())")
        runs("kept = plainly(50); time.sleep(2.5)")
        fails("fill(open('more', 'wb'), 100); time.sleep(60)", "KernelDied: .*100 MiB disk space .--kernel-disk.")
        runs("import os; os.remove('plain'); os.remove('more')")
PY
}

@test "--kernel-disk: files in /dev/shm count, what is given back and what was there before do not" {
    acts
    drive "${acts[@]}" --shm-size 512m -- --kernel-disk 100M <<'PY'
        writes = "exec(open('/writes.py').read())"
        runs(writes)
        fails("kept = plainly(150, '/dev/shm'); time.sleep(60)", "KernelDied: .*--kernel-disk")
        runs("import time; time.sleep(3)")  # they are still there
        runs(writes)
        runs("os.remove('/dev/shm/plain'); time.sleep(4)")
        for _ in range(4):
            runs("plainly(60).close(); time.sleep(2.5); os.remove('plain'); time.sleep(0.5)")
        fails("plainly(150); time.sleep(60)", "KernelDied: .*--kernel-disk")
PY
}

@test "--kernel-disk: what others write while a kernel waits is not its own" {
    drive -- --kernel-disk 100M <<'PY'
        runs("kept = 'kept'; import time; time.sleep(3)")
        for name in ("one", "two"):
            time.sleep(4)
            inside("sh", "-c", f"head -c 150M /dev/zero > /app/workspace/{name}")
            time.sleep(4)
            prints("print(kept); time.sleep(3)", "kept")
        fails("open('own', 'wb').write(bytes(150 << 20)); time.sleep(60)", "--kernel-disk")
PY
}

@test "--kernel-disk: the other sessions go on, also where they run" {
    acts
    start_box "${acts[@]}" -- serve --kernel-disk 100M
    wait_for 60 is_well
    box_timeout=170 box exec -i "$id" python3 - <<'PY'
import json, time, urllib.request as u
writes = "exec(open('/writes.py').read())"

def call(path, body=None):
    request = u.Request("http://localhost:8080/v1/" + path, body and json.dumps(body).encode(),
                        {"Content-Type": "application/json"})
    return json.load(u.urlopen(request, timeout=90))

for name in ("a", "b"):
    call("sessions", {"id": name})
    call(f"sessions/{name}/executions", {"code": writes})
busy = call("sessions/b/executions", {"wait": False, "code": "end = time.time() + 12\nwhile time.time() < end: pass\nprint('busy')"})
print("A:", call("sessions/a/executions", {"code": "kept = plainly(1000); time.sleep(60)"}))
while (result := call(f"sessions/b/executions/{busy['id']}"))["status"] in ("queued", "running"):
    time.sleep(0.1)
print("B:", result)
print("A:", call("sessions/a/executions", {"code": "print('new')"}))
PY
    assert_equal "$status" 0
    assert_match "$output" "A: .*'lost'.*--kernel-disk.*A: .*new"
    assert_match "$output" "B: .*'ok'.*busy"
    box rm -f "$id"
}

@test "--kernel-memory: memory that nobody maps counts, once" {
    drive --shm-size 1g -- --kernel-memory 400M <<'PY'
        over = "KernelDied: .*400 MiB memory .--kernel-memory. was reached"
        hold = """
            import ctypes, mmap, os, threading, time
            def hold(fd, mib):
                for _ in range(mib):
                    os.write(fd, bytes(1 << 20))
                return fd
            """
        runs(hold)
        runs("fd = hold(os.memfd_create('x'), 200); again = os.dup(fd); at = mmap.mmap(fd, 200 << 20)\n"
             "sum(at[::4096]); child = os.fork() or time.sleep(60); time.sleep(1); os.kill(child, 9)")
        fails("more = hold(os.memfd_create('y'), 300); time.sleep(60)", over)
        runs(hold)
        runs("fd = hold(os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT), 200); time.sleep(1)")
        fails("hold(fd, 300); time.sleep(60)", over)
        runs("import os; os.remove('/dev/shm/x')")
        runs(hold)
        fails("ctypes.CDLL(None).prctl(4, 0); fd = hold(os.memfd_create('y'), 500); time.sleep(60)", over)
        runs(hold)
        cell("""
            if os.fork() == 0:
                def stay():
                    fd = hold(os.memfd_create('z'), 500)
                    time.sleep(600)
                threading.Thread(target=stay).start()
                libc = ctypes.CDLL(None)
                libc.syscall(60 if os.uname().machine == 'x86_64' else 93, 0)  # of this thread alone
            time.sleep(0.1)""")
        wait_for("the new kernel", lambda: "KernelDied" in cell("time.sleep(1)").text or cell("hold").error)
        prints("print(6 * 7)", 42)
        wait_for("their reaping", lambda: not box.zombies())
PY
}

@test "--kernel-memory: what no process shows counts: sockets, page tables, tmpfs, memfds that nobody has open" {
    drive_timeout=200 drive --shm-size 1g --tmpfs /tmp:size=1g,mode=1777 \
        -v "$here/memory_doors.py:/doors.py:ro" -- --kernel-memory 256M <<'PY'
        over = "KernelDied: .*256 MiB memory .--kernel-memory. was reached"
        ways = ("unix_sockets", "senders_that_are_closed", "sockets_in_flight", "tcp_sockets", "page_tables", "closed_files",
                "closed_files_in_tmp", "memfds_in_flight", "memfds_of_one_page", "shared_and_forgotten")
        clean = "import glob, os\nfor name in glob.glob('/dev/shm/door-*') + glob.glob('/tmp/door-*'): os.remove(name)"
        for way in ways:
            runs("exec(open('/doors.py').read())")
            runs(f"{way}(64); time.sleep(0.6)")
            fails(f"{way}(400); time.sleep(60)", over)
            runs(clean)
        # What others leave there is not its own, though it wakes up now and then while they write. The one that
        # writes has begun before: where processes begin, nobody knows whose has written and ended in between.
        other = "import os, time\nopen('/tmp/ready', 'w').close()\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\n" \
            "file = open('/dev/shm/others', 'wb')\nfor _ in range(400): file.write(bytes(1 << 20))\n" \
            "open('/tmp/wrote', 'w').close()"
        inside("sh", "-c", f'python3 -I -c "{other}" > /dev/null 2>&1 &')
        runs("import os, time\nwhile not os.path.exists('/tmp/ready'): time.sleep(0.02)")
        runs("open('/tmp/go', 'w').close()\nwhile not os.path.exists('/tmp/wrote'): time.sleep(0.02)\ntime.sleep(1)")
        prints("print('there')", "there")
PY
}

@test "--kernel-memory: ten times as much, as fast as can be: killed before all of it is there" {
    drive_timeout=200 drive --tmpfs /tmp:mode=1777 -v "$here/memory_doors.py:/doors.py:ro" -- \
        --kernel-memory 256M <<'PY'
        bar = {"alone": 512, "together": 1024}      # one process; ten of them, which a busy machine lets run on
        most = dict.fromkeys(bar, 0)
        for i in range(4):
            for form in most:
                runs("exec(open('/doors.py').read()); open('/tmp/slots', 'wb').write(bytes(4096)) and None")
                fails(f"{form}(WAYS[{i} % len(WAYS)], 2560); time.sleep(60)", "KernelDied: .*--kernel-memory")
                text = cell("import struct; print(sum(struct.unpack('1024i', open('/tmp/slots', 'rb').read())))").text
                below(int(text), bar[form])
                most[form] = max(most[form], int(text))
        note(f"at most {most} MiB of 256 were there")
PY
}

@test "--mcp-memory and its like: the call names the limit, the next one starts the server anew" {
    drive -v "$here/tool_server.py:/tools/tool_server.py:ro" -- --mcp-memory 200M --mcp-open-files 100 \
        --mcp-cpu 5 --mcp-tasks 50 <<'PY'
        server = (
            "import sys, time; sys.path.insert(0, '/tools'); import tool_server as t\n"
            "def act(arguments):\n"
            "    what = arguments['text']\n"
            "    if what == 'large': kept = bytearray(600 << 20); time.sleep(60)\n"
            "    if what == 'small': kept = bytearray(50 << 20)\n"
            "    if what == 'files': kept = [open('/dev/null') for _ in range(200)]\n"
            "    while what == 'run': pass\n"
            "    if what == 'tasks': import subprocess; kept = [subprocess.Popen(['sleep', '9']) for _ in range(80)]\n"
            "    return t.text(what)\n"
            "def told(arguments):\n"
            "    try: return act(arguments)\n"
            "    except OSError as e: return t.text(str(e), isError=True)\n"
            "t.CALLS['echo'] = told; t.main(sys.argv)")
        registers("demo", command="python3", args=["-c", server])
        runs("from mcptools.demo import echo, pid\nsay = lambda text: print(echo.run(echo.Params(text=text)))")
        prints("say('small')", "small")
        fails("say('large')", r"the server demo was killed: the limit of 200 MiB memory .--mcp-memory. was reached")
        prints("say('small')", "small")
        fails("say('files')", "Too many open files")
        prints("say('small')", "small")
        fails("say('tasks')", "Resource temporarily unavailable")
        wait_for("the log", lambda: "the limit of 50 tasks (--mcp-tasks) was reached" in box.log())
        fails("say('run')", r"the limit of 5 s processor time .--mcp-cpu. was reached", seconds=110, timeout=100)
        prints("say('small')", "small")
        prints("len(bytearray(300 << 20))", 300 << 20)  # the kernel's memory is its own
PY
}

@test "in a container with a memory limit allocations end the kernel before Linux ends something" {
    drive -m 512m --memory-swap 512m <<'PY'
        ways = ("b = b'x' * (1 << 31)",
                "b = []\nwhile True: b.append(bytearray(b'x') * (64 << 20))",
                "import os\nfor _ in range(3): os.fork()\nb = b'x' * (1 << 30)",
                "b = bytearray(1 << 30); b[::4096] = b'x' * (1 << 18)")
        by_budget = 0
        for i in range(40):
            answer = fails(ways[i % len(ways)] + "\nimport time; time.sleep(60)", "KernelDied: .*memory")
            by_budget += "--kernel-memory" in answer.text or "the container's memory" in answer.text
        note(f"{by_budget} of 40 by the budget")
        equal(by_budget >= 36, True)          # what writes whole huge pages may be faster than a look
        prints("1", 1)
PY
}

@test "a CPU quota is the number of processors that libraries see, and KERNEL_ENV_ overrules it" {
    drive --cpus 1 -e KERNEL_ENV_OMP_NUM_THREADS=3 <<'PY'
        prints("import os; os.cpu_count(), os.environ['OPENBLAS_NUM_THREADS'], os.environ['OMP_NUM_THREADS']", "(1, '1', '3')")
PY
    drive <<'PY'
        prints("import os; os.cpu_count() == os.sysconf('SC_NPROCESSORS_ONLN'), os.environ.get('OMP_NUM_THREADS')", "(True, None)")
PY
}
