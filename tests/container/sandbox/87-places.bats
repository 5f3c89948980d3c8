# Files and folders that are kept from cells and from pip, whatever the settings say; and pip behind walls.
load ../lib/helpers

restricted=(--user 1234:1234 --read-only --tmpfs /tmp:exec --cap-drop ALL --security-opt no-new-privileges)

# A secret that all may read, as secrets are mounted; a workspace with .env and the package of places.py.
scene()
{
    workspace 1234:1234 0777
    secret=$BATS_TEST_TMPDIR/token
    echo 's3cr3t-word' > "$secret"
    chmod 0444 "$secret"
    python3 "$here/places.py" "$workspace/planted-1.tar.gz" /run/secrets/token
    echo 'WORD=s3cr3t-word' > "$workspace/.env"
    as_root chown -R 1234:1234 "$workspace"
}

# in_scene BOOLEAN [OPTION]... [-- WORD]... - sandboxed or not.
in_scene()
{
    local sandboxed=$1
    shift
    {
        echo "sandboxed = $sandboxed"
        cat <<'PY'
import ast
def found(code):
    return ast.literal_eval(runs("import sys; sys.path.insert(0, '/places'); import places; " + code).text)
equal(found("places.on_secret('/run/secrets/token')"), [])
prints("open('new', 'w').write('x'), open('new').read()", (1, "x"))    # beside it the workspace is as ever
answer = tool("install_package", package_name="/app/workspace/planted-1.tar.gz")
equal((answer.error, answer.texts if answer.error else ""), (False, ""))
report = found("__import__('planted_report').REPORT")
equal(report["secret"], [])
equal(report["processes"], [])
equal(report["env"], not sandboxed)
equal(report["plant"], not sandboxed)
if sandboxed:
    equal(report["outside"], "PermissionError")
else:
    equal(report["outside"] == "PermissionError", False)
PY
    } > "$BATS_TEST_TMPDIR/script"
    drive -v "$workspace:/app/workspace" -v "$here/places.py:/places/places.py:ro" -v "$secret:/run/secrets/token:ro" \
        -e IPYBOX_APPROVER_TOKEN_FILE=/run/secrets/token "$@" < "$BATS_TEST_TMPDIR/script"
    assert_equal "$(< "$secret")" 's3cr3t-word'
}

@test "a token in a file is read by nobody, and a package's set-up has no way out: default container" {
    scene
    in_scene False
}

@test "a token in a file is read by nobody, and a package's set-up has no way out: default container, --sandbox" {
    scene
    in_scene True -- --sandbox
}

@test "a token in a file is read by nobody, and a package's set-up has no way out: --user" {
    scene
    in_scene False --user 1234:1234
}

@test "a token in a file is read by nobody, and a package's set-up has no way out: --user, --sandbox" {
    scene
    in_scene True --user 1234:1234 -- --sandbox
}

@test "a token in a file is read by nobody, and a package's set-up has no way out: without rights" {
    scene
    in_scene False "${restricted[@]}"
}

@test "a token in a file is read by nobody, and a package's set-up has no way out: without rights, --sandbox" {
    scene
    in_scene True "${restricted[@]}" -- --sandbox
}

@test "a token in the workspace, or in a volume as Kubernetes has it, is hidden with all that leads to it" {
    scene
    local volume=$BATS_TEST_TMPDIR/volume
    mkdir -p "$volume/..2026_01_01"
    echo 's3cr3t-word' > "$volume/..2026_01_01/token"
    ln -s ..2026_01_01 "$volume/..data"
    ln -s ..data/token "$volume/token"
    mkdir "$workspace/conf"
    echo 's3cr3t-word-2' > "$workspace/conf/token"
    as_root chown -R 1234:1234 "$volume" "$workspace/conf"
    drive -v "$workspace:/app/workspace" -v "$volume:/volume" -v "$here/places.py:/places/places.py:ro" \
        -e IPYBOX_APPROVER_TOKEN_FILE=/app/workspace/conf/token -e IPYBOX_TOOL_SERVER_TOKEN_FILE=/volume/token <<'PY'
import ast
def found(code):
    return ast.literal_eval(runs("import sys; sys.path.insert(0, '/places'); import places; " + code).text)
for path in "/app/workspace/conf/token", "/volume/token", "/volume/..data/token", "/volume/..2026_01_01/token":
    equal((path, found(f"places.on_secret({path!r})")), (path, []))
equal(found("places.worked(lambda: __import__('os').rename('/app/workspace/conf', '/app/workspace/c'))"), False)
equal(found("places.worked(lambda: __import__('os').listdir('/volume'))"), False)
prints("import os; os.mkdir('d'); open('d/f', 'w').write('x'); os.rename('d', 'd2'); open('d2/f').read()", "'x'")
prints("open('conf/other', 'w').write('y'), open('conf/other').read()", (1, "y"))
prints("import subprocess; subprocess.run(['sh', '-c', 'echo hi > s && cat s && rm s']).returncode", "hi\n0")
PY
    assert_equal "$(< "$workspace/conf/token") $(cat "$volume/token")" 's3cr3t-word-2 s3cr3t-word'
}

no_landlock()
{
    profile=$BATS_TEST_TMPDIR/none.json
    cat > "$profile" <<'JSON'
{"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"action": "SCMP_ACT_ERRNO", "errnoRet": 38,
 "names": ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"]}]}
JSON
}

@test "a token that cannot be hidden ends the start, with the remedy" {
    scene
    ln "$secret" "$BATS_TEST_TMPDIR/other"
    run_box -v "$BATS_TEST_TMPDIR:/secrets:ro" -e IPYBOX_APPROVER_TOKEN_FILE=/secrets/token
    assert_equal "$status" 2
    assert_match "$errors" 'IPYBOX_APPROVER_TOKEN_FILE: /secrets/token: .* it has other names: .*mode 0400.*give IPYBOX_APPROVER_TOKEN instead'
    rm "$BATS_TEST_TMPDIR/other"
    no_landlock
    run_box --security-opt "seccomp=$profile" --user 1234:1234 -v "$secret:/secrets/token:ro" \
        -e IPYBOX_APPROVER_TOKEN_FILE=/secrets/token
    assert_equal "$status" 2
    assert_match "$errors" 'nothing here can hide it'
}

# bats test_tags=all
@test "with --sandbox packages are installed from the index, and what is refused is named with the remedy" {
    local ca=()
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro" -e IPYBOX_CA=/ca.pem); fi
    drive "${ca[@]}" -- --sandbox <<'PY'
for _ in range(3):                              # the index is far away
    answer = tool("install_package", package_name="msgpack==1.1.2")
    if not answer.error: break
equal((answer.error, answer.texts if answer.error else ""), (False, ""))
prints("import msgpack._cmsgpack; msgpack.packb(7)", r"b'\x07'")
answer = tool("install_package", package_name="/app/workspace/not-there.tar.gz")
equal(answer.error, True)
matches("\n".join(answer.texts), r"reach pypi\.org files\.pythonhosted\.org; --pip-allowed-hosts adds hosts")
PY
}

@test "code writes nothing of other processes in /proc, and all that it may elsewhere, in any mode" {
    local modes=("" "--user 1234:1234" "--user 1234:1234 --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges")
    local mode sandbox act='
import glob, os, subprocess
names = ("oom_score_adj", "oom_adj", "clear_refs", "autogroup", "coredump_filter", "timerslack_ns", "setgroups", "uid_map", "comm",
         "sched")
opened = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    for name in names:
        try:
            os.close(os.open(f"/proc/{pid}/{name}", os.O_WRONLY))
            opened.append((pid, name))
        except OSError:
            pass
print("opened", opened, len(os.listdir("/proc")) > 10)
home = os.path.expanduser("~/f")
print(subprocess.run("echo out > /dev/stdout; echo err > /dev/stderr; echo > /dev/null && echo written", shell=True, capture_output=True))
if not os.environ.get("SANDBOX_RUNTIME"):
    print("home", open(home, "w").write("x"), open(home).read(), os.remove(home))
    print("tmp", open("/tmp/f", "w").write("x"), open("/tmp/f").read())
    for place in glob.glob("/tmp/ipybox/1234") + glob.glob("/run/ipybox/1234"):
        try:
            print("listed", os.listdir(place))
        except OSError:
            pass'
    for mode in "${modes[@]}"; do
        for sandbox in "" --sandbox; do
            # shellcheck disable=SC2086
            start_box $mode -- serve $sandbox
            wait_for is_well
            limit=$whole box exec -e ACT="$act" -i "$id" python3 - <<'PY'
import json, os, urllib.request as u

def call(path, body):
    request = u.Request("http://localhost:8080/v1/" + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(u.urlopen(request))

for name in ("a", "b"):
    call("sessions", {"id": name})
call("sessions/b/executions", {"code": "import subprocess; child = subprocess.Popen(['sleep', '100'])"})
print(call("sessions/a/executions", {"code": os.environ["ACT"]})["text"])
PY
            assert_equal "$status" 0
            assert_match "$output" "opened \[\] True"
            if [ -z "$sandbox" ]; then
                assert_match "$output" "home 1 x None"
                assert_match "$output" "tmp 1 x"
            fi
            assert_match "$output" "stdout=b'out.nwritten.n', stderr=b'err.n'"
            refute_match "$output" "listed"
            box rm -f "$id"
        done
    done
}

@test "where nothing keeps code with the server's uid from tokens, the log and /readyz say so" {
    no_landlock
    local ready="__import__('urllib.request').request.urlopen('http://127.0.0.1:8080/readyz').read()"
    drive --security-opt "seccomp=$profile" --user 1234:1234 -e IPYBOX_TOKEN=t -- --http 8080 <<PY
        wait_for_log("WARNING sandbox: code in kernels can take every token and approve its own calls")
        prints("print('take every token' in str($ready))", True)
PY
    drive --security-opt "seccomp=$profile" -e IPYBOX_TOKEN=t -- --http 8080 <<PY
        prints("print('take every token' in str($ready))", False)
        end()
        equal("take every token" in log(), False)
PY
}
