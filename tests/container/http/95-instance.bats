# Which of several servers answers, and the token's own header: decision 0046.
load ../lib/helpers

# The port of the gateway; standard input: what follows.
at_gateway()
{
    cat <<'PY'
def gateway(**headers):
    request = urllib.request.Request("http://localhost:8888/api/kernelspecs", headers={k.replace("_", "-"): v for k, v in headers.items()})
    try:
        answer = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        answer = error
    return answer.status, answer.headers["Ipybox-Instance"], answer.headers["Ipybox-Owner"]
PY
    cat
}

@test "answers of API, /mcp and gateway name the host, and a token may come in a header of its own" {
    start_box --hostname pod-7 -e IPYBOX_EXECUTE_TOKEN=secret
    wait_for is_well
    at_gateway <<'PY' | talk_inside
import urllib.error, urllib.request
own, wrong = {"X-Ipybox-Token": "secret"}, {"X-Ipybox-Token": "wrong"}
answer = call("GET", "/v1/sessions", token=None, headers=own)
equal((answer.status, answer.headers["Ipybox-Instance"], answer["sessions"][0]["instance"]), (200, "pod-7", "pod-7"))
equal(call("GET", "/v1/sessions", token=None, headers=wrong).status, 401)
equal(call("GET", "/v1/sessions", token="secret", headers=wrong).status, 401)
equal(call("GET", "/v1/sessions", token="a-router's", headers=own).status, 200)
equal(call("GET", "/v1/sessions/default@pod-8", token="secret")["owner"], "pod-8")
ask = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}
accept = {"Accept": "application/json, text/event-stream"}
answer = call("POST", "/mcp", ask, token=None, headers=accept | own)
equal((answer.status, answer.headers["Ipybox-Instance"]), (200, "pod-7"))
equal(call("POST", "/mcp", ask, token=None, headers=accept | wrong).status, 401)
equal(call("POST", "/mcp", ask, token=None, headers=accept | own | {"Ipybox-Instance": "pod-8"}).status, 421)
equal(gateway(X_Ipybox_Token="secret"), (200, "pod-7", None))
equal(gateway(Authorization="token secret"), (200, "pod-7", None))
equal(gateway(X_Ipybox_Token="secret", Authorization="Bearer a-router's"), (200, "pod-7", None))
equal(gateway(X_Ipybox_Token="wrong"), (401, "pod-7", None))
equal(gateway(X_Ipybox_Token="wrong", Authorization="token secret"), (401, "pod-7", None))
equal(gateway(X_Ipybox_Token="secret", Ipybox_Instance="pod-8"), (421, "pod-7", "pod-8"))
equal(gateway(X_Ipybox_Token="secret", Ipybox_Instance="pod-7"), (200, "pod-7", None))
equal(gateway(X_Ipybox_Token="secret", Ipybox_Instance="pod 8"), (400, "pod-7", None))
PY
    box kill -s TERM "$id"
    end_box
}

@test "--instance names the server, and must be a name" {
    start_box -e IPYBOX_INSTANCE=ipybox-0 -- serve
    wait_for is_well
    talk_inside <<'PY'
equal(call("GET", "/readyz", token=None)["instance"], "ipybox-0")
PY
    box kill -s TERM "$id"
    end_box
    run_box -- serve --instance 'a b'
    assert_equal "$status" 2
    assert_match "$errors" '--instance: a name of at most 253 letters'
}
