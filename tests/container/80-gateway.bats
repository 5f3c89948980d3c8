# The bundled Jupyter Kernel Gateway.
load lib/helpers

# with_gateway [OPTION]... [-- WORD]... <<'PY' - as drive, with what the scripts below use.
with_gateway()
{
    {
        echo "CLIENT = Path('$here/gateway_client.py').read_text()"
        cat <<'PY'
ASK = """
import sys, urllib.request
request = urllib.request.Request("http://localhost:8888" + sys.argv[1], headers=dict([sys.argv[2].split(": ")] if sys.argv[2] else []))
try:
    with urllib.request.urlopen(request) as answer:
        print(answer.status, answer.read().decode())
except OSError as error:
    print(getattr(error, "code", error))
"""
def get(path, header=""):
    return inside("python3", "-", path, header, stdin=ASK).strip()
def gateway():
    return next((p for p in processes() if any("ipybox_gateway" in word for word in p.words) and p.words[0] != "/usr/local/bin/ipybox"), None)
def through_gateway(code, token=""):
    return inside("python3", "-", "8888", token, code, stdin=CLIENT, user="1000")
def wait_for_gateway():
    greet()                                     # an input that ends without a word would leave the gateway running
    wait_for("the gateway", lambda: get("/api")[:3] in ("200", "401", "403"))
PY
        cat
    } > "$BATS_TEST_TMPDIR/script"
    drive "$@" < "$BATS_TEST_TMPDIR/script"
}

@test "with --kernel-gateway-port the real gateway answers, beside MCP" {
    with_gateway -- --kernel-gateway-port 8888 <<'PY'
prints("1", 1)
wait_for_gateway()
status, body = get("/api").split(" ", 1)
equal(status, "200")
matches(json.loads(body)["version"], r"\d")
wait_for_log(r"Jupyter Kernel Gateway 3\.0\.1 is available")
equal(set(json.loads(get("/api/kernelspecs")[4:])["kernelspecs"]), {"python3"})
equal((gateway().uid, gateway().capabilities), (1000, 0))
prints("1", 1)
PY
}

@test "a kernel that is made through the gateway executes code in the workspace" {
    with_gateway -e SECRET=1 -e KERNEL_ENV_OPEN=open -e IPYBOX_KERNEL_GATEWAY_PORT=8888 <<'PY'
wait_for_gateway()
equal(through_gateway("import os; print(6 * 7, os.getcwd(), os.getuid())"), "42 /app/workspace 1000\n")
equal(through_gateway("import os; print(os.environ['OPEN'], 'SECRET' in os.environ)"), "open False\n")
PY
}

@test "cells of the gateway's clients are counted, apart from the server's own" {
    with_gateway -e IPYBOX_KERNEL_GATEWAY_PORT=8888 -- --http 8080 <<'PY'
READ = "import urllib.request as u; print(u.urlopen('http://localhost:8080/metrics').read().decode())"
def counted(status):
    return int(matches(inside("python3", "-c", READ), rf'\nipybox_gateway_cells_total{{status="{status}"}} (\d+)\n')[1])
wait_for_gateway()
through_gateway("import time; time.sleep(1); print(1)")
through_gateway("1 / 0")
wait_for("both", lambda: (counted("ok"), counted("error")) == (1, 1))
metrics = inside("python3", "-c", READ)
matches(metrics, r"\nipybox_gateway_cell_duration_seconds_count 2\n")
below(0.5, float(matches(metrics, r"\nipybox_gateway_cell_duration_seconds_sum ([0-9.]+)\n")[1]))
matches(metrics, r'\nipybox_cells_total\{status="ok"\} 0\n')
PY
}

@test "without the option there is no gateway" {
    with_gateway <<'PY'
prints("1", 1)
equal(gateway(), None)
PY
}

@test "a token is asked for when one is set" {
    with_gateway -e IPYBOX_KERNEL_GATEWAY_TOKEN=let-me-in -- --kernel-gateway-port 8888 <<'PY'
wait_for_gateway()
for path in "/api", "/api/kernelspecs", "/api/kernels":
    equal(get("/api/kernelspecs")[:3] in ("401", "403"), True)
    equal(get("/api/kernelspecs", "Authorization: token wrong")[:3] in ("401", "403"), True)
import base64
basic = lambda token: "Authorization: Basic " + base64.b64encode(b"x:" + token).decode()
for given in "Authorization: token let-me-in", "Authorization: Bearer let-me-in", basic(b"let-me-in"):
    equal(get("/api/kernelspecs", given)[:3], "200")
for given in "Authorization: Bearer wrong", basic(b"wrong"), "Authorization: Basic %%", "Authorization: let-me-in":
    equal(get("/api/kernelspecs", given)[:3] in ("401", "403"), True)
equal(through_gateway("print('in')", "let-me-in"), "in\n")
equal(through_gateway("import os; print('let-me-in' in str(os.environ))", "let-me-in"), "False\n")
PY
}

@test "the gateway is not opened to the network without a token" {
    run_box -- --kernel-gateway-port 8888 --kernel-gateway-host 0.0.0.0
    assert_equal "$status" 2
    assert_match "$errors" 'IPYBOX_KERNEL_GATEWAY_TOKEN'
    run_box -- --kernel-gateway-port 8888 --kernel-gateway-host ::
    assert_equal "$status" 2
}

@test "with a token the gateway is reached through a published port" {
    start_box -p 127.0.0.1::8888 -e IPYBOX_KERNEL_GATEWAY_TOKEN=let-me-in -- \
        --kernel-gateway-port 8888 --kernel-gateway-host 0.0.0.0
    box port "$id" 8888
    local url=http://$output
    answers() { [ "$(curl -s -o /dev/null -w '%{http_code}' -H "Authorization: token $1" "$url/api/kernelspecs")" = "$2" ]; }
    wait_for answers let-me-in 200
    answers wrong 401 || answers wrong 403
    stop_box
    end_box
    assert_equal "$status" 0
}
