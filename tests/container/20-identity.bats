# Who everything runs as, and whose the files are.
load lib/helpers

# drive_as "UID GID [OTHER GROUPS]" [OPTION]... - cells run as these and without any right, can write to their home, know
# who they are, and the server is healthy.
drive_as()
{
    local expected=$1
    shift
    {
        echo "expected = '$expected'"
        cat <<'PY'
prints("import os; print(os.getuid(), os.getgid(), sorted(set(os.getgroups()) - {os.getgid()}))", expected)
matches(runs("print(open('/proc/self/status').read())").text, r"CapPrm:\t0{16}\nCapEff:\t0{16}\n.*NoNewPrivs:\t1\n")
prints("home = os.path.expanduser('~'); open(home + '/in-home', 'w').write('x')", 1)
prints("import getpass; bool(getpass.getuser())", True)
prints("import tempfile; bool(tempfile.mkdtemp())", True)
wait_for("health", healthy)
PY
    } | drive "$@"
}

# refused STATUS PATTERN [OPTION]... - the container does not start, and says why.
refused()
{
    local wanted=$1 pattern=$2
    shift 2
    run_box "$@"
    assert_equal "$status" "$wanted"
    assert_equal "$output" ""
    assert_match "$errors" "$pattern"
    run_box "$@" -- echo started
    assert_equal "$status" "$wanted"
    assert_equal "$output" ""
}

@test "all but process 1 opens files as the owner of the workspace, and what it makes is the owner's" {
    workspace 1234:5678
    drive -v "$workspace:/app/workspace" <<'PY'
        prints("""
            import os, subprocess
            open("by-cell", "w").close()
            os.mkdir("directory")
            subprocess.run(["touch", "directory/by-child"]).returncode
        """, 0)
        runs(SHOW_PNG)                          # images, images/*.png
        runs("print('x' * 6000)")               # outputs, outputs/*.txt
        running = {(p.uid, p.gid, p.capabilities) for p in processes() if p.pid != 1}
        equal(running, {(1234, 5678, 0)})
PY
    assert_equal "$(find "$workspace" -mindepth 1 -printf '%U:%G\n' | sort | uniq -c | tr -s ' ')" " 7 1234:5678"
}

# Prints which of these acts on the server whoever runs it can do: python3 - PID.
attack='
import glob, os, resource, sys
pid = int(sys.argv[1])
control, = glob.glob("/run/ipybox/*/control.sock")
def signal(): os.kill(pid, 0)
def limits(): resource.prlimit(pid, resource.RLIMIT_NOFILE)
def environment(): open(f"/proc/{pid}/environ").read()
def memory(): open(f"/proc/{pid}/mem", "rb")
def new(): os.close(os.open(os.path.dirname(control) + "/new", os.O_CREAT | os.O_EXCL))
def remove(): os.unlink(os.path.dirname(control) + "/new")
def rename(): os.rename(control, control + "2"); os.rename(control + "2", control)
def replace(): os.rename(os.path.dirname(control), "/run/ipybox/away"); os.rename("/run/ipybox/away", os.path.dirname(control))
for act in signal, limits, environment, memory, new, remove, rename, replace:
    try:
        act()
        print(act.__name__, end=" ")
    except OSError:
        pass
'

@test "who has the uid of cells reaches neither the server's process nor its sockets; with --user code in cells does not either" {
    { echo "attack = '''$attack'''"; cat <<'PY'
prints("1", 1)
equal(inside("python3", "-", str(server().pid), user="1000:1000", stdin=attack), "")
prints(f"import sys; sys.argv = ['', '{server().pid}']\n" + attack, "")
wait_for("health", healthy)
PY
    } > "$BATS_TEST_TMPDIR/root"
    drive < "$BATS_TEST_TMPDIR/root"
    { echo "attack = '''$attack'''"; cat <<'PY'
prints("1", 1)
equal(server().uids, [4321] * 4)
equal(inside("python3", "-", str(server().pid), user="4321:4321", stdin=attack), "signal limits new remove rename replace ")
prints(f"import sys; sys.argv = ['', '{server().pid}']\n" + attack, "")
wait_for_log("identity: the server has the uid of kernels, 4321: it was not started as root")
PY
    } > "$BATS_TEST_TMPDIR/user"
    drive --user 4321:4321 < "$BATS_TEST_TMPDIR/user"
}

@test "the server has a uid for itself, nothing that it starts has it, and its files in the workspace are the owner's" {
    workspace 1234:5678
    drive -v "$workspace:/app/workspace" -v "$here/tool_server.py:/tools/tool_server.py:ro" -- \
        --kernel-gateway-port 8888 <<'PY'
        # pip is there for a moment only: a package that it builds tells.
        runs(r"""
            import os
            os.mkdir("told")
            with open("told/pyproject.toml", "w") as file:
                file.write('[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n')
            with open("told/own.py", "w") as file:
                file.write("uids = open('/proc/self/status').read().split('Uid:')[1].split()[:4]\n"
                           "print(uids, file=open('/app/workspace/ran', 'a'))")
        """)
        tool("install_package", package_name="./told")
        prints("open('/app/workspace/ran').read().splitlines()[0]", repr(str(["1234"] * 4)))
        registers("demo")
        runs("from mcptools.demo import echo; echo.run(echo.Params(text='x'))")
        runs(SHOW_PNG)
        runs("print('x' * 6000)")
        call = "import urllib.request; urllib.request.urlopen('http://localhost:8888/api').read()"
        wait_for("the gateway", lambda: subprocess.run(["docker", "exec", box.name, "python3", "-c", call],
                                                       capture_output=True).returncode == 0)
        prints("import subprocess; print(subprocess.check_output(['grep', 'Uid', '/proc/self/status'], text=True).split()[1:])",
               ["1234"] * 4)
        equal(server().uids, [731, 1234, 731, 1234])
        others = [p for p in processes() if p.pid != 1 and not p.is_server]
        equal({tuple(p.uids) for p in others}, {(1234,) * 4})
        for word in "shim", "ipybox_kernel.template", "/tools/tool_server.py", "ipybox_gateway":
            equal((word, any(word in p.words for p in others)), (word, True))
        wait_for_log("identity: the server has uid 731 for itself; kernels have uid 1234")
        equal(inside("sh", "-c", "cd /run/ipybox/731 && stat -c '%n %U %a' . *.sock private user").split(),
              ". ipybox-server 711 api.sock ipybox-server 666 control.sock ipybox-server 666 tools.sock "
              "ipybox-server 666 private ipybox-server 700 user ipybox-server 1770".split())
PY
    # But for what cells must not write: docs/tools.md.
    assert_equal "$(find "$workspace" ! -uid 1234 -printf '%P %U %m\n')" ".ipybox/registrations/demo.json 731 600"
}

@test "the uid of the server's own is another one where the cells have it" {
    drive -e PUID=731 <<'PY'
        prints("import os; os.getresuid()", "(731, 731, 731)")
        equal(server().uids, [732, 731, 732, 731])
PY
}

@test "the server has its uid without new privileges, and with SETUID and SETGID alone" {
    drive --security-opt no-new-privileges <<'PY'
        prints("import os; os.getresuid()", "(1000, 1000, 1000)")
        equal((server().uids, server().capabilities), ([731, 1000, 731, 1000], 0))
        wait_for("health", healthy)
PY
    drive --cap-drop ALL --cap-add SETUID --cap-add SETGID --read-only --tmpfs /tmp <<'PY'
        prints("import os; os.getresuid()", "(1000, 1000, 1000)")
        equal((server().uids, server().capabilities), ([731, 1000, 731, 1000], 0))
        equal(next(p.uids for p in processes() if p.pid == 1), [731, 1000, 731, 1000])
        wait_for("health", healthy)
        equal(inside("ipybox", "exec", "6 * 7"), "42\n")
        equal(inside("ipybox", "exec", "6 * 7", user="1000"), "42\n")
PY
}

@test "where a user namespace has no number for it the server has none, and says so" {
    workspace 100004:100004
    drive "${rootless[@]}" -v "$workspace:/app/workspace" -- /rootless.py 0,1000,1 1,100000,600 65534,165533,1 -- ipybox init <<'PY'
        prints("import os; os.getresuid()", "(5, 5, 5)")
        wait_for_log("identity: the server has the uid of kernels, 5: this user namespace has no number for one")
PY
}

@test "a runtime directory that only the cells' user can make is theirs, and the server says so" {
    workspace 1234:1234
    drive -v "$workspace:/app/workspace" -e IPYBOX_RUNTIME_DIR=/app/workspace/run <<'PY'
        prints("1", 1)
        equal(server().uids, [1234] * 4)
        wait_for_log("WARNING identity: the server has no uid of its own: as uid 731: IPYBOX_RUNTIME_DIR: /app/workspace/run: Permission")
        equal(inside("stat", "-c", "%u %a", "/app/workspace/run"), "1234 700\n")
PY
}

# readyz - what the server in $id says of itself.
readyz()
{
    limited docker exec "$id" python3 -c '
import urllib.request
print(urllib.request.urlopen("http://localhost:8080/readyz").read().decode())
print(urllib.request.urlopen("http://localhost:8080/metrics").read().decode())' 2>/dev/null
}

@test "a server that was killed makes room for the next one in the same container" {
    local pid kernel
    start_box -- serve
    wait_for readyz
    assert_match "$(readyz)" '"identity":\{"server":731,"kernels":1000,"apart":true\}'
    assert_match "$(readyz)" $'\nipybox_server_uid_apart 1\n'
    kernel=$(docker exec "$id" sh -c 'ls -d /run/ipybox/731/user/k*' | head -n 1)
    pid=$(docker exec "$id" ipybox health | grep -o '"pid":[0-9]*')
    box exec "$id" sh -c "kill -9 ${pid#*:}"
    box wait "$id"
    assert_equal "$output" 137
    box start "$id"
    wait_for readyz
    box exec "$id" ipybox exec 'import os; os.getresuid()'
    assert_equal "$output" "(1000, 1000, 1000)"
    box exec "$id" test -e "$kernel"
    assert_equal "$status" 1
    box exec "$id" ipybox approve
    assert_equal "$status" 0
    stop_box
    box cp "$id:/run/ipybox/731" "$BATS_TEST_TMPDIR/left"
    assert_equal "$(find "$BATS_TEST_TMPDIR/left" ! -type d)" ""
    end_box
    assert_equal "$status" 0
    start_box --user 4321:4321 -- serve
    wait_for readyz
    assert_match "$(readyz)" '"identity":\{"server":4321,"kernels":4321,"apart":false\}'
    assert_match "$(readyz)" $'\nipybox_server_uid_apart 0\n'
    stop_box
    end_box
}

@test "root that passes init by, or starts the server natively, is refused, and told what to do" {
    run_box --entrypoint ipybox -- serve
    assert_equal "$status" 2
    assert_match "$errors" "cells would be root: start ipybox through .ipybox init., the image's ENTRYPOINT"
    run_box --entrypoint sh -- -c 'mkdir /own && cp /usr/local/bin/ipybox /usr/lib/ipybox/opens.so /own/ && exec /own/ipybox serve'
    assert_equal "$status" 2
    assert_match "$errors" 'cells would be root: start ipybox as an ordinary user, or with --allow-root'
    start_box --entrypoint ipybox -- serve --allow-root
    wait_for is_well
    box rm -f "$id"
}

@test "process 1 keeps no right but to signal others" {
    drive <<'PY'
        prints("1", 1)
        first = next(p for p in processes() if p.pid == 1)
        equal((first.uid, first.capabilities), (0, 1 << 5))        # CAP_KILL
PY
}

@test "without a mount everything runs as 1000:1000" {
    drive_as "1000 1000 []"
}

@test "a workspace that anyone can write to but root owns makes it 1000:1000 too" {
    workspace 0:0 1777
    drive_as "1000 1000 []" -v "$workspace:/app/workspace"
}

@test "a workspace of root's that 1000 cannot write to is refused, and the message says what to do" {
    workspace 0:0 0755
    refused 2 'workspace /app/workspace.*uid 1000.*chown' -v "$workspace:/app/workspace"
}

@test "PUID and PGID are who everything runs as, whoever owns the workspace" {
    drive_as "4321 8765 []" -e PUID=4321 -e PGID=8765
    workspace 1234:5678 0777
    drive_as "4321 8765 []" -e PUID=4321 -e PGID=8765 -v "$workspace:/app/workspace"
    assert_equal "$(stat -c %u:%g "$workspace")" 1234:5678
}

@test "PUID alone takes the group with it, PGID alone only changes the group" {
    drive_as "4321 4321 []" -e PUID=4321
    drive_as "1000 8765 []" -e PGID=8765
}

@test "a PUID that cannot write to the workspace is refused" {
    workspace 1234:5678 0755
    refused 2 'uid 4321' -e PUID=4321 -v "$workspace:/app/workspace"
}

@test "PUID and PGID that are no number, or root's, are refused by name" {
    refused 2 PUID -e PUID=abc
    refused 2 PGID -e PGID=0
    # the rest of them in one container
    run_box --entrypoint bash -- -c '
        for value in abc -1 1.5 4294967295 99999999999 0 " 5"; do
            for name in PUID PGID; do
                said=$(env "$name=$value" ipybox init 2>&1) && echo "$name=$value: started"
                [[ $? = 2 && $said = *"$name"* ]] || echo "$name=$value: $said"
            done
        done'
    assert_equal "$output" ""
}

@test "the groups that docker adds are kept, but for root's" {
    drive_as "1000 1000 [4444]" --group-add 4444
    drive_as "1000 1000 []" --group-add 0
}

@test "any --user works, also without an entry in /etc/passwd" {
    drive_as "4321 4321 []" --user 4321:4321
    drive_as "4321 0 [4444]" --user 4321 --group-add 4444
    drive_as "4321 0 []" --user 4321:0
}

@test "any --user works with everything taken away that docker can take away" {
    local hard=(--read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges)
    drive_as "4321 0 []" --user 4321:0 "${hard[@]}"
    drive_as "4321 4321 []" --user 4321:4321 "${hard[@]}" --network none --pids-limit 100 --memory 512m
    workspace 4321:4321
    drive_as "4321 4321 []" --user 4321:4321 "${hard[@]}" -v "$workspace:/app/workspace"
}

@test "with --user the files are that user's, and PUID is said to be ignored" {
    workspace 4321:4321
    drive --user 4321:0 -e PUID=5 -v "$workspace:/app/workspace" <<'PY'
        prints("open('new', 'w').close()", "")
        wait_for_log("PUID and PGID are ignored")
PY
    assert_equal "$(stat -c %u:%g "$workspace/new")" 4321:0
}

@test "a --user that cannot write to the workspace is warned, and can run cells" {
    workspace 1234:5678 0755
    drive --user 4321:4321 -v "$workspace:/app/workspace" <<'PY'
        prints("1", 1)
        wait_for_log("WARNING.*workspace /app/workspace cannot be written by uid 4321")
        fails("open('new', 'w')", "PermissionError")
PY
}

@test "root works on a read-only root, with /tmp and without" {
    drive_as "1000 1000 []" --read-only --tmpfs /tmp
    drive --read-only <<'PY'
        prints("import os; os.getuid()", 1000)
        wait_for("health", healthy)
PY
    workspace 1234:5678
    drive_as "1234 5678 []" --read-only --tmpfs /tmp --security-opt no-new-privileges -v "$workspace:/app/workspace"
}

@test "root without capabilities is refused, and the message names the ways out, which work" {
    refused 2 'SETUID.*--user 1000:1000.*--cap-add SETUID' --cap-drop ALL
    drive_as "1000 1000 []" --cap-drop ALL --user 1000:1000
    drive_as "1000 1000 []" --cap-drop ALL --cap-add SETUID --cap-add SETGID
}

@test "with SETUID and SETGID alone the container still stops when it is told to" {
    drive --cap-drop ALL --cap-add SETUID --cap-add SETGID <<'PY'
        prints("1", 1)
        equal(stop(), 0)
PY
}

@test "there is no way back to root for code in a cell" {
    drive <<'PY'
        fails("import os; os.setuid(0)", "PermissionError")
        fails("os.setgroups([0])", "PermissionError")
        fails("open('/proc/1/environ')", "PermissionError")
        fails("os.kill(1, 9)", "PermissionError")
        prints("""
            import shutil
            shutil.copy("/usr/bin/python3", "/tmp/python3")
            os.chmod("/tmp/python3", 0o6755)
            print(__import__("subprocess").check_output(["/tmp/python3", "-c", "import os; print(os.geteuid())"], text=True))
        """, 1000)
PY
}

@test "the server's memory and environment are closed to code in a cell of the same user" {
    drive --user 1000:1000 <<'PY'
        fails(f"open('/proc/{server().pid}/environ').read()", "PermissionError")
        fails(f"open('/proc/{server().pid}/mem', 'rb')", "PermissionError")
        fails("open('/proc/1/environ').read()", "PermissionError")
        fails("open('/proc/1/mem', 'rb')", "PermissionError")
        # So is what comes in by docker exec, from its first moment: nobody's program can be read.
        import subprocess
        words = ["docker", "exec", "-u", "1000:1000", "-e", "SECRET=hush", box.name, "ipybox", "logs", "--follow"]
        other = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        wait_for("the command", lambda: [p for p in box.processes() if p.words[:2] == ["ipybox", "logs"]])
        prints("""
            import glob
            def tells(path):
                try:
                    return b"SECRET=hush" in open(path, "rb").read()
                except OSError:
                    return False
            print(any(map(tells, glob.glob("/proc/[0-9]*/environ"))))""", False)
        fails("open('/usr/local/bin/ipybox', 'rb')", "PermissionError")
        other.kill()
        other.wait()
PY
}

@test "root of a user namespace with one user stays that root, without capabilities" {
    workspace 1000:1000
    drive "${rootless[@]}" -v "$workspace:/app/workspace" -- /rootless.py 0,1000,1 -- ipybox init <<'PY'
        prints("import os; print(os.getuid(), os.getgid())", "0 0")
        matches(runs("print(open('/proc/self/status').read())").text, r"CapPrm:\t0{16}\nCapEff:\t0{16}\n")
        prints("open('new', 'w').close()", "")
        fails("os.chown('new', 1, 1)", "PermissionError|OSError")
PY
    assert_equal "$(stat -c %u:%g "$workspace/new")" 1000:1000
}

@test "root of a user namespace as rootless Docker and Podman make it keeps the files its owner's" {
    local map='0,1000,1 1,100000,65535'
    workspace 1000:1000
    # shellcheck disable=SC2086  # one word per map
    drive "${rootless[@]}" -v "$workspace:/app/workspace" -- /rootless.py $map -- ipybox init <<'PY'
        prints("import os; print(os.getuid(), os.getgid())", "0 0")
        matches(runs("print(open('/proc/self/status').read())").text, r"CapPrm:\t0{16}\nCapEff:\t0{16}\n")
        prints("open('new', 'w').close()", "")
PY
    assert_equal "$(stat -c %u:%g "$workspace/new")" 1000:1000
    # A directory of a subordinate user (a named volume of another container, say): that user.
    workspace 100999:100999
    # shellcheck disable=SC2086
    drive "${rootless[@]}" -v "$workspace:/app/workspace" -- /rootless.py $map -- ipybox init <<'PY'
        prints("import os; print(os.getuid(), os.getgid())", "1000 1000")
        prints("open('new', 'w').close()", "")
PY
    assert_equal "$(stat -c %u:%g "$workspace/new")" 100999:100999
}

@test "root of a user namespace without a workspace of its own becomes 1000" {
    drive "${rootless[@]}" -- /rootless.py 0,1000,1 1,100000,65535 -- ipybox init <<'PY'
        prints("import os; print(os.getuid(), os.getgid())", "1000 1000")
PY
}

@test "nothing that is the user's is ever chowned or chmodded" {
    workspace 1234:5678 2751
    as_root mkdir "$workspace/images" "$workspace/of-root"
    as_root touch "$workspace/images/of-root" "$workspace/mine" "$workspace/secret"
    as_root chown 1234:5678 "$workspace/mine" "$workspace/images"
    as_root chown 1:2 "$workspace/secret"
    as_root chmod 0400 "$workspace/secret"
    as_root chmod 4755 "$workspace/mine"
    snapshot() { find "$workspace" \( -name of-root -o -name mine -o -name secret -o -name images -o -path "$workspace" \) -printf '%p %U:%G %m\n' | sort; }
    local before
    before=$(snapshot)
    drive -v "$workspace:/app/workspace" <<'PY'
        runs(SHOW_PNG)
        tool("reset")
        prints("1", 1)
PY
    assert_equal "$(snapshot)" "$before"
    run_box -v "$workspace:/app/workspace" -e PUID=1234 -e PGID=1 -- true
    assert_equal "$(snapshot)" "$before"
}

@test "UMASK is the mode mask of cells and of the server's files" {
    workspace 1234:5678
    drive -e UMASK=027 -v "$workspace:/app/workspace" <<'PY'
        prints("import os; open('new', 'w').close(); os.mkdir('directory')", "")
        runs(SHOW_PNG)
PY
    assert_equal "$(stat -c %a "$workspace/new" "$workspace/directory" "$workspace/images" "$workspace"/images/* | xargs)" \
        "640 750 750 640"
    run_box -e UMASK=077 -- bash -c umask
    assert_equal "$output" 0077
}

@test "a UMASK that is none is refused by name" {
    refused 2 UMASK -e UMASK=9
    refused 2 UMASK -e UMASK=u=rwx
}

@test "TZ is the time zone of cells" {
    drive -e TZ=Europe/Berlin <<'PY'
        prints("import time; print(time.tzname, time.strftime('%z', time.localtime(0)))", "('CET', 'CEST') +0100")
        prints("import subprocess; print(subprocess.check_output(['date', '-d', '@0', '+%H:%M %Z'], text=True))", "01:00 CET")
PY
}

# The token of the gateway is the secret setting there is.
token_file()
{
    token=token-$RANDOM$RANDOM$RANDOM
    printf '%s\n' "$token" > "$BATS_TEST_TMPDIR/token"
    as_root chown 0:0 "$BATS_TEST_TMPDIR/token"
    as_root chmod 0400 "$BATS_TEST_TMPDIR/token"
    secret=(-v "$BATS_TEST_TMPDIR/token:/run/secrets/token:ro" -e IPYBOX_KERNEL_GATEWAY_TOKEN_FILE=/run/secrets/token)
}

@test "a secret comes from a file that only root can read, and code in a cell finds it nowhere" {
    token_file
    { echo "token = '$token'"; cat <<'PY'
prints("1", 1)
def asks(header):
    code = f"""
import urllib.request
request = urllib.request.Request("http://localhost:8888/api/kernelspecs", headers={header!r})
try:
    print(urllib.request.urlopen(request).status)
except OSError as error:
    print(getattr(error, "code", error))
"""
    return inside("python3", "-", stdin=code).strip()
wait_for("the gateway", lambda: asks({}) in ("200", "401", "403"))
equal(asks({"Authorization": f"token {token}"}), "200")
equal(asks({}) in ("401", "403"), True)
found = runs("""
    import os, pathlib
    def look():
        yield "environ", str(dict(os.environ)).encode()
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            for name in "environ", "cmdline":
                try:
                    yield f"{process}/{name}", (process / name).read_bytes()
                except OSError:
                    pass
        for top in "/tmp", "/run", "/home", "/app", "/dev/shm":
            for path in pathlib.Path(top).rglob("*"):
                try:
                    if path.is_file():
                        yield str(path), path.read_bytes()
                except OSError:
                    pass
    places = dict(look())
    assert len(places) > 5
    print([(place, places.get(str(pathlib.Path(place).with_name("cmdline")))) for place, value in places.items() if b"to" b"ken-" in value])
""").text
equal(found, "[]")
PY
    } > "$BATS_TEST_TMPDIR/script"
    drive "${secret[@]}" -- --kernel-gateway-port 8888 < "$BATS_TEST_TMPDIR/script"
}

@test "a secret that is given twice, or whose file cannot be used, is refused by name" {
    token_file
    refused 2 'IPYBOX_KERNEL_GATEWAY_TOKEN and IPYBOX_KERNEL_GATEWAY_TOKEN_FILE' \
        "${secret[@]}" -e IPYBOX_KERNEL_GATEWAY_TOKEN=other
    refused 2 'IPYBOX_KERNEL_GATEWAY_TOKEN_FILE.*No such file' -e IPYBOX_KERNEL_GATEWAY_TOKEN_FILE=/not-there
    refused 2 'IPYBOX_KERNEL_GATEWAY_TOKEN_FILE.*not a regular file' -e IPYBOX_KERNEL_GATEWAY_TOKEN_FILE=/dev/zero
    refused 2 'IPYBOX_KERNEL_GATEWAY_TOKEN_FILE' "${secret[@]}" --user 4321:4321
}
