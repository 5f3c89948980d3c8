# Options, variables, help, health, log, and what an idle server costs.
load lib/helpers

every_option='workspace tool-server-host tool-server-port kernel-gateway-host kernel-gateway-port kernel-gateway-token
    sandbox sandbox-config log-level log-format stop-grace interrupt-grace kernel-start-timeout output-file-limit python ca'

# wrong PATTERN [OPTION]... [-- WORD]... - refused with status 2, in one line that has the pattern in it.
wrong()
{
    local pattern=$1
    shift
    run_box "$@"
    assert_equal "$status" 2
    assert_equal "$output" ""
    assert_match "$errors" "^ipybox: "
    assert_match "$errors" "$pattern"
    assert_equal "$(wc -l <<< "$errors")" 1
}

@test "--help and help name every option with its variable, every command, and how to start it" {
    local option
    run_box -- --help
    assert_equal "$status" 0
    local help=$output
    for option in $every_option; do assert_match "$help" "--$option"; done
    for option in server init health man help version PUID PGID UMASK TZ KERNEL_ENV_NAME IPYBOX_KERNEL_GATEWAY_TOKEN_FILE; do
        assert_match "$help" "$option"
    done
    assert_match "$help" 'docker run -i'
    assert_match "$help" '"mcpServers"'
    assert_equal "$(awk 'length > 80' <<< "$help")" ""
    run_box -- help
    assert_equal "$output" "$help"
    run_box -- -h
    assert_equal "$output" "$help"
}

@test "--version and version print the version that is in the image's label" {
    local version
    version=$(docker image inspect --format '{{index .Config.Labels "org.opencontainers.image.version"}}' "$image")
    local word
    for word in --version -V version; do
        run_box -- "$word"
        assert_equal "$output" "ipybox $version"
        assert_equal "$status" 0
    done
}

@test "the manual page and the tables for documents are made of the same options" {
    local option
    run_box -- man
    assert_equal "$status" 0
    assert_match "$output" '^\.TH IPYBOX 1'
    local page=${output//\\-/-}
    for option in $every_option; do assert_match "$page" "--$option"; done
    run_box -- help --markdown
    assert_equal "$status" 0
    for option in $every_option; do assert_match "$output" "\| \`--$option"; done
}

@test "unknown options and words are refused by name, with a hint for a slip" {
    wrong 'unknown option --nonsense' -- --nonsense
    wrong 'unknown option --log-levl .did you mean --log-level\?' -- --log-levl DEBUG
    wrong 'unknown option -x' -- -x
    wrong "unexpected word 'word'" -- --log-level DEBUG word
    wrong 'unknown variable IPYBOX_LOGLEVEL .did you mean IPYBOX_LOG_LEVEL\?' -e IPYBOX_LOGLEVEL=DEBUG
}

@test "a Kubernetes service that is called ipybox is no mistyped variable" {
    run_box -e IPYBOX_PORT=tcp://192.0.2.1:8080 -e IPYBOX_PORT_8080_TCP_ADDR=192.0.2.1 -e IPYBOX_SERVICE_HOST=192.0.2.1 \
        -e IPYBOX_SERVICE_PORT=8080 -e IPYBOX_SERVICE_PORT_HTTP=8080 -- server
    assert_equal "$status" 0
}

@test "the first line of the log says what starts, and that of the sandbox what is missing" {
    run_box -- server
    assert_match "$(head -n 1 <<< "$errors")" 'INFO +init: ipybox [0-9.]+ starts: it runs Python for language models in /app/workspace, and serves MCP on'
    assert_match "$errors" 'sandbox: kernels run without a sandbox; with --sandbox they would have level full'
}

@test "each command has a help of its own" {
    run_box -- exec --help
    assert_equal "$status" 0
    assert_match "$output" '^Usage: ipybox exec'
    assert_match "$output" '--timeout'
    refute_match "$output" "--log-level"
    local page=$output
    run_box -- help exec
    assert_equal "$output" "$page"
    run_box -- health -h
    assert_match "$output" '^Usage: ipybox health'
}

@test "bash completes commands and their options" {
    run_box -- completions bash
    assert_equal "$status" 0
    local COMP_WORDS COMP_CWORD COMPREPLY
    eval "$output"
    COMP_WORDS=(ipybox ex) COMP_CWORD=1
    _ipybox
    assert_equal "${COMPREPLY[*]}" "exec export"
    COMP_WORDS=(ipybox exec --t) COMP_CWORD=2
    _ipybox
    assert_equal "${COMPREPLY[*]}" --timeout
    wrong 'bash, zsh or fish' -- completions csh
}

@test "bad values are refused by the name of the option or the variable" {
    wrong '--log-level.*LOUD' -- --log-level LOUD
    wrong '--log-level' -- --log-level
    wrong '--log-level' -- --log-level=
    wrong 'IPYBOX_LOG_LEVEL.*LOUD' -e IPYBOX_LOG_LEVEL=LOUD
    wrong '--log-format.*xml' -- --log-format=xml
    wrong '--stop-grace.*seconds.*soon' -- --stop-grace soon
    wrong '--kernel-gateway-port.*0 to 65535.*65536' -- --kernel-gateway-port 65536
    wrong 'IPYBOX_KERNEL_GATEWAY_PORT' -e IPYBOX_KERNEL_GATEWAY_PORT=-1
    wrong '--output-file-limit.*4T' -- --output-file-limit 4T
    run_box -e IPYBOX_CA=/not-there
    assert_equal "$status" 2
    assert_match "$errors" 'CA bundle /not-there'
}

@test "options and variables do the same, an option wins, and an empty variable counts as none" {
    drive -e IPYBOX_LOG_LEVEL= -e IPYBOX_SANDBOX=0 -e IPYBOX_LOG_FORMAT=json -- --log-level=DEBUG --log-format text <<'PY'
        prints("1", 1)
        wait_for_log("DEBUG")
        matches(log(), r"\A\d{4}-\d\d-\d\dT")
PY
    drive -e IPYBOX_LOG_LEVEL=error <<'PY'
        prints("1", 1)
        end()
        equal(log(), "")
PY
}

@test "--workspace chooses the directory of cells, and one that is not there is refused" {
    drive -- --workspace /var/tmp <<'PY'
        prints("import os; os.getcwd()", "'/var/tmp'")
PY
    wrong 'workspace /not/there: No such file or directory' -- --workspace /not/there
    wrong 'workspace /etc/passwd: .*ot a directory' -e IPYBOX_WORKSPACE=/etc/passwd
}

@test "the workspace that an option names is whose owner everything becomes" {
    workspace 1234:5678
    drive -v "$workspace:/data" -- --workspace /data <<'PY'
        prints("import os; os.getuid(), os.getcwd()", "(1234, '/data')")
PY
    drive -v "$workspace:/data" -e IPYBOX_WORKSPACE=/data <<'PY'
        prints("import os; os.getuid(), os.getcwd()", "(1234, '/data')")
PY
}

@test "--python chooses the interpreter, and one that does not work is told in the cell's answer" {
    drive -- --python /no/such/python <<'PY'
        fails("1", "the cell did not run: .*(/no/such/python|No such file)")
PY
    drive -e IPYBOX_PYTHON=/bin/false <<'PY'
        fails("1", "the cell did not run: no kernel could be started: .*status 1")
PY
    printf '%s\n' '#!/bin/sh' 'seq 1000 >&2' 'echo "ImportError: the cause" >&2' 'exit 1' > "$BATS_TEST_TMPDIR/python"
    chmod 0755 "$BATS_TEST_TMPDIR/python"
    drive -v "$BATS_TEST_TMPDIR/python:/python:ro" -- --python /python <<'PY'
        fails("1", r"(?s)no kernel could be started: .*status 1; it wrote: …\d+\n.*\n1000\nImportError: the cause\Z")
PY
}

@test "the log is one JSON object per line when asked for" {
    drive -- --log-format json --log-level DEBUG <<'PY'
        fails("import os; os._exit(3)", "KernelDied")
        end()
        lines = log().splitlines()
        below(1, len(lines))
        for line in lines:
            entry = json.loads(line)
            equal(list(entry), ["time", "level", "room", "text"])
            matches(entry["time"], r"\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")
PY
}

@test "the log never holds what cells do or print" {
    drive -- --log-level DEBUG <<'PY'
        prints("secret = 'hush' + 'hush'; print(secret)", "hushhush")
        fails("raise ValueError('hush')", "hush")
        end()
        equal("hush" in log(), False)
PY
}

@test "health says ok while the server answers, and nothing else counts as well" {
    drive <<'PY'
        greet()
        state = json.loads(docker("exec", box.name, "ipybox", "health"))
        equal((state["status"], state["pid"]), ("ok", server().pid))
        start_cell("while True: pass", timeout=5)
        wait_for("health", healthy)             # a busy kernel is no illness
        pid = server().pid
        inside("bash", "-c", f"kill -STOP {pid}")
        equal(healthy(), False)
        inside("bash", "-c", f"kill -CONT {pid}")
        wait_for("health", healthy)
        signal("TERM")
        wait_for_log("stopping")
        equal(healthy(), False)
        ended()
PY
    run_box -- health
    assert_equal "$status $output" '0 {"status":"ok","server":false}' # none is meant to run
    run_box --entrypoint /usr/local/bin/ipybox -- health
    assert_equal "$status" 1
    assert_match "$errors" 'no server is running'
}

@test "docker's health check becomes healthy, and unhealthy with a server that hangs" {
    drive --health-interval 1s --health-retries 1 --health-start-period 0s <<'PY'
        def health():
            return docker("inspect", "--format", "{{.State.Health.Status}}", box.name, check=False).strip()
        wait_for("health", lambda: health() == "healthy")
        pid = server().pid
        inside("bash", "-c", f"kill -STOP {pid}")
        wait_for("illness", lambda: health() == "unhealthy")
        inside("bash", "-c", f"kill -CONT {pid}")
        wait_for("recovery", lambda: health() == "healthy")
PY
}

@test "a second server in the same container is refused, the first goes on" {
    drive <<'PY'
        prints("x = 1", "")
        start = ["exec", "-u", "1000", "-e", "IPYBOX_RUNTIME_DIR=/run/ipybox/731", box.name]
        second = docker(*start, "bash", "-c", "ipybox < /dev/null 2>&1; echo status $?")
        matches(second, "/run/ipybox/731: belongs to uid 731, not to uid 1000.*status 2")
        prints("x", 1)
        wait_for("health", healthy)
PY
    drive --user 1000:1000 <<'PY'
        prints("x = 1", "")
        start = ["exec", "-u", "1000", "-e", "IPYBOX_RUNTIME_DIR=/run/ipybox/1000", box.name]
        second = docker(*start, "bash", "-c", "ipybox < /dev/null 2>&1; echo status $?")
        matches(second, "control.sock.*status 2")
        prints("x", 1)
        wait_for("health", healthy)
PY
}

# bats test_tags=measure
@test "ipybox --version takes less than 3 ms" {
    run_box -- python3 -c '
import subprocess, time
times = []
for _ in range(50):
    start = time.perf_counter()
    subprocess.run(["ipybox", "--version"], stdout=subprocess.DEVNULL)
    times.append(time.perf_counter() - start)
print(round(min(times) * 1000000))'
    note "ipybox --version: $output microseconds (best of 50, with fork and wait)"
    assert_at_most "$output" 3000 microseconds
}

@test "an idle server without its kernel takes less than 8 MiB" {
    drive --cap-add SYS_PTRACE <<'PY'
        prints("1", 1)
        pss = server().pss
        note(f"server: {pss // 1024} KiB PSS after a cell; all: " + ", ".join(f"{' '.join(p.words[:3])} {p.pss // 1024}" for p in processes()))
        below(0, pss)
        below(pss, 8 << 20)
PY
}
