# What one kernel may use of the disk (docs/sandbox-budgets.md). Where it is to use less than that, a test waits for looks at it,
# and says nothing of a machine on which there were none.
load ../lib/helpers

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

@test "--kernel-disk: a kernel that takes more is ended, and the next one counts anew" {
    acts
    drive "${acts[@]}" -- --kernel-disk 100M <<'PY'
        over = "KernelDied: .*100 MiB disk space .--kernel-disk. was reached"
        for _ in range(2):
            runs("exec(open('/writes.py').read())")
            fails("kept = plainly(150, '/tmp'); time.sleep(600)", over)
            prints("open('/tmp/plain').close(); 1 + 1", 2)
            runs("import os; os.remove('/tmp/plain')")
            tool("reset"), tool("reset")        # also of the spare kernel, which was there before
PY
}

# bats test_tags=all
@test "--kernel-disk: a kernel that takes more is ended, however it writes; the next one counts anew" {
    acts
    drive "${acts[@]}" -- --kernel-disk 100M <<'PY'
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
            fails(f"kept = {act}(200); time.sleep(600)", over)     # 50 that were removed may be set off against it
            prints("print(2 + 2)", 4)
            clean()
        for place in ("/tmp", "/var/tmp", "/home/ipybox"):
            if cell(f"import os; print(os.access({place!r}, os.W_OK), end='')").text == "True":
                runs(writes)
                fails(f"kept = plainly(300, {place!r}); time.sleep(600)", over)     # 150 of the place before
                runs(f"import os; os.remove({place!r} + '/plain')")
        prints("open('hole', 'wb').truncate(1 << 40); import time; time.sleep(3); print('there')", "there")
        wait_for("their reaping", lambda: not box.zombies())
PY
}

# bats test_tags=all
@test "--kernel-disk with --sandbox" {
    acts
    drive "${acts[@]}" -- --sandbox --kernel-disk 100M <<'PY'
        runs("exec(open('/writes.py').read())")
        runs("kept = plainly(50); time.sleep(2.5)")
        fails("fill(open('more', 'wb'), 100); time.sleep(600)", "KernelDied: .*100 MiB disk space .--kernel-disk.")
        runs("import os; os.remove('plain'); os.remove('more')")
PY
}

# bats test_tags=all
@test "--kernel-disk: files in /dev/shm count, what is given back and what was there before do not" {
    acts
    drive "${acts[@]}" --shm-size 512m -- --kernel-disk 100M <<'PY'
        writes = "exec(open('/writes.py').read())"
        runs(writes)
        fails("kept = plainly(150, '/dev/shm'); time.sleep(600)", "KernelDied: .*--kernel-disk")
        runs("import time; time.sleep(3)")  # they are still there
        runs(writes)
        runs("os.remove('/dev/shm/plain'); time.sleep(4)")
        for _ in range(4):
            runs("plainly(60).close(); time.sleep(2.5); os.remove('plain'); time.sleep(0.5)")
        fails("plainly(150); time.sleep(600)", "KernelDied: .*--kernel-disk")
PY
}

# bats test_tags=all
@test "--kernel-disk: what others write while a kernel waits is not its own" {
    drive -- --kernel-disk 100M <<'PY'
        def wakes():
            shims = [p.pid for p in processes() if p.words[1:2] == ["shim"]]
            words = inside("sh", "-c", "cat " + " ".join(f"/proc/{pid}/status" for pid in shims))
            return dict(zip(shims, map(int, re.findall(r"\nvoluntary_ctxt_switches:\t(\d+)", words))))
        def looks():                            # a shim wakes up for nothing else while its kernel waits
            before = wakes()
            wait_for("looks", lambda: all(n >= before[pid] + 5 for pid, n in wakes().items()))
        runs("kept = 'kept'; import time; time.sleep(3)")
        for name in ("one", "two"):
            looks()
            inside("sh", "-c", f"head -c 150M /dev/zero > /app/workspace/{name}")
            looks()
            prints("print(kept); time.sleep(3)", "kept")
        fails("open('own', 'wb').write(bytes(150 << 20)); time.sleep(600)", "--kernel-disk")
PY
}

# bats test_tags=all
@test "--kernel-disk: the other sessions go on, also where they run" {
    acts
    start_box "${acts[@]}" -- serve --kernel-disk 100M
    wait_for is_well
    limit=$whole box exec -i "$id" python3 - <<'PY'
import json, time, urllib.request as u
writes = "exec(open('/writes.py').read())"

def call(path, body=None):
    request = u.Request("http://localhost:8080/v1/" + path, body and json.dumps(body).encode(),
                        {"Content-Type": "application/json"})
    return json.load(u.urlopen(request))

for name in ("a", "b"):
    call("sessions", {"id": name})
    call(f"sessions/{name}/executions", {"code": writes})
busy = call("sessions/b/executions", {"wait": False, "code": "while not os.path.exists('/tmp/go'): pass\nprint('busy')"})
print("A:", call("sessions/a/executions", {"code": "kept = plainly(1000); time.sleep(600)"}))
open("/tmp/go", "w").close()
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
