# Kernels and commands in a sandbox, and the walls that are there without one (docs/sandbox.md).
load ../lib/helpers

tools=(-v "$here/tool_server.py:/tools/tool_server.py:ro"
       -v "$here/file_server.py:/tools/file_server.py:ro")

# settings TEXT - writes a file of settings, for -v "$settings:/settings.json:ro"; sets settings.
settings()
{
    settings=$BATS_TEST_TMPDIR/settings-$RANDOM.json
    echo "$1" > "$settings"
    chmod 0644 "$settings"
}

# Python that puts a seccomp listener above itself, as another sandbox would, and executes its words.
listener='
import ctypes, os, platform, struct, sys
allow = struct.pack("=HBBI", 6, 0, 0, 0x7FFF0000)
class Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_char_p))
libc = ctypes.CDLL(None, use_errno=True)
number = 317 if platform.machine() == "x86_64" else 277
if libc.prctl(38, 1, 0, 0, 0) or (fd := libc.syscall(number, 1, 8, ctypes.byref(Program(1, allow)))) < 0:
    sys.exit("no listener")
os.set_inheritable(fd, True)  # it is one as long as somebody has it
os.execvp(sys.argv[1], sys.argv[1:])
'

inside='{"network": {"allowedDomains": [], "deniedDomains": []},
         "filesystem": {"denyRead": [".env"], "allowWrite": ["."], "denyWrite": []}}'

@test "--sandbox: the workspace and the tools, but neither .env nor the network nor other directories" {
    workspace 1000 0755
    echo SECRET=1 | as_root tee "$workspace/.env" > /dev/null
    drive "${tools[@]}" -v "$workspace:/app/workspace" -- --sandbox <<'PY'
        prints("open('note.txt', 'w').write('x'); print(open('note.txt').read())", "x")
        prints("import os; os.makedirs('a/b'); os.rename('note.txt', 'a/b/c'); print(os.listdir('a/b'))", "['c']")
        fails("open('.env').read()", r"PermissionError: \[Errno 1\] Operation not permitted: '.env'")
        fails("import os; os.link('.env', 'hard')", "Operation not permitted")
        fails("import os; os.rename('.env', 'moved')", "Operation not permitted")
        fails("open('/home/ipybox/x', 'w')", "Operation not permitted")
        fails("import requests; requests.get('https://example.org')", "Failed to resolve 'example.org'")
        fails("import urllib.request as u; u.urlopen('http://93.184.215.14')", "URLError")
        prints("!cat .env 2>&1; touch /tmp/x 2>&1", "cat: .env: Operation not permitted\n"
               "touch: cannot touch '/tmp/x': Operation not permitted")
        registers("demo")
        prints("from mcptools.demo import echo; print(echo.run(echo.Params(text='through the socket')))",
               "through the socket")
        wait_for("the refusals", lambda: box.log().count("sandbox: refused pid=") > 3)
        matches(box.log(), r"sandbox: refused pid=\d+ call=open(at)? path=/app/workspace/.env")
        matches(box.log(), "sandbox: level full")
PY
}

@test "every way to a kernel leads into the sandbox" {
    for way in "--spare-kernels 2" "--spare-kernels 0" --no-kernel-template; do
        # shellcheck disable=SC2086  # words
        drive -- --sandbox $way <<'PY'
            def check():
                prints("import os; print(os.environ['SANDBOX_RUNTIME'], os.environ['TMPDIR'])", "1 /tmp/claude")
                fails("open('.env', 'w')", "Operation not permitted")
            check()
            tool("reset")
            check()
            matches(cell("import os; os._exit(3)").text, "KernelDied")
            check()
            prints("import tempfile; print(tempfile.TemporaryFile('w').write('x'))", 1)
            answer = cell("import time; print('up', flush=True); time.sleep(60)", timeout=1)
            equal(answer.error, True)
            check()
            wait_for("their reaping", lambda: not box.zombies())
PY
    done
}

@test "the process that runs approved commands cannot be traced by the kernel, sandboxed or not" {
    for way in "" --sandbox; do
        # shellcheck disable=SC2086  # a word or none
        drive -- --approve-shell-cmds --require-shell-escape $way <<'PY'
            prints("""
                import ctypes, os, warnings
                warnings.simplefilter('ignore')
                libc = ctypes.CDLL(None, use_errno=True)
                own = os.fork() or os.read(os.pipe()[0], 1)
                print(libc.ptrace(0x4206, own, 0, 0), end=' ')
                names = {}
                while 'ipybox-shell' not in names:  # it gives itself its name
                    for pid in filter(str.isdigit, os.listdir('/proc')):
                        try:
                            name = open(f'/proc/{pid}/comm').read().strip()
                        except OSError:
                            continue
                        if name == 'ipybox-shell' or int(pid) == os.getpid():
                            names[name] = libc.ptrace(0x4206, int(pid), 0, 0), os.access(f'/proc/{pid}/mem', os.W_OK)
                print(len(names), names['ipybox-shell'][0])""", "0 2 -1")
PY
    done
}

@test "settings of one's own: what they name holds, and what they do not say is not guessed" {
    settings '{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem":
               {"denyRead": ["**/*.key"], "allowWrite": ["out", "~/kept"], "denyWrite": ["out/fixed"]}}'
    drive -v "$settings:/settings.json:ro" -- --sandbox --sandbox-config /settings.json <<'PY'
        runs("import os; os.mkdir('out'); os.makedirs('/home/ipybox/kept/x')")
        fails("open('x', 'w')", "Operation not permitted")
        prints("print(open('out/x', 'w').write('abc'))", 3)
        fails("open('out/fixed', 'w')", "Operation not permitted")
        fails("open('out/a.key', 'w')", "Operation not permitted")
PY
}

@test "settings that cannot be used end the start, with the reason" {
    for text in '{"filesystem": {"allowWrites": []}}' '{' '{"network": {"allowedDomains": ["http://x"]}}'; do
        settings "$text"
        run_box -v "$settings:/settings.json:ro" -- --sandbox --sandbox-config /settings.json </dev/null
        assert_equal "$status" 2
        assert_match "$errors" "/settings.json"
    done
    assert_match "$errors" "allowedDomains"
    run_box -- --sandbox --sandbox-config /etc/shadow </dev/null
    assert_equal "$status" 2
    assert_match "$errors" "/etc/shadow.*Permission denied"
}

@test "without --sandbox the walls keep a kernel from the server and from other kernels" {
    drive "${tools[@]}" <<'PY'
        fails("import os; os.kill(os.getppid(), 9)", "PermissionError.*Operation not permitted")
        fails("import os; os.kill(1, 0)", "Operation not permitted")
        prints("""
            import os
            def readable(pid):
                try:
                    return bool(open(f'/proc/{pid}/environ').read())
                except OSError:
                    return False
            print([p for p in map(int, filter(str.isdigit, os.listdir('/proc'))) if readable(p)] == [os.getpid()])""",
               True)
        prints("import subprocess; print(subprocess.run('kill -0 $$ && echo own', shell=True, text=True, "
               "capture_output=True).stdout)", "own")
        fails("import ctypes, os; ctypes.CDLL(None, use_errno=True).unshare(0x10000000) == 0 or "
              "(_ for _ in ()).throw(OSError(ctypes.get_errno(), 'unshare'))", "unshare")
        prints("import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); "
               "c = socket.create_connection(s.getsockname()); print(c.getpeername() == s.getsockname())", True)
        runs("open('/home/ipybox/x', 'w').write('x'); open('/tmp/x', 'w').write('x')")
        registers("demo")
        server = runs("from mcptools.demo import pid; print(pid.run(pid.Params()))").text
        fails(f"import os; os.kill({server}, 9)", "Operation not permitted")
PY
}

@test "an MCP server below srt: the settings of its own, in the middle of everything else" {
    settings "$inside"
    workspace 1000 0755
    echo SECRET=1 | as_root tee "$workspace/.env" "$workspace/plain.txt" > /dev/null
    for way in "" --sandbox; do
        # shellcheck disable=SC2086  # a word or none
        drive "${tools[@]}" -v "$workspace:/app/workspace" -v "$settings:/settings.json:ro" -- $way <<'PY'
            registers("files", command="srt",
                      args=["--settings", "/settings.json", "python3", "/tools/file_server.py"])
            prints("from mcptools.files import read_file; print(read_file.run(read_file.Params(path='plain.txt')))",
                   "SECRET=1")
            fails("read_file.run(read_file.Params(path='.env'))", "operation not permitted")
PY
    done
}

@test "below another sandbox it says what is missing, and does not start" {
    run_box -- python3 -c "$listener" ipybox server --sandbox </dev/null
    assert_equal "$status" 2
    assert_match "$errors" "level full is needed .*seccomp listener.*another sandbox has one above this process"
    run_box -- python3 -c "$listener" ipybox sandbox -- echo inner
    assert_equal "$status" 1
    assert_match "$errors" "another sandbox has one above"
    run_box -- python3 -c "$listener" ipybox sandbox --min landlock -- sh -c 'cat .env 2>&1; echo inner; touch x'
    assert_equal "$output" $'cat: .env: No such file or directory\ninner'
    assert_match "$errors" "touch: cannot touch 'x': Permission denied"
}

# no_listener - writes a seccomp profile with which nobody gets a listener; sets profile.
no_listener()
{
    profile=$BATS_TEST_TMPDIR/no-listener.json
    cat > "$profile" <<'JSON'
{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["seccomp"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1,
    "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"},
             {"index": 1, "value": 8, "valueTwo": 8, "op": "SCMP_CMP_MASKED_EQ"}]}]}
JSON
}

@test "where nobody gets a listener: --sandbox does not start, with --sandbox-min landlock kernels do" {
    no_listener
    for min in "" "--sandbox-min full"; do
        # shellcheck disable=SC2086  # words
        run_box --security-opt "seccomp=$profile" -- --sandbox $min </dev/null
        assert_equal "$status" 2
        assert_match "$errors" "level full is needed .*level landlock;.* no seccomp listener: Operation not permitted"
    done
    workspace 1000 0755
    echo SECRET=1 | as_root tee "$workspace/.env" > /dev/null
    for way in "--spare-kernels 1" --no-kernel-template; do
        # shellcheck disable=SC2086  # words
        drive "${tools[@]}" --security-opt "seccomp=$profile" -v "$workspace:/app/workspace" -- \
            --sandbox --sandbox-min landlock $way <<'PY'
            def check():
                prints("print(1 + 1)", 2)
                fails("open('.env').read()", "Permission denied: '.env'")
                fails("open('/home/ipybox/x', 'w')", "Permission denied")
                fails("import socket; socket.socket(socket.AF_UNIX)", "Operation not permitted")
                fails("socket.create_connection(('127.0.0.1', 80))", "Permission denied")
                fails("import os; one = socket.socket(fileno=5); one.connect(os.environ['IPYBOX_TOOL_SOCKET'])", "Invalid argument")
                prints("one.detach(); pass", "")
            check()
            matches(box.log(), "sandbox: level landlock")
            prints("!echo shell", "shell")
            prints("""
                import asyncio
                child = await asyncio.create_subprocess_exec("echo", "child", stdout=-1)
                print((await child.communicate())[0])""", r"b'child\n'")
            registers("demo")
            fails("from ipybox_tools.blocking import call; call('run', {})",
                  "ToolRunnerError: Tools cannot be called from here.*Operation not permitted")
            answer = cell("import time; print('up', flush=True); time.sleep(60)", timeout=1)
            equal(answer.error, True)
            tool("reset")
            check()
            matches(cell("import os; os._exit(3)").text, "KernelDied")
            check()
PY
    done
}

@test "where openat2 is refused: --sandbox does not start, with --sandbox-min landlock cells open what they may" {
    local refusing=$BATS_TEST_TMPDIR/no-openat2.json
    cat > "$refusing" <<'JSON'
{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["openat2"], "action": "SCMP_ACT_ERRNO", "errnoRet": 1}]}
JSON
    run_box --security-opt "seccomp=$refusing" -- --sandbox </dev/null
    assert_equal "$status" 2
    assert_match "$errors" "level full is needed .*level landlock;.* no openat2: Operation not permitted"
    workspace 1000 0755
    printf 'text' | as_root tee "$workspace/README.md" > /dev/null
    echo SECRET=1 | as_root tee "$workspace/.env" > /dev/null
    drive --security-opt "seccomp=$refusing" -v "$workspace:/app/workspace" -- --sandbox --sandbox-min landlock <<'PY'
        prints("print(open('README.md').read())", "text")
        fails("open('.env').read()", "Permission denied: '.env'")
        fails("open('/home/ipybox/x', 'w')", "Permission denied")
        matches(box.log(), "sandbox: level landlock")
PY
}

@test "ipybox doctor finds every way out closed" {
    run_box -e PATH=/usr/local/bin:/usr/bin:/bin -- doctor
    assert_equal "$status" 0
    assert_match "$output" "level full"
    assert_match "$output" "ok     read a denied file: Operation not permitted"
    assert_match "$output" "ok     plant a program on PATH: every folder of it is root's"
    if grep -q FAILED <<< "$output"; then fail "$output"; fi
    run_box -e PATH=/usr/local/bin:/usr/bin:/bin --user 1234:1234 --cap-drop ALL --security-opt no-new-privileges \
        --read-only --tmpfs /tmp -- doctor
    assert_equal "$status" 0
}

@test "ipybox doctor names what a cell could plant, and tokens in files that cells' uid may read" {
    workspace 1234:1234
    echo secret > "$workspace/token"
    # As `docker exec` starts it, without init.
    run_box --entrypoint /usr/local/bin/ipybox -v "$workspace:/app/workspace" -e PATH=/usr/bin:/app/workspace/bin:/bin \
        -e HOME=/tmp -e IPYBOX_TOKEN_FILE=/app/workspace/token -- doctor
    assert_equal "$status" 1
    assert_match "$output" "FAILED plant a program on PATH: /app/workspace/bin"
    assert_match "$output" "FAILED plant settings in the home of root: /tmp"
    assert_match "$output" "note   read the file of IPYBOX_TOKEN_FILE: /app/workspace/token"
}

@test "one command: its words, its status, its signals, and the end of all that it started" {
    settings "$inside"
    run_box -v "$settings:/s.json:ro" -- sandbox --settings /s.json -- sh -c 'echo "$0" "$@"; exit 7' a 'b  c'
    assert_equal "$status" 7
    assert_equal "$output" "a b  c"
    run_box -v "$settings:/s.json:ro" -- sandbox -d -s /s.json -c 'id -u; cat .env /etc/hostname; echo x > .env'
    assert_equal "$status" 1
    assert_match "$output" "^1000"
    assert_match "$errors" "refused pid=[0-9]+ call=open(at)? path=/app/workspace/.env"
    run_box -- sandbox -- sh -c 'kill -TERM $$'
    assert_equal "$status" 143
    run_box -- srt 'kill -TERM $$'
    assert_equal "$status" 1
    run_box -- srt echo one two '&&' echo three
    assert_equal "$output" $'one two\nthree'
    run_box -- srt 'touch x'
    assert_match "$errors" "Read-only file system"
    run_box -- sandbox -- /no/such/program
    assert_equal "$status" 127
    run_box -- sh -c '(until [ -e up ]; do sleep 0.05; done; kill -TERM $(pgrep -f "sandbox --") 2>&- || kill -TERM 0) &
        exec ipybox sandbox -- sh -c "trap \"echo got it; exit 5\" TERM; : > up; while :; do sleep 0.05; done"'
    assert_match "$output" "got it"
    run_box -- sh -c 'ipybox sandbox -- sh -c "setsid sleep 600 & exit 0"; grep -lx sleep /proc/[0-9]*/comm || echo none'
    assert_equal "$output" none
}

@test "settings are explained, and what is wrong with them" {
    settings "$inside"
    run_box -v "$settings:/s.json:ro" -- sandbox --check-config /s.json
    assert_equal "$status" 0
    assert_match "$output" "/app/workspace/.env"
    assert_match "$output" "level full"
    settings '{"filesystem": {"allowWrites": []}}'
    run_box -v "$settings:/s.json:ro" -- sandbox --check-config /s.json
    assert_equal "$status" 1
    assert_match "$errors" "allowWrites"
}

@test "a kernel whose broker was killed does not go on without it" {
    drive -- --sandbox <<'PY'
        call = begin_cell("import time; print('up', flush=True); time.sleep(60)")
        shims = [p.pid for p in box.processes() if "--adopt" in p.words]
        inside("sh", "-c", "kill -9 " + " ".join(map(str, shims)))
        wait_for("their end", lambda: not {p.pid for p in box.processes()} & set(shims))
        matches(finish(call).text, "KernelDied|its shim was killed")
        prints("print(1 + 1)", 2)
        fails("open('.env', 'w')", "Operation not permitted")
PY
}

@test "budgets: the error of a cell names the one that it has used up" {
    drive -- --kernel-memory 300M --kernel-tasks 60 --kernel-open-files 200 --kernel-file-size 1M \
        --kernel-cpu 3 <<'PY'
        prints("print(len(bytearray(50 << 20)))", 50 << 20)
        fails("x = bytearray(1 << 30); import time; time.sleep(600)", "KernelDied: .*300 MiB memory .--kernel-memory.")
        prints("print(len(bytearray(50 << 20)))", 50 << 20)
        fails("files = [open('/dev/null') for _ in range(300)]", "Too many open files")
        fails("f = open('large', 'wb', 0)\nfor _ in range(3): f.write(bytes(1 << 20))", "File too large")
        fails("while True: pass", "KernelDied: .*3 s processor time .--kernel-cpu.")
        answer = cell("""
            import subprocess
            children = [subprocess.Popen(['sleep', '60']) for _ in range(100)]""")
        matches(answer.text, "Resource temporarily unavailable")
        texts = answer.texts                    # or it is told with a cell after it
        def is_told():
            texts.extend(cell("1").texts)
            return "the limit of 60 tasks (--kernel-tasks) was reached" in str(texts)
        wait_for("the notice", is_told)
PY
}

@test "the level stands in readyz and in the metrics" {
    local more
    no_listener
    for level in full landlock; do
        more=()
        if [ "$level" = landlock ]; then more=(--security-opt "seccomp=$profile"); fi
        start_box "${more[@]}" -- serve --sandbox --sandbox-min "$level"
        wait_for is_well
        box exec "$id" python3 -c '
import json, time, urllib.request as u
while True:
    try:
        print(u.urlopen("http://localhost:8080/readyz").read().decode()); break
    except OSError:
        time.sleep(0.05)
print(u.urlopen("http://localhost:8080/metrics").read().decode())'
        assert_match "$output" "\"sandbox\":\{\"level\":\"$level\",\"kernels\":true,\"detail\":\"level $level;"
        assert_match "$output" "ipybox_sandbox_level\{level=\"$level\"\} 1"
        box rm -f "$id"
    done
}

@test "one command on a terminal: its jobs, and itself as a job" {
    for case in inside outside both; do
        limit=$whole run_box -e "WAIT=$guard" -v "$here/job_control.py:/job_control.py:ro" -- python3 /job_control.py "$case"
        assert_equal "$status" 0
        assert_equal "$output" ok
    done
}
