# What a cell plants where ipybox, pip, Jupyter or a shell would look for it is not run outside of a kernel's walls.
load ../lib/helpers

# planted LEAST [OPTION OF docker run]... [-- WORD]... - a cell plants at least so many things; then all that starts a
# process is used.
planted()
{
    local least=$1
    shift
    { cat "$here/planted.py"; echo "least = $least"; cat <<'PY'
def inside(*words, check=True):
    return docker("exec", "-i", box.name, *words, check=check)

def reaches(path, token="admin"):
    code = f"""import urllib.request as u
r = u.Request('http://localhost:{path}', headers={{'Authorization': 'Bearer {token}'}})
print(u.urlopen(r, timeout={WAIT}).status)"""
    return inside("/usr/bin/python3", "-I", "-c", code, check=False).strip() == "200"

def everything():
    answer = tool("install_package", package_name="./package")
    matches(answer.text, "Successfully installed mine-1")
    tool("reset")
    prints("import mine; mine.value", 42)
    tool("install_package", package_name="/no/such.whl")
    tool("reset")
    runs("exit()")
    prints("6 * 7", 42)
    wait_for("the list of packages", lambda: reaches("9000/v1/packages"))
    wait_for("the gateway", lambda: reaches("8888/api/kernelspecs"))
    for words in (("ipybox", "health"), ("ipybox", "sessions"), ("ipybox", "exec", "print(6 * 7)"),
                  ("ipybox", "approve", "--help"), ("bash", "-i", "-c", "true"), ("sh", "-l", "-c", "true"),
                  ("ipybox", "apigen", "--server-name", "mine", "--root-dir", "generated",
                   "--server-params", '{"command": "true"}')):
        inside(*words, check=False)

filters = int(inside("sed", "-n", "s/^Seccomp_filters:.//p", "/proc/1/status"))
number = int(runs(PLANT).text)
equal(number >= least, True)
everything()
template = min(p.pid for p in processes() if "ipybox_kernel.template" in p.words)
inside("/usr/bin/python3", "-I", "-c", f"import os; os.kill({template}, 9)", check=False)
wait_for_log("the kernel template ended")
everything()
ran = runs("print(open('/app/workspace/ran').read() if __import__('os').path.exists('/app/workspace/ran') else '')").text
outside = sorted({line for line in ran.split("\n") if line and int(line.split()[-1]) <= filters})
equal(outside, [])
equal("steered" in runs("import os; print(os.listdir('/app/workspace'))").text, False)
note(f"planted {number}, ran inside of walls: {len(set(ran.split(chr(10))))}")
PY
    } > "$BATS_TEST_TMPDIR/script"
    drive -e IPYBOX_TOKEN=admin "$@" < "$BATS_TEST_TMPDIR/script"
}

doors=(--http 0.0.0.0:9000 --kernel-gateway-port 8888)
hardened=(--read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges)

@test "started as root: nothing that a cell has planted runs outside of walls" {
    planted 90 -- "${doors[@]}"
    planted 40 -- "${doors[@]}" --sandbox
}

@test "with --user: nothing that a cell has planted runs outside of walls" {
    workspace 1234:1234
    planted 90 --user 1234:1234 -v "$workspace:/app/workspace" -- "${doors[@]}"
    workspace 1234:1234
    planted 40 --user 1234:1234 -v "$workspace:/app/workspace" -- "${doors[@]}" --sandbox
}

@test "with --user, read-only and without capabilities: nothing that a cell has planted runs outside of walls" {
    workspace 1234:1234
    planted 90 --user 1234:1234 "${hardened[@]}" -v "$workspace:/app/workspace" -- "${doors[@]}"
    workspace 1234:1234
    planted 40 --user 1234:1234 "${hardened[@]}" -v "$workspace:/app/workspace" -- "${doors[@]}" --sandbox
}
