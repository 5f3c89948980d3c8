# Opens that pass the broker by (docs/sandbox-broker.md): the library is there, and nothing is open that was not.
load ../lib/helpers

library=/usr/lib/ipybox/opens.so

# Python for a cell: how(path) opens it with the mark of the library, and by open(2) as it is.
how="
import ctypes, ctypes.util, errno, os, platform
libc = ctypes.CDLL(None, use_errno=True)
number = 257 if platform.machine() == 'x86_64' else 56
def call(path, fifth, sixth):
    fd = libc.syscall(*map(ctypes.c_long, (number, -100)), os.fsencode(path), *map(ctypes.c_long, (0, 0, fifth, sixth)))
    return 'opened' if fd >= 0 and not os.close(fd) else errno.errorcode[ctypes.get_errno()]
def how(path):
    return call(path, 0x1b0c0de5, 0x0be25f1c), call(path, 0, 0)
def owner(name):
    at = ctypes.cast(getattr(libc, name), ctypes.c_void_p).value
    lines = [line.split() for line in open('/proc/self/maps')]
    return next(line[5] for line in lines if int(line[0].split('-')[0], 16) <= at < int(line[0].split('-')[1], 16))
"

@test "in every kernel of --sandbox the library opens what is only read, and what is denied stays so" {
    workspace 1000 0755
    echo SECRET=1 | as_root tee "$workspace/.env" > /dev/null
    echo sample | as_root tee "$workspace/sample" > /dev/null
    for way in "--spare-kernels 1" --no-kernel-template; do
        # shellcheck disable=SC2086  # words
        HOW=$how drive -v "$workspace:/app/workspace" -- --sandbox $way <<'PY'
            import os
            runs(os.environ["HOW"])
            prints("print(*map(owner, ['open64', 'openat', 'opendir']))", " ".join(["/usr/lib/ipybox/opens.so"] * 3))
            prints("print(how('/usr/bin/env'))", "('opened', 'opened')")
            prints("print(how('sample'))", "('EACCES', 'opened')")
            prints("print(how('.env'))", "('EACCES', 'EPERM')")
            prints("open('new', 'w').write('x'); print(open('new').read(), how('new'))", "x ('EACCES', 'opened')")
            inside("sh", "-c", "mv sample sample.old; echo SECRET=2 > sample; mv sample.old .env")
            prints("print(how('.env'), how('sample'))", "('EACCES', 'EPERM') ('EACCES', 'opened')")
            fails("open('.env').read()", r"PermissionError: \[Errno 1\] Operation not permitted: '.env'")
            prints("print(open('/etc/hosts').read().split()[:2])", "['127.0.0.1', 'localhost']")
            prints("import os; os.chdir('/etc'); print(open('resolv.conf').read().split()[:2])",
                   "['nameserver', '127.0.0.53']")
            prints("""
                import subprocess, sys
                code = 'import json, sys; print(open(sys.argv[1]).read(1))'
                for path in 'new', '.env':
                    p = subprocess.run([sys.executable, '-c', code, path], cwd='/app/workspace', capture_output=True,
                                       text=True)
                    print(p.stdout.strip(), p.stderr.strip().split('\\n')[-1])""",
                   "x \n PermissionError: [Errno 1] Operation not permitted: '.env'")
            wait_for("the refusals", lambda: box.log().count("call=openat path=/app/workspace/.env") >= 4)
PY
    done
}

@test "who has an LD_PRELOAD keeps it, and who has no sandbox gets none" {
    drive -e KERNEL_ENV_LD_PRELOAD=libm.so.6 -- --sandbox <<'PY'
        prints("import os; print(os.environ['LD_PRELOAD'], 'opens.so' in open('/proc/self/maps').read())",
               "libm.so.6 False")
PY
    drive <<'PY'
        prints("import os; print('LD_PRELOAD' in os.environ, 'opens.so' in open('/proc/self/maps').read())", "False False")
PY
    local show='echo "<$LD_PRELOAD>"; grep -q opens.so /proc/self/maps && echo loaded'
    run_box -- sandbox -c "$show"
    assert_equal "$output$errors" "<$library>"$'\nloaded'
    run_box -- srt "$show"    # which denies no read
    assert_equal "$output$errors" "<>"
    run_box -e LD_PRELOAD=libm.so.6 -- sandbox -c "$show"
    assert_equal "$output$errors" "<libm.so.6>"
}

@test "without the library, or where it may not be read, nothing is said of it and everything works" {
    local settings=$BATS_TEST_TMPDIR/settings.json
    echo '{"network": {"allowedDomains": [], "deniedDomains": []},
           "filesystem": {"denyRead": [".env", "/usr/lib/ipybox"], "allowWrite": ["."], "denyWrite": []}}' > "$settings"
    chmod 0644 "$settings"
    local act='echo "<$LD_PRELOAD>"; echo x > new; cat new; touch .env; cat .env'
    for way in "--tmpfs /usr/lib/ipybox" "-v $settings:/s.json:ro"; do
        local chosen=()
        if [[ $way = *s.json* ]]; then chosen=(-s /s.json); fi
        # shellcheck disable=SC2086  # words
        run_box $way -- sandbox "${chosen[@]}" -c "$act"
        assert_equal "$output" $'<>\nx'
        assert_equal "$errors" $'touch: cannot touch \'.env\': Operation not permitted\ncat: .env: No such file or directory'
    done
    drive --tmpfs /usr/lib/ipybox -- --sandbox <<'PY'
        prints("import os; print('LD_PRELOAD' in os.environ)", False)
        prints("!python3 -c 'print(open(\"/etc/passwd\").read(4))' 2>&1", "root")
PY
}

@test "programs that are made in the workspace are executed, and what is denied is not" {
    drive -- --sandbox <<'PY'
        runs("""
            import os, shutil, subprocess
            def make(name, text):
                with open(name, 'w') as file:
                    file.write(text)
                os.chmod(name, 0o755)
            os.makedirs('made/bin')
            make('tool.sh', '#!/bin/sh\\necho "$0" "$@"\\n')
            make('made/bin/tool.py', '#!/usr/bin/env python3\\nimport sys; print(sys.argv)\\n')
            shutil.copy('/usr/bin/env', 'made/bin/environment')""")
        prints("!./tool.sh one", "./tool.sh one")
        prints("!made/bin/tool.py one", "['made/bin/tool.py', 'one']")
        prints("!PATH=$PWD/made/bin:$PATH; tool.py one", "['/app/workspace/made/bin/tool.py', 'one']")
        prints("!made/bin/environment -i A=1 /usr/bin/env", "A=1")
        prints("print(subprocess.run(['./tool.sh', 'x'], capture_output=True, text=True).stdout.strip())", "./tool.sh x")
        prints("print(os.waitpid(os.posix_spawn('./tool.sh', ['t'], os.environ), 0)[1])", "./tool.sh\n0")
        prints("!python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix)'", "/app/workspace/v")
        prints("!node -e 'console.log(require(\"child_process\").execFileSync(\"./tool.sh\", [\"n\"]).toString().trim())'",
               "./tool.sh n")
        fails("open('.env', 'w')", r"PermissionError: \[Errno 1\] Operation not permitted: '.env'")
PY
}
