# The name srt: Anthropic's sandbox-runtime, as its users call it (docs/sandbox-settings.md). tests/srt runs its own tests.
load ../lib/helpers

# settings DOMAINS WRITES [MORE] - writes a file of settings; sets settings.
settings()
{
    settings=$BATS_TEST_TMPDIR/settings-$RANDOM.json
    echo "{\"network\": {\"allowedDomains\": [$1], \"deniedDomains\": []${3:-}},
           \"filesystem\": {\"denyRead\": [\".env\"], \"allowWrite\": [$2], \"denyWrite\": []}}" > "$settings"
    chmod 0644 "$settings"
}

# with_web [OPTION]... -- TEXT - runs the text where a web server answers to example.com, which is no other machine.
with_web()
{
    split_words "$@"
    words=(sh -c "
        mkdir /tmp/web && echo 'Example Domain' > /tmp/web/index.html
        python3 -m http.server 80 --bind 127.0.0.7 --directory /tmp/web >/tmp/web.log 2>&1 &
        until python3 -c 'import socket; socket.create_connection((\"127.0.0.7\", 80))' 2>/dev/null; do sleep 0.05; done
        ${words[0]}")
    run_box --add-host example.com:127.0.0.7 --network none -v "$settings:/settings.json:ro" \
        -v "$client:/client.py:ro" "${options[@]}" -- "${words[@]}"
}

# client - writes a program that gets a page: "client.py http|connect|socks|direct|program HOST", by one of the proxies of the
# environment, past them, or as any program does it; sets client.
client()
{
    client=$BATS_TEST_TMPDIR/client.py
    cat > "$client" <<'PY'
import os, socket, sys, urllib.request
from urllib.parse import urlsplit

way, host = sys.argv[1:]
if way == "program":
    print(urllib.request.urlopen(f"http://{host}").read().decode().strip())
    sys.exit()
proxy = urlsplit(os.environ["ALL_PROXY" if way == "socks" else "HTTP_PROXY"])
request = f"GET / HTTP/1.0\r\nHost: {host}\r\n\r\n".encode()

def until(end):
    text = b""
    while not text.endswith(end):
        byte = sock.recv(1)
        if not byte:
            sys.exit(text.decode())
        text += byte
    return text.decode()

try:
    sock = socket.create_connection((host, 80) if way == "direct" else (proxy.hostname, proxy.port), 20)
except OSError as error:
    sys.exit(f"{error}")
if way == "http":
    request = request.replace(b"GET /", f"GET http://{host}/".encode())
elif way == "connect":
    sock.sendall(f"CONNECT {host}:80 HTTP/1.1\r\nHost: {host}:80\r\n\r\n".encode())
    answer = until(b"\r\n\r\n")
    if " 200 " not in answer:
        sys.exit(answer)
elif way == "socks":
    assert proxy.scheme == "socks5h", proxy
    sock.sendall(b"\5\1\0")
    assert sock.recv(2) == b"\5\0"
    sock.sendall(b"\5\1\0\3" + bytes([len(host)]) + host.encode() + (80).to_bytes(2, "big"))
    answer = sock.recv(10)
    if answer[1] != 0:
        sys.exit(f"socks answers {answer[1]}")
sock.sendall(request)
print(b"".join(iter(lambda: sock.recv(4096), b"")).decode().split("\r\n\r\n")[-1].strip())
PY
    chmod 0644 "$client"
}

@test "the words of srt: -c, words that are joined, none at all" {
    run_box -- srt -c 'echo "a  b" | tr a-z A-Z; exit 3'
    assert_equal "$status $output" "3 A  B"
    run_box -- srt echo '"a  b"' '|' wc -w
    assert_equal "$status $output" "0 2"
    run_box -- srt -c 'echo of -c' echo of words
    assert_equal "$status $output" "0 of -c"
    run_box -- srt
    assert_equal "$status" 1
    assert_match "$errors" "Error: No command specified"
    run_box -- srt -d
    assert_equal "$status" 1
    run_box -- srt no-such-program
    assert_equal "$status" 127
    run_box -- srt 'kill -KILL $$'
    assert_equal "$status" 1
    assert_match "$errors" "Process killed by signal"
}

@test "what srt is asked to tell, and nothing else" {
    run_box -e SRT_DEBUG=1 -- srt 'touch x || cat /etc/hostname'
    assert_match "$errors" "\[SandboxDebug\] Original command: touch x"
    assert_match "$errors" "\[SandboxDebug\] refused pid=[0-9]+ call=openat path=/app/workspace/x"
    run_box -- srt -d -c 'echo x'
    assert_match "$errors" "\[SandboxDebug\] Command string mode \(-c\): echo x"
    run_box -- srt 'touch x || cat /etc/hostname'
    refute_match "$errors" "SandboxDebug|refused"
}

@test "without settings of its own: all is read, nothing is written, nothing is reached" {
    run_box -- srt 'cat /etc/hostname >/dev/null && echo read; echo x > x; (: > /dev/tcp/127.0.0.1/22) || env | grep -c PROXY'
    assert_equal "$output" "read"$'\n'"0"
    assert_match "$errors" "x: Read-only file system"
    settings "" '"."'
    run_box -v "$settings:/home/ipybox/.srt-settings.json:ro" -- srt 'echo x > x && cat x; cat .env; mkdir /tmp/y'
    assert_equal "$output" x
    assert_match "$errors" "\.env: No such file or directory"
    assert_match "$errors" "‘?/tmp/y.*Read-only file system"
    run_box -- srt -s /nowhere.json echo x
    assert_equal "$status $output" "1 "
    assert_match "$errors" "Error: .*/nowhere.json"
}

@test "a refused write is of a read-only file system, a refused read is not permitted; without the name both are not" {
    settings "" '"."'
    workspace 1000 0755
    echo SECRET=1 | as_root tee "$workspace/.env" > /dev/null
    for way in srt "ipybox sandbox"; do
        local write="Read-only file system"
        if [ "$way" != srt ]; then write="Operation not permitted"; fi
        run_box -v "$workspace:/app/workspace" -v "$settings:/s.json:ro" -- sh -c "$way --settings /s.json -c '
            cat .env; echo x > .env; touch /tmp/x; mkdir /tmp/y; rm /etc/hostname; mv .env z; ln .env y; chmod 600 .env
            touch inside && echo made'"
        assert_equal "$output" made
        assert_match "$errors" "cat: .env: Operation not permitted"
        for what in "bash: line [0-9]: .env" "touch '/tmp/x'" "create directory .*y." "remove '/etc/hostname'" \
            "move '.env' to 'z'" "hard link 'y'.*" "permissions of '.env'"; do
            LC_ALL=C.UTF-8 grep -qE "$what: $write" <<< "$errors" || fail "$what is not refused as $write"
        done
    done
}

@test "both proxies follow the settings, and so does a connection without a proxy" {
    settings '"example.com", "127.0.0.7:80"' ''
    client
    for way in http connect socks direct; do
        with_web -- "srt -s /settings.json python3 /client.py $way example.com"
        assert_equal "$status $output" "0 Example Domain"
    done
    with_web -- "srt -s /settings.json python3 /client.py http example.org"
    assert_equal "$output" "Connection blocked by network allowlist"
    with_web -- "srt -s /settings.json python3 /client.py connect example.org"
    assert_match "$errors" "403 Forbidden.*blocked-by-allowlist"
    with_web -- "srt -s /settings.json python3 /client.py socks example.org"
    assert_match "$errors" "socks answers 2"
    with_web -- "srt -s /settings.json python3 /client.py direct example.org"
    assert_match "$errors" "not known|No address"
    with_web -- "srt -s /settings.json python3 /client.py http 192.0.2.1"
    assert_equal "$output" "Connection blocked by network allowlist"
    # As any program sees it; without the name no proxy is there.
    with_web -- "srt -s /settings.json python3 /client.py program example.com; srt -s /settings.json python3 /client.py program example.org"
    assert_equal "$output" "Example Domain"
    assert_match "$errors" "HTTP Error 403"
    with_web -- "ipybox sandbox -s /settings.json -c 'env | grep -ci _proxy'"
    assert_equal "$output" 0
}

@test "a name that leads to an inner address is refused unless the address is listed" {
    settings '"example.com"' ''
    client
    with_web -- "srt -s /settings.json python3 /client.py http example.com"
    assert_equal "$output" "Connection blocked by network allowlist"
}

@test "proxies of others: their ports alone are reached, and they judge" {
    settings '"example.com"' '' ', "httpProxyPort": 3128'
    client
    local proxy='import http.server as h
class Proxy(h.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(("proxy of " + self.path).encode())
    def log_message(self, *a): pass
h.HTTPServer(("127.0.0.1", 3128), Proxy).serve_forever()'
    local start="python3 -c '$proxy' & until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 3128))' 2>/dev/null; do :; done"
    with_web -- "$start; srt -s /settings.json -c 'env | grep -c ALL_PROXY; python3 /client.py http example.org'"
    assert_equal "$output" $'0\nproxy of http://example.org/'
    with_web -- "$start; srt -s /settings.json python3 /client.py direct example.com"
    assert_equal "$status $output" "1 "
    with_web -- "$start; srt -s /settings.json python3 /client.py direct 127.0.0.7"
    assert_match "$errors" "Permission denied"
}

# bats test_tags=all
@test "a server of the npm registry below srt, as MCP server: it lists the workspace, and .env is not permitted" {
    local ca=()
    settings '"registry.npmjs.org"' '".", "~/.npm"'
    workspace 1000 0755
    echo SECRET=1 | as_root tee "$workspace/.env" "$workspace/plain.txt" > /dev/null
    if [ -n "${IPYBOX_CA:-}" ]; then ca=(-v "$IPYBOX_CA:/ca.pem:ro"); fi
    drive "${ca[@]}" -v "$workspace:/app/workspace" -v "$settings:/settings.json:ro" -- --sandbox --connect-timeout 150 <<PY
        answer = tool("register_mcp_server", server_name="files", server_params={
            "command": "srt", "cwd": ".", "env": {"NODE_EXTRA_CA_CERTS": "${ca:+/ca.pem}"},
            "args": ["--settings", "/settings.json", "npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "."]})
        equal(answer.error and answer.texts, False)
        matches(runs("from mcptools.files import list_directory as d; print(d.run(d.Params(path='.')))").text, "plain.txt")
        matches(runs("from mcptools.files import read_file as f; print(f.run(f.Params(path='plain.txt')))").text, "SECRET=1")
        fails("f.run(f.Params(path='.env'))", "operation not permitted")
        runs("from mcptools.files import write_file as w; w.run(w.Params(path='new.txt', content='x'))")
PY
}
