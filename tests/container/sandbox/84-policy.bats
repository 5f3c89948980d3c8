# Another sandbox for a session while its kernel runs: docs/sandbox.md.
load ../lib/helpers

tokens=(-e IPYBOX_TOKEN=admin -e IPYBOX_EXECUTE_TOKEN=execute -e IPYBOX_APPROVER_TOKEN=approve)

# What every conversation begins with: settings, changes, and a server outside of the sandbox to reach.
read -r -d '' common <<'PY' || true
SANDBOX = "/v1/sessions/default/sandbox"
TARGET = "http://target.test:8099/"
REACH = f"import urllib.request as u; print(u.urlopen('{TARGET}').status)"


BEGUN = (".", "~/Library/Jupyter", "~/.ipython")  # what kernels of --sandbox begin with


def settings(*domains, deny_read=(".env",), write=BEGUN, **network):
    return {
        "network": {"allowedDomains": list(domains), "deniedDomains": [], **network},
        "filesystem": {"denyRead": list(deny_read), "allowWrite": list(write), "denyWrite": []},
    }


OPEN = ("target.test:8099", "127.0.0.7:8099")


def put(wanted, token="admin", session="default", **more):
    return call("PUT", f"/v1/sessions/{session}/sandbox", {"settings": wanted, **more}, token)


def changed(*domains, session="default", reset=False, **more):
    answer = put(settings(*domains, **more), session=session, reset=reset)
    assert answer.status == 200, answer.text
    return answer


def prints(code, text, session="default"):
    answer = run(code, session)
    assert (answer["status"], answer["stdout"]) == ("ok", text), answer.text


def fails(code, part, session="default"):
    answer = run(code, session)
    assert answer["status"] == "error", answer.text
    has("{ename}: {evalue}".format(**answer["error"]), part)


wait_for("the server", ready)
PY

# talk - a conversation with the API of the container $id, from inside it; standard input is its script.
talk()
{
    { printf '%s\n' "$common"; cat; } | talk_inside
}

# serve [OPTION OF docker run]... [-- WORD]... - a server with --sandbox, and something to reach at target.test:8099.
serve()
{
    split_words "$@"
    start_box --add-host target.test:127.0.0.7 "${tokens[@]}" "${options[@]}" -- serve --sandbox "${words[@]}"
    box exec -d "$id" python3 -m http.server 8099 --bind 127.0.0.7 --directory /usr/share
    wait_for limited docker exec "$id" python3 -c 'import socket; socket.create_connection(("127.0.0.7", 8099))'
}

@test "a host is refused, allowed and refused again, in one running kernel that keeps what it knows" {
    serve
    talk <<'PY'
prints("x = 42; import os; pid = os.getpid()", "")
fails(REACH, "Name or service not known")
changed(*OPEN)
prints(REACH, "200\n")
prints("""
import socket
s = socket.create_connection(('target.test', 8099))
try:
    socket.create_connection(('target.test', 8098))
except OSError as e:
    print(e.strerror)""", "Permission denied\n")
equal(call("GET", SANDBOX)["settings"], settings(*OPEN))
changed()
fails(REACH, "Name or service not known")
fails("socket.create_connection(('127.0.0.7', 8099))", "Permission denied")
# What was open is open.
prints("s.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n'); print(s.recv(8).decode())", "HTTP/1.0\n")
prints("print(x, pid == os.getpid())", "42 True\n")
# A cell that runs is held by it, too.
cell = stream("import time\nwhile True:\n    try:\n        socket.create_connection(('127.0.0.7', 8099)); break\n"
              "    except OSError:\n        print('no', flush=True); time.sleep(0.05)\nprint('yes')")
next(event for event in cell if event.get("text", "").startswith("no"))
changed(*OPEN)
equal(list(cell)[-1]["status"], "ok")
PY
    box logs "$id"
    assert_match "$errors" 'sandbox: session default: settings with the SHA-256 [0-9a-f]{64}, from 127.0.0.1: live'
    if grep -q 'settings with.*target' <<< "$errors"; then fail "the settings are in the log"; fi
    box rm -f "$id"
}

@test "a kernel that began without a rule for reading and without a network gets a network" {
    local config=$BATS_TEST_TMPDIR/settings.json
    echo '{"network": {"allowedDomains": [], "deniedDomains": []},
           "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}' > "$config"
    chmod 0644 "$config"
    serve -v "$config:/settings.json:ro" -- --sandbox-config /settings.json
    talk <<'PY'
fails("import socket; socket.create_connection(('127.0.0.7', 8099))", "Permission denied")
fails("s = socket.socket(); s.bind(('127.0.0.1', 0))", "Permission denied")
changed(*OPEN, deny_read=(), allowLocalBinding=True)
prints("print(socket.create_connection(('127.0.0.7', 8099)).getpeername()[1])", "8099\n")
prints("s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen(); print('bound')", "bound\n")
equal(put(settings(deny_read=["x"])).status, 409)
changed(deny_read=())
fails("socket.create_connection(('127.0.0.7', 8099))", "Permission denied")
PY
    box rm -f "$id"
}

@test "files: what more is granted holds at once and can be taken back; what the kernel began with takes a new one" {
    workspace 1000 0755
    echo SECRET | as_root tee "$workspace/.env" "$workspace/plain.txt" > /dev/null
    serve -v "$workspace:/app/workspace"
    talk <<'PY'
prints("x = 42", "")
fails("open('.env').read()", "Operation not permitted")
fails("open('/home/ipybox/made', 'w')", "Operation not permitted")
changed(deny_read=(), write=(*BEGUN, "/home/ipybox"))
prints("print(open('.env').read(), end=''); print(open('/home/ipybox/made', 'w').write('abc'))", "SECRET\n3\n")
prints("import os; os.mkdir('/home/ipybox/d'); os.rename('/home/ipybox/made', '/home/ipybox/d/f')", "")
prints("import subprocess; print(subprocess.run(['cat', '.env'], capture_output=True, text=True).stdout)", "SECRET\n\n")
changed()
fails("open('.env').read()", "Operation not permitted")
fails("open('/home/ipybox/d/f', 'w')", "Operation not permitted")
fails("os.unlink('/home/ipybox/d/f')", "Operation not permitted")

# The kernel of the machine has granted these to the running processes: nothing is pretended.
for less in settings(deny_read=[".env", "plain.txt"]), settings(write=["out"]):
    refused = put(less)
    equal(refused.status, 409)
    has(refused["detail"], "takes a new kernel: reset the session")
has(refused["detail"], "filesystem.allowWrite")
prints("print(open('plain.txt').read(), end='')", "SECRET\n")
equal(call("GET", SANDBOX)["settings"], settings())

changed(deny_read=[".env", "plain.txt"], reset=True)
fails("x", "NameError")
fails("open('plain.txt').read()", "Operation not permitted")
# Every kernel after it has them, however it came to be; none was made with other settings.
equal(call("POST", "/v1/sessions/default/reset").status, 204)
fails("open('plain.txt').read()", "Operation not permitted")
run("import os; os._exit(3)")
fails("open('plain.txt').read()", "Operation not permitted")
equal(call("GET", SANDBOX)["source"], "session")
# Another session has the server's.
equal(call("POST", "/v1/sessions", {"id": "other"}).status, 201)
prints("print(open('plain.txt').read(), end='')", "SECRET\n", "other")
PY
    box rm -f "$id"
}

@test "what follows a session's settings follows their change: files over HTTP, and set-up code of packages" {
    workspace 1000 0755
    echo SECRET | as_root tee "$workspace/plain.txt" > /dev/null
    as_root chmod 0644 "$workspace/plain.txt"
    as_root mkdir "$workspace/looks"
    as_root tee "$workspace/looks/pyproject.toml" > /dev/null <<< '[build-system]
requires = []
build-backend = "looks"
backend-path = ["."]'
    as_root tee "$workspace/looks/looks.py" > /dev/null <<'PY'
try:
    raise SystemExit("IT READ " + open("/app/workspace/plain.txt").read())
except OSError as error:
    raise SystemExit(f"IT IS KEPT OUT: {error}")
PY
    serve -v "$workspace:/app/workspace"
    talk <<'PY'
def install():
    return call("POST", "/v1/packages", {"package": "/app/workspace/looks"}, "execute").text


def file(method, status, body=None):
    equal(call(method, "/v1/files/plain.txt", body, "execute").status, status)


has(install(), "IT READ SECRET")
file("GET", 200)
changed(deny_read=[".env", "plain.txt"], reset=True)
has(install(), "IT IS KEPT OUT")
file("GET", 403)
file("DELETE", 403)
changed(reset=True)
has(install(), "IT READ SECRET")
file("GET", 200)
changed(write=["out"], reset=True)
file("PUT", 403, "x")
PY
    box rm -f "$id"
}

@test "only an administrator: no other token, no code in a cell; bad settings leave all as it was" {
    serve --user 1000:1000
    talk <<'PY'
for token, status in ("execute", 403), ("approve", 403), ("wrong", 401), (None, 401):
    equal(put(settings(*OPEN), token).status, status)
    equal(call("GET", SANDBOX, token=token).status, status)
equal(call("POST", "/v1/sessions", {"sandbox": settings(*OPEN)}, "execute").status, 403)

# What code can reach of the way that settings come: nothing, neither the shim's socket nor its own descriptors; and where
# the port may be reached, no role. Its line to the shim is the one pair that it has: the other was made by the server.
prints("""
import os, socket, stat
makers = []
for fd in range(3, 256):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            s = socket.socket(fileno=os.dup(fd))
            if s.type == socket.SOCK_SEQPACKET:
                makers.append(int.from_bytes(s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:4], 'little'))
    except OSError:
        pass
print(makers != [os.getppid()])
for act in (lambda: os.listdir(f'/proc/{os.getppid()}/fd'), lambda: os.kill(os.getppid(), 0),
            lambda: os.pidfd_open(os.getppid()) and open(f'/proc/{os.getppid()}/mem')):
    try:
        act()
        print('reached')
    except OSError as e:
        print(type(e).__name__)""", "False\n" + "PermissionError\n" * 3)
ask = """
import http.client, json, socket
def ask(connect):
    c = http.client.HTTPConnection('localhost', 8080)
    c.sock = connect()
    c.request('PUT', '/v1/sessions/default/sandbox', '%s', {'Content-Type': 'application/json'})
    return c.getresponse().status
def by_port():
    return socket.create_connection(('127.0.0.1', 8080))
def by_socket():
    s = socket.socket(socket.AF_UNIX)
    s.connect('/run/ipybox/1000/api.sock' if os.path.exists('/run/ipybox/1000/api.sock') else '/tmp/ipybox/1000/api.sock')
    return s
""" % json.dumps({"settings": settings(*OPEN)})
prints(ask, "")
fails("ask(by_port)", "Permission denied")
fails("ask(by_socket)", "Operation not permitted")
changed("127.0.0.1:8080", allowAllUnixSockets=True)
prints("print(ask(by_port))", "401\n")
fails("ask(by_socket)", "Operation not permitted")      # the runtime directory is hidden, whatever the settings say
changed()

for bad, status, key in (({"filesystem": {"allowWrites": []}}, 400, "allowWrites"),
                         (settings("*.com"), 400, "network.allowedDomains[0]"),
                         (settings(httpProxyPort=3128), 422, "httpProxyPort")):
    refused = put(bad)
    equal(refused.status, status)
    has(refused["detail"], key)
    equal(put(bad, reset=True).status, status)
fails(REACH, "Name or service not known")
fails("open('.env', 'w')", "Operation not permitted")
prints("print(open('made', 'w').write('x'))", "1\n")
PY
    box rm -f "$id"
}

@test "a session of an administrator has settings of its own from the start" {
    serve
    talk <<'PY'
equal(call("POST", "/v1/sessions", {"id": "mine", "sandbox": settings(*OPEN)}).status, 201)
prints(REACH, "200\n", "mine")
fails(REACH, "Name or service not known")
changed(session="mine")
fails(REACH, "Name or service not known", "mine")
equal(call("POST", "/v1/sessions", {"sandbox": {"network": 1}}).status, 400)
PY
    box rm -f "$id"
}

@test "the command line: root sees and changes it, from a file or standard input" {
    workspace 1000 0755
    echo SECRET | as_root tee "$workspace/.env" > /dev/null
    start_box -v "$workspace:/app/workspace" -- serve --sandbox --audit-log /tmp/audit.jsonl
    wait_for limited docker exec "$id" ipybox exec 'x = 42'
    box exec "$id" ipybox policy
    assert_equal "$status" 0
    assert_match "$output" "Session default, settings of the server:"
    assert_match "$output" "  .env = /app/workspace/.env"
    local more='{"network": {"allowedDomains": [], "deniedDomains": []},
                 "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}'
    local less=${more/'"allowWrite": ["."]'/'"allowWrite": []'}
    box exec "$id" sh -c "echo '$more' | ipybox policy -"
    assert_equal "$status" 1    # the default settings write more than that
    assert_match "$errors" "ipybox policy: filesystem.allowWrite without: ~/Library/Jupyter: .*takes a new kernel: reset"
    more=${more/'"."'/'".", "~/Library/Jupyter", "~/.ipython"'}
    box exec "$id" sh -c "echo '$more' > /tmp/more.json; echo '$less' > /tmp/less.json; ipybox policy /tmp/more.json"
    assert_equal "$status" 0
    assert_match "$output" "settings of the session:"
    box exec "$id" ipybox exec "print(x, open('.env').read())"
    assert_match "$output" "42 SECRET"
    box exec "$id" ipybox policy /tmp/less.json
    assert_equal "$status" 1
    box exec "$id" ipybox policy --reset /tmp/less.json
    assert_equal "$status" 0
    box exec "$id" ipybox exec "open('made', 'w')"
    assert_match "$errors" "Operation not permitted"
    box exec --user 1000:1000 "$id" ipybox policy /tmp/more.json
    assert_equal "$status" 1
    box exec "$id" ipybox policy --json --session default
    assert_match "$output" '"source":"session","sha256":"[0-9a-f]{64}"'
    box exec "$id" grep -c '"kind":"sandbox_changed".*"session":"default".*"role":"admin","outcome":"live".*"sha256"' /tmp/audit.jsonl
    assert_equal "$output" 1
    box exec "$id" ipybox audit verify /tmp/audit.jsonl
    assert_equal "$status" 0
    box rm -f "$id"
}
