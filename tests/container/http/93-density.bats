# Many sessions: more than libzmq's own limit of sockets would allow, with fewer descriptors than a login has.
load ../lib/helpers

# bats test_tags=all
@test "250 sessions with a soft limit of 1024 open files have their own variables, and leave nothing" {
    start_box -e IPYBOX_TOKEN=admin --ulimit nofile=1024:8192 --cap-add SYS_PTRACE -- serve --max-sessions 251
    talk_inside <<'PY'
import pathlib
import time

def traces():
    server = next(p for p in pathlib.Path("/proc").glob("[0-9]*") if (p / "stat").read_text().split()[3] == "1"
                  and (p / "comm").read_text() == "ipybox\n")
    processes = [p for p in pathlib.Path("/proc").glob("[0-9]*") if (p / "comm").exists()]
    return len(processes), len(list((server / "fd").iterdir())), len(list(pathlib.Path("/run/ipybox").rglob("*")))

wait_for("the server", ready)
equal(run("import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))")["stdout"], "(1024, 8192)\n")

# The next spare kernel comes a moment after a session has taken one.
def quiet():
    seen = traces()
    time.sleep(1)
    return traces() == seen

wait_for("a server that does nothing", quiet)
before = traces()
for n in range(250):
    equal(call("POST", "/v1/sessions", {"id": f"s{n}"}).status, 201)
    equal(run(f"mine = {n}; print(mine)", f"s{n}")["stdout"], f"{n}\n")
equal(call("POST", "/v1/sessions", {"id": "more"}).status, 429)
for n in range(250):
    equal(run("print(mine)", f"s{n}")["stdout"], f"{n}\n")
for n in range(250):
    equal(call("DELETE", f"/v1/sessions/s{n}").status, 204)
wait_for("all to be gone", lambda: all(now <= then for now, then in zip(traces(), before)))
PY
    box kill -s TERM "$id"
    end_box
    refute_match "$errors" "there is room for"
}

@test "a limit of the container that --max-sessions does not fit into is named at the start" {
    start_box -e IPYBOX_TOKEN=admin --ulimit nofile=1024:4096 --pids-limit 20000 -- serve --max-sessions 1000
    wait_for is_well
    log_has 'WARNING server: --max-sessions 1000: there is room for some 285: a session takes 14 open files, and 4096 are there'
    box kill -s TERM "$id"
    end_box
}

@test "the kernel of an idle session ends, and the next answer says that its variables are gone" {
    start_box -e IPYBOX_TOKEN=admin -- serve --kernel-idle-timeout 1 --spare-kernels 0
    talk_inside <<'PY'
wait_for("the server", ready)
equal(call("POST", "/v1/sessions", {"id": "mine"}).status, 201)
equal(run("x = 1", "mine")["text"], "")
has(run("import time; time.sleep(2.5); print(x)", "mine")["stdout"], "1\n")
wait_for("no kernel", lambda: 'reason="idle"} 2' in call("GET", "/metrics", token=None).text)
again = run("print('x' in globals())", "mine")
equal(again["stdout"], "False\n")
equal(again["notice"], "This cell ran in a new kernel: the one before was idle for longer than --kernel-idle-timeout. "
                       "Variables and imports made before are gone.")
PY
    box kill -s TERM "$id"
    end_box
}
