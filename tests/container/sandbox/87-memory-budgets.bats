# What one kernel may use of memory and of processors (docs/sandbox-budgets.md).
load ../lib/helpers

# bats test_tags=all
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
        fails("more = hold(os.memfd_create('y'), 300); time.sleep(600)", over)
        runs(hold)
        runs("fd = hold(os.open('/dev/shm/x', os.O_RDWR | os.O_CREAT), 200); time.sleep(1)")
        fails("hold(fd, 300); time.sleep(600)", over)
        runs("import os; os.remove('/dev/shm/x')")
        runs(hold)
        fails("ctypes.CDLL(None).prctl(4, 0); fd = hold(os.memfd_create('y'), 500); time.sleep(600)", over)
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

# bats test_tags=all
@test "--kernel-memory: what no process shows counts: sockets, page tables, tmpfs, memfds that nobody has open" {
    drive --shm-size 1g --tmpfs /tmp:size=1g,mode=1777 \
        -v "$here/memory_doors.py:/doors.py:ro" -- --kernel-memory 256M <<'PY'
        over = "KernelDied: .*256 MiB memory .--kernel-memory. was reached"
        ways = ("unix_sockets", "senders_that_are_closed", "sockets_in_flight", "tcp_sockets", "page_tables", "closed_files",
                "closed_files_in_tmp", "memfds_in_flight", "memfds_of_one_page", "shared_and_forgotten")
        clean = "import glob, os\nfor name in glob.glob('/dev/shm/door-*') + glob.glob('/tmp/door-*'): os.remove(name)"
        for way in ways:
            runs("exec(open('/doors.py').read())")
            runs(f"{way}(64); time.sleep(0.6)")
            fails(f"{way}(400); time.sleep(600)", over)
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

# bats test_tags=alone,measure
@test "--kernel-memory: ten times as much, as fast as can be: killed before all of it is there" {
    drive --tmpfs /tmp:mode=1777 -v "$here/memory_doors.py:/doors.py:ro" -- \
        --kernel-memory 256M <<'PY'
        bar = {"alone": 512, "together": 1024}      # one process; ten of them, which a busy machine lets run on
        most = dict.fromkeys(bar, 0)
        for i in range(4):
            for form in most:
                runs("exec(open('/doors.py').read()); open('/tmp/slots', 'wb').write(bytes(4096)) and None")
                fails(f"{form}(WAYS[{i} % len(WAYS)], 2560); time.sleep(600)", "KernelDied: .*--kernel-memory")
                text = cell("import struct; print(sum(struct.unpack('1024i', open('/tmp/slots', 'rb').read())))").text
                below(int(text), bar[form])
                most[form] = max(most[form], int(text))
        note(f"at most {most} MiB of 256 were there")
PY
}

@test "--mcp-memory and its like: the call names the limit, the next one starts the server anew" {
    drive -v "$here/tool_server.py:/tools/tool_server.py:ro" -- --mcp-memory 200M --mcp-open-files 100 \
        --mcp-cpu 2 --mcp-tasks 50 <<'PY'
        server = (
            "import sys, time; sys.path.insert(0, '/tools'); import tool_server as t\n"
            "def act(arguments):\n"
            "    what = arguments['text']\n"
            "    if what == 'large': kept = bytearray(600 << 20); time.sleep(600)\n"
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
        fails("say('run')", r"the limit of 2 s processor time .--mcp-cpu. was reached")
        prints("say('small')", "small")
        prints("len(bytearray(300 << 20))", 300 << 20)  # the kernel's memory is its own
PY
}

# bats test_tags=alone,measure
@test "in a container with a memory limit allocations end the kernel before Linux ends something" {
    drive -m 512m --memory-swap 512m <<'PY'
        ways = ("b = b'x' * (1 << 31)",
                "b = []\nwhile True: b.append(bytearray(b'x') * (64 << 20))",
                "import os\nfor _ in range(3): os.fork()\nb = b'x' * (1 << 30)",
                "b = bytearray(1 << 30); b[::4096] = b'x' * (1 << 18)")
        by_budget = 0
        for i in range(40):
            answer = fails(ways[i % len(ways)] + "\nimport time; time.sleep(600)", "KernelDied: .*memory")
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
