# The command line: exec, sessions, approve and logs in a container whose server runs.
load ../lib/helpers

# cli WORD... - ipybox in $id, as docker exec has it: as root, where the container was started so.
cli()
{
    box exec "$id" ipybox "$@"
}

ready()
{
    limited docker exec "$id" ipybox exec 1 >/dev/null 2>&1
}

start_server()
{
    start_box "$@"
    wait_for ready
}

end_server()
{
    limited docker rm -f "$id" >/dev/null
}

# waiting - sets approval to the id of the first question that waits.
waiting()
{
    cli approve --json
    approval=$(sed -n 's/.*"id":"\([0-9a-f]*\)".*/\1/p' <<<"$output")
    [ -n "$approval" ]
}

# ask COMMAND - a cell that runs a shell command begins in the background; its status and output go to $answer.
ask()
{
    answer=$(mktemp "$BATS_TEST_TMPDIR/answer-XXXXXX")
    { limited docker exec "$id" ipybox exec "$1" >"$answer" 2>&1 || true; echo "end $?" >>"$answer"; } 3>&- &
}

answered()
{
    grep -q '^end' "$answer"
}

@test "a cell runs as if it were a program" {
    start_server -- serve
    cli exec 'import sys; print("to 1"); print("to 2", file=sys.stderr); x = 41'
    assert_equal "$status $output $errors" "0 to 1 to 2"
    cli exec 'x + 1'
    assert_equal "$status $output" "0 42"
    cli exec 'print("before"); 1/0'
    assert_equal "$status $output" "1 before"
    assert_match "$errors" 'ZeroDivisionError: division by zero'
    local code
    for code in 0 3; do
        cli exec "print('before'); raise SystemExit($code)"
        assert_equal "$status $output" "$code before"
        refute_match "$errors" Traceback
    done
    cli exec 'raise SystemExit'
    assert_equal "$status" 0
    cli exec 'raise SystemExit("no such file")'
    assert_equal "$status" 1
    assert_match "$errors" 'no such file'
    cli exec --timeout 1 'import time; time.sleep(600)'
    assert_equal "$status" 124
    box exec "$id" sh -c 'printf "for i in range(3):\n    print(i)\n" | ipybox exec -'
    assert_equal "$status $output" "0 0"$'\n'"1"$'\n'"2"
    cli exec --session nowhere 1
    assert_equal "$status" 2
    assert_match "$errors" 'there is no session nowhere'
    # Ctrl-C: the cell is interrupted, the kernel keeps what it knows.
    box exec "$id" sh -c '
        ipybox exec "import time; print(\"begun\", flush=True); time.sleep(600)" >/tmp/out 2>&1 &
        until grep -q begun /tmp/out; do sleep 0.05; done
        kill -INT $!
        wait $!'
    assert_equal "$status" 130
    cli exec 'x'
    assert_equal "$output" 41
    # A client that is killed takes its cell with it.
    box exec "$id" sh -c '
        ipybox exec "import time; print(\"again\", flush=True); time.sleep(600)" >/tmp/out 2>&1 &
        until grep -q again /tmp/out; do sleep 0.05; done
        kill -KILL $!'
    cli exec 'x'
    assert_equal "$output" 41
    cli sessions
    assert_match "$output" $'^ID +STATE .*\ndefault +idle +0 '
    cli sessions --json
    assert_match "$output" '^\{"sessions":\[\{"id":"default"'
    cli logs --session default
    assert_match "$output" 'Z cell [0-9]+ stdout to 1'$'\n''.*Z cell [0-9]+ stderr to 2'
    assert_match "$output" ' end timeout'
    cli logs --json
    assert_match "$output" '\{"event":"stdout","id":[0-9]+,"cell":[0-9]+,"time_ms":[0-9]+,"text":"to 1'
    box exec "$id" sh -c 'ipybox exec "print(\"x\" * 10_000_000)" | wc -c'
    assert_equal "$output" 10000001
    end_server
}

@test "code in kernels registers no server over MCP, which would be started with the secrets of the environment" {
    start_server -e IPYBOX_APPROVER_TOKEN=of-somebody-else -- serve --approve-shell-cmds
    local ask_to_register='
import glob, json, os, socket
path, = glob.glob("/run/ipybox/*/api.sock")
meta = {"io.modelcontextprotocol/" + name: value
        for name, value in (("protocolVersion", "2026-07-28"), ("clientCapabilities", {"elicitation": {}}))}
server = {"server_name": "s", "server_params": {"command": "sh", "args": ["-c", "echo ${HOME} > /app/workspace/stolen"]}}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": "register_mcp_server", "arguments": server, "_meta": meta}})
s = socket.socket(socket.AF_UNIX)
s.connect(path)
s.sendall(("POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
           "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: register_mcp_server\r\n"
           f"Content-Length: {len(body)}\r\n\r\n{body}").encode())
text = s.makefile().read()
'
    local stolen='os.path.exists("/app/workspace/stolen")'
    cli exec "${ask_to_register}print(text.split()[1], $stolen)"
    assert_equal "$output" "403 False"
    # The same uid from outside has the role execute, which does not register either.
    box exec --user 1000 "$id" python3 -c "$ask_to_register"'
answer = json.loads(text.split("\n\n", 1)[1])["result"]
print(answer["isError"], "IPYBOX_TOKEN" in answer["content"][0]["text"], '"$stolen)"
    assert_equal "$output" "True True False"
    end_server
}

@test "root approves by the command line what a cell asks for, and code in kernels cannot" {
    start_server -e IPYBOX_APPROVER_TOKEN=of-somebody-else -- serve --approve-shell-cmds
    ask "!printf 'done\\n'  # $(printf '\033')[2J"
    wait_for waiting
    cli approve
    assert_match "$output" "^$approval"$'\n''  session   default'
    assert_match "$output" 'printf'
    assert_match "$output" 'u001b'
    refute_match "$output" $'\033'
    box exec --user 1000 "$id" ipybox approve "$approval" yes
    assert_equal "$status" 1
    assert_match "$errors" 'only root may do this'
    cli approve "$approval" yes
    assert_equal "$status $output" "0 "
    wait_for answered
    assert_match "$(< "$answer")" 'done'
    cli approve "$approval" yes
    assert_equal "$status" 1
    ask '!echo refused'
    wait_for waiting
    cli approve "$approval" no
    wait_for answered
    assert_match "$(< "$answer")" 'rejected'
    ask '!echo by-terminal'
    wait_for waiting
    terminal "$approval" 'may it be made (yes, no): ' yes
    assert_match "$output" "^$approval.*by-terminal.* 0\$"
    wait_for answered
    assert_match "$(< "$answer")" 'by-terminal'
    # A cell speaks to the socket itself: it has no role. The same uid from outside may execute, and no more.
    local ask_all='
import glob, os, socket
path, = glob.glob("/run/ipybox/*/api.sock")
def say(text):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    s.sendall(text.encode())
    return s.makefile().readline().split()[1]
print(say("GET /v1/sessions HTTP/1.0\r\n\r\n"), say("GET /v1/approvals HTTP/1.0\r\n\r\n"),
      say("POST /v1/approvals/x HTTP/1.0\r\nContent-Length: 0\r\n\r\n"),
      say("POST /v1/mcp-servers HTTP/1.0\r\nContent-Length: 0\r\n\r\n"))'
    cli exec "$ask_all"
    assert_equal "$output" "403 403 403 403"
    box exec --user 1000 "$id" python3 -c "$ask_all"
    assert_equal "$output" "200 403 403 403"
    # No process below the server has inherited the socket.
    cli exec '
lines = [line.split() for line in open("/proc/net/unix") if line.endswith("/api.sock\n")]
listening = {line[6] for line in lines if line[3] == "00010000"}
mine = {os.readlink(name) for name in glob.glob("/proc/self/fd/*") if os.path.islink(name)}
print(len(listening), {f"socket:[{inode}]" for inode in listening} & mine)'
    assert_equal "$output" "1 set()"
    # A cell cannot take the place of the socket.
    cli exec 'os.rename(path, path + ".real")'
    assert_equal "$status" 1
    assert_match "$errors" 'PermissionError'
    # One of its own beside it, where a server that was not started as root has it: root is not deceived.
    cli exec '
os.mkdir("/run/ipybox/1000")
fake = socket.socket(socket.AF_UNIX); fake.bind("/run/ipybox/1000/api.sock"); fake.listen()
import threading
def serve():
    while True: fake.accept()[0].close()
threading.Thread(target=serve, daemon=True).start()'
    assert_equal "$status" 0
    cli approve
    assert_equal "$status $output" "0 "
    box exec -e IPYBOX_RUNTIME_DIR=/run/ipybox/1000 "$id" ipybox approve
    assert_equal "$status $output" "1 "
    assert_match "$errors" 'listens there, which is not the server'
    end_server
}

# terminal ID [PROMPT LINE]... - ipybox approve ID on a terminal; as each prompt comes, its line is typed (-: none). Sets
# output to what was seen up to the last prompt, and its status.
terminal()
{
    box exec -i "$id" python3 - "$@" <<'PY'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execvp("ipybox", ["ipybox", "approve", sys.argv[1]])
seen, at = b"", 0
for prompt, line in zip(sys.argv[2::2], sys.argv[3::2]):
    while prompt.encode() not in seen[at:]:
        seen += os.read(fd, 4096)
    at = seen.index(prompt.encode(), at) + len(prompt)
    if line != "-":
        os.write(fd, line.encode() + b"\n")
print(seen[:at].decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}

# question FORM - a cell in the background calls a tool whose server asks with that form.
question()
{
    ask "from mcptools.demo import ask; print('said', ask.run(ask.Params(form=r'''$1''')))"
    wait_for waiting
}

form='{"type": "object", "required": ["name"], "properties": {
    "name": {"type": "string", "title": "Your\u001b[2J name", "minLength": 2},
    "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
    "age": {"type": "integer", "maximum": 150},
    "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}}}'

@test "root answers a server's question by the command line, in words, in JSON or on a terminal" {
    mkdir "$BATS_TEST_TMPDIR/tools"
    cp "$here/tool_server.py" "$BATS_TEST_TMPDIR/tools"
    echo '{"mcpServers": {"demo": {"command": "python3", "args": ["/tools/tool_server.py"]}}}' \
        > "$BATS_TEST_TMPDIR/tools/servers.json"
    start_server -e IPYBOX_APPROVER_TOKEN=of-somebody-else -v "$BATS_TEST_TMPDIR/tools:/tools:ro" \
        -- serve --mcp-servers /tools/servers.json
    wait_for log_has 'mcptools.demo: 13 tools'

    question "$form"
    cli approve
    assert_match "$output" "^$approval"$'\n''  session   default'$'\n''  server    demo'
    assert_match "$output" $'  asks\n    Who are you[?]\n  fields\n    name: text, at least 2 characters; needed\n'
    assert_match "$output" 'Your.u001b\[2J name'
    assert_match "$output" 'colour: one of red, green; default "green"'
    refute_match "$output" $'\033'
    # What does not fit is refused, and the question goes on waiting.
    cli approve "$approval"
    assert_equal "$status" 2
    assert_match "$errors" 'without a terminal ID with yes, no, cancel or FIELD=VALUE is needed'
    cli approve "$approval" yes
    assert_equal "$status" 2
    assert_match "$errors" 'content.name: it is required'
    cli approve "$approval" name=Ada age=200
    assert_equal "$status" 2
    assert_match "$errors" 'content.age: must be at most 150'
    cli approve "$approval" name=Ada --remember 5
    assert_equal "$status" 2
    assert_match "$errors" 'this is a question: --remember'
    cli approve "$approval" name=Ada age=36 tags=a tags=b
    assert_equal "$status $output" "0 "
    wait_for answered
    assert_match "$(< "$answer")" 'said \{"action": "accept", "content": \{"age": 36, "colour": "green", "name": "Ada", "tags": \["a", "b"\]\}\}'
    cli approve "$approval" name=Ada
    assert_equal "$status" 1
    assert_match "$errors" 'nothing waits with the id'

    question "$form"
    box exec -i "$id" ipybox approve "$approval" --answer - <<<'{"name": "Ada"}'
    assert_equal "$status" 0
    wait_for answered
    assert_match "$(< "$answer")" 'said \{"action": "accept", "content": \{"name": "Ada"\}\}'

    question "$form"
    cli approve "$approval" no
    wait_for answered
    assert_match "$(< "$answer")" 'said \{"action": "decline"\}'
    question "$form"
    cli approve "$approval" cancel
    wait_for answered
    assert_match "$(< "$answer")" 'said \{"action": "cancel"\}'

    question "$form"
    terminal "$approval" 'what to do (accept, decline, cancel): ' accept 'name: ' A 'it has 1 characters' - \
        'name: ' Ada 'colour ["green"]: ' '' 'age: ' old 'a number is needed' - 'age: ' 36 \
        'tags' a 'and: ' '' 'send it (yes, no): ' yes
    assert_equal "$status" 0
    assert_match "$output" ' 0$'
    wait_for answered
    assert_match "$(< "$answer")" 'said \{"action": "accept", "content": \{"age": 36, "colour": "green", "name": "Ada", "tags": \["a"\]\}\}'
    end_server
}

@test "where everything has one uid nobody approves by the command line, and it says what else to do" {
    start_server --user 4711:4711 -- serve --approve-shell-cmds
    cli exec 'import os; os.getuid()'
    assert_equal "$output" 4711
    cli approve
    assert_equal "$status" 1
    assert_match "$errors" 'code in kernels has the same uid \(4711\).*IPYBOX_APPROVER_TOKEN'
    box exec --user 0 "$id" ipybox approve
    assert_equal "$status" 1
    assert_match "$errors" 'IPYBOX_APPROVER_TOKEN'
    end_server
}

@test "the commands need no HTTP port, and say so when there is no server" {
    drive <<'PY'
        prints("x = 1; x", 1)
        equal(inside("ipybox", "exec", "x + 1"), "2\n")
PY
    run_box -- exec 1
    assert_equal "$status $output" "125 "
    assert_match "$errors" 'ipybox exec: .*no server is running'
    run_box -- sessions
    assert_equal "$status" 1
}
