# PID 1: signals, children that nobody waits for, exit statuses.
load lib/helpers

# A script for bash that says "ready", and on the signal $1 says so and ends with 42.
trap_script()
{
    echo "trap 'echo got $1; exit 42' $1; echo ready; while :; do sleep 0.05; done"
}

# For run_box -- python3 -c: prints how many zombies there are once all `sleep` are gone.
count_zombies='
import pathlib, time
def processes():
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
        except OSError:
            continue
        yield fields["Name"], fields["State"][0]
while any(name in ("sleep", "true") or state == "Z" for name, state in processes()):
    time.sleep(0.02)
print("left:", [p for p in processes() if p[0] in ("sleep", "true")])
print("zombies:", sum(state == "Z" for _, state in processes()))
'

@test "process 1 is the init, and the server is its only child" {
    drive <<'PY'
        prints("1", 1)
        everything = processes()
        first = next(p for p in everything if p.pid == 1)
        equal(first.words[:2], ["/usr/local/bin/ipybox", "init"])
        equal([p.pid for p in everything if p.ppid == 1], [server().pid])
PY
}

@test "process 1 is small: one thread, and less than 1 MiB of its own" {
    drive --cap-add SYS_PTRACE <<'PY'
        prints("1", 1)
        matches(inside("cat", "/proc/1/status"), r"Threads:\t1\n")
        first = next(p for p in processes() if p.pid == 1)
        note(f"init: {first.pss // 1024} KiB PSS")
        below(first.pss, 1 << 20)
PY
}

@test "orphans of a command are reaped" {
    run_box -- bash -c '
        for i in $(seq 50); do (true & sleep 0.1 & setsid sleep 0.1 &); done
        python3 -c "$0"' "$count_zombies"
    assert_equal "$output" $'left: []\nzombies: 0'
    assert_equal "$status" 0
}

@test "orphans of a kernel are reaped: double forks, daemons, processes that outlive their parent" {
    drive <<'PY'
        runs("""
            import os, subprocess
            for _ in range(20):
                if os.fork() == 0:              # a child that makes a daemon and ends
                    os.setsid()
                    if os.fork() == 0:
                        os.execvp("sleep", ["sleep", "0.2"])
                    os._exit(0)
                os.wait()
            subprocess.run("for i in 1 2 3 4 5; do (setsid sleep 0.1 &) & done", shell=True)
        """)
        wait_for("the daemons' end", lambda: not [p for p in processes() if "sleep" in p.words])
        wait_for("their reaping", lambda: not zombies())
        prints("1", 1)
PY
}

@test "TERM, INT, HUP, QUIT, USR1 and USR2 reach the command" {
    local signal
    for signal in TERM INT HUP QUIT USR1 USR2; do
        start_box -- bash -c "$(trap_script "$signal")"
        wait_for log_has ready
        box kill -s "$signal" "$id"
        end_box
        assert_equal "$output" $'ready\ngot '"$signal"
        assert_equal "$status" 42
    done
}

@test "USR1 and USR2 do not end the command or the server" {
    start_box -- bash -c "trap 'echo one' USR1; trap 'echo two; exit 0' USR2; echo ready; while :; do sleep 0.05; done"
    wait_for log_has ready
    box kill -s USR1 "$id"
    wait_for log_has one
    box kill -s USR2 "$id"
    end_box
    assert_equal "$output" $'ready\none\ntwo'
    assert_equal "$status" 0
    drive <<'PY'
        prints("x = 1", "")
        signal("USR1")
        signal("USR2")
        prints("x", 1)
PY
}

@test "the command's exit status is the container's" {
    local wanted
    for wanted in 0 1 7 255; do
        run_box -- bash -c "exit $wanted"
        assert_equal "$status" "$wanted"
    done
}

@test "the death of the command by a signal is 128 and the signal's number" {
    run_box -- bash -c 'kill -TERM $$'
    assert_equal "$status" 143
    run_box -- bash -c 'kill -KILL $$'
    assert_equal "$status" 137
    run_box -- bash -c 'kill -SEGV $$'
    assert_equal "$status" 139
}

@test "a command that is not there is 127, one that cannot be run 126, and both are named" {
    run_box -- no-such-command word
    assert_equal "$status" 127
    assert_match "$errors" no-such-command
    run_box -- /etc/passwd
    assert_equal "$status" 126
    assert_match "$errors" /etc/passwd
    run_box -- /etc
    assert_equal "$status" 126
}

@test "the command gets its words as they are, and standard input" {
    run_box -- python3 -c 'import sys; print(sys.argv[1:])' 'a b' '' '--' '$x' -n "it's"
    assert_equal "$output" "['a b', '', '--', '\$x', '-n', \"it's\"]"
    output=$(echo "from outside" | limited docker run -i --rm --label "ipybox.test=$name" "$image" cat)
    assert_equal "$output" "from outside"
}

@test "a shell on a terminal has job control" {
    run_box -t -- bash -ic 'sleep 0 & wait; echo "status $?"; tty'
    refute_match "$output$errors" 'no job control|cannot set terminal'
    assert_match "$output" 'status 0'
    assert_match "$output" '/dev/pts/0|/dev/console'
}

@test "docker stop ends the idle server at once, with status 0" {
    drive -e IPYBOX_STOP_GRACE=3600 <<'PY'
        prints("1", 1)
        equal(stop(), 0)
PY
}

@test "docker stop ends a server whose kernel is still starting, with status 0" {
    drive -e IPYBOX_STOP_GRACE=3600 <<'PY'
        greet()
        equal(stop(), 0)
PY
}

@test "docker stop lets a running cell end, and its answer is delivered" {
    drive -e IPYBOX_STOP_GRACE=3600 <<'PY'
        id = begin_cell("import os, time; print('begun', flush=True)\n"
                        "while not os.path.exists('/tmp/go'): time.sleep(0.02)\nprint('ended')")
        signal("TERM")                          # as docker stop does
        wait_for_log("stopping")
        inside("touch", "/tmp/go")
        equal(finish(id).text, "begun\nended")
        equal(ended(), 0)
PY
}

@test "docker stop with a cell that never ends: the client is told, and the container ends within the grace" {
    drive -e IPYBOX_STOP_GRACE=1 <<'PY'
        id = begin_cell(STUBBORN)
        equal(stop(), 0)
        answer = finish(id)
        equal(answer.error, True)
        matches(answer.text, "the server is stopping")
        matches(answer.rest, "begun")
PY
}

@test "a second signal ends everything at once" {
    drive -e IPYBOX_STOP_GRACE=3600 <<'PY'
        begin_cell(STUBBORN)
        signal("TERM")
        wait_for_log("stopping")
        signal("TERM")
        status = ended()
        note(f"status after a second signal: {status}")
        equal(status in (0, 137, 143), True)
PY
}

@test "a command that ignores TERM is killed when the grace is over" {
    start_box -e IPYBOX_STOP_GRACE=1 -- bash -c "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    wait_for log_has ready
    stop_box
    end_box
    assert_equal "$status" 137
}

@test "a command that ignores TERM is killed by a second one" {
    start_box -e IPYBOX_STOP_GRACE=3600 -- bash -c "trap '' TERM; echo ready; while :; do sleep 0.05; done"
    wait_for log_has ready
    box kill -s TERM "$id"
    killed()    # two that come as one, before it runs, are one
    {
        docker kill -s TERM "$id" >/dev/null 2>&1
        [ "$(docker inspect -f '{{.State.Running}}' "$id")" = false ]
    }
    wait_for killed
    end_box
    assert_equal "$status" 137
}

@test "what a command leaves behind is told to end, and then killed" {
    run_box -e IPYBOX_STOP_GRACE=1 -- bash -c '
        setsid bash -c "trap \"echo told; exit\" TERM; echo > ready; while :; do sleep 0.05; done" &
        setsid bash -c "trap \"\" TERM; echo > ready2; while :; do sleep 0.05; done" &
        until [ -e ready ] && [ -e ready2 ]; do sleep 0.02; done
        exit 3'
    assert_equal "$status" 3
    assert_equal "$output" told
}

@test "kill -9 of the server ends the container with 137" {
    drive <<'PY'
        prints("1", 1)
        kill(server())
        equal(ended(), 137)
PY
}

@test "kill -9 of the server leaves nothing, also where the container does not end with it" {
    # Under a command of ours: the shims must end their kernels by themselves.
    drive -- bash -c 'mkfifo in; ipybox <in & exec 3>in; cat >&3; sleep 100' <<'PY'
        prints("""
            import subprocess
            for _ in range(3):
                subprocess.Popen(["setsid", "nohup", "sleep", "1000"])
        """, "")
        wait_for("the sleepers", lambda: 3 == len([p for p in processes() if p.words[:1] == ["sleep"] and "1000" in p.words]))
        kill(server())
        wait_for("the end of all", lambda: not kernels() and not [p for p in processes() if "1000" in p.words])
        wait_for("their reaping", lambda: not zombies())
        signal("KILL")
        ended()
PY
}

@test "kill -9 of an init that is not process 1 takes the server along, which has a uid of its own" {
    start_box --entrypoint bash -- -c 'ipybox init serve --audit-log /var/log/ipybox/log & sleep 1000'
    executes() { docker exec "$id" ipybox exec 1 >/dev/null 2>&1; }
    wait_for executes     # by then it has been its own user for moments, at each of which the kernel forgets the signal
    box exec "$id" sh -c 'server=$(ipybox health | grep -o "\"pid\":[0-9]*" | cut -d : -f 2)
        kill -9 "$(grep PPid "/proc/$server/status" | cut -f 2)"'
    all_gone() { ! docker exec "$id" sh -c 'cat /proc/[0-9]*/comm' | grep -qE 'ipybox|python'; }
    wait_for all_gone
    box kill "$id"
    end_box
}

@test "killing a kernel leaves no zombie and no orphan" {
    drive <<'PY'
        runs("""
            import os, subprocess
            subprocess.Popen(["setsid", "sleep", "1000"])
            subprocess.Popen(["nohup", "sleep", "1000"])
            subprocess.run("(setsid nohup sleep 1000 >/dev/null 2>&1 &) &", shell=True)
        """)
        def sleepers():
            return [p for p in processes() if p.words[-1:] == ["1000"]]
        wait_for("the sleepers", lambda: len(sleepers()) == 3)
        fails("os.kill(os.getpid(), 9)", "KernelDied.*killed|KernelDied.*signal 9")
        wait_for("the sleepers' end", lambda: not sleepers())
        wait_for("their reaping", lambda: not zombies())
        prints("1", 1)
PY
}

@test "reset and the end of the server leave no process of a kernel" {
    drive --pid=host <<'PY'
        prints("import subprocess; p = subprocess.Popen(['setsid', 'sleep', '12345'])", "")
        def sleepers():
            return [p for p in processes() if p.words == ["sleep", "12345"]]
        wait_for("the sleeper", lambda: len(sleepers()) == 1)
        tool("reset")
        wait_for("the sleeper's end", lambda: not sleepers())
        prints("import subprocess; p = subprocess.Popen(['setsid', 'sleep', '12345'])", "")
        wait_for("the sleeper", lambda: len(sleepers()) == 1)
        equal(end(), 0)
PY
    # The host's processes are the test's own: nothing may have survived the container.
    run grep -slazx '1234[5]' /proc/[0-9]*/cmdline
    refute_match "$output" /proc/
}

@test "all works with --pid=host, where the init is not process 1" {
    drive --pid=host <<'PY'
        prints("import os; print('cell')", "cell")
        runs("""
            for _ in range(5):
                if os.fork() == 0:
                    if os.fork() == 0:
                        os.execvp("sleep", ["sleep", "0.1"])
                    os._exit(0)
                os.wait()
        """)
        equal(stop(), 0)
PY
    run_box --pid=host -- bash -c 'exit 7'
    assert_equal "$status" 7
}

@test "all works with docker run --init, where another init is process 1" {
    drive --init <<'PY'
        prints("1", 1)
        equal(stop(), 0)
PY
    run_box --init -- bash -c '
        for i in $(seq 10); do (sleep 0.1 & setsid sleep 0.1 &); done
        python3 -c "$0"; exit 7' "$count_zombies"
    assert_equal "$output" $'left: []\nzombies: 0'
    assert_equal "$status" 7
}

@test "a command runs as who the server would run as, with no right more" {
    workspace 1234:5678
    run_box -v "$workspace:/app/workspace" -- bash -c 'id -u; id -g; id -G; grep -E "^Cap(Inh|Prm|Eff|Amb)|NoNewPrivs" /proc/self/status'
    assert_equal "$output" "1234
5678
5678
CapInh:	0000000000000000
CapPrm:	0000000000000000
CapEff:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	1"
}

@test "a command gets the signals as they are by default" {
    run_box -- cat /proc/self/status
    assert_equal "$(grep -E '^Sig(Blk|Ign|Cgt)' <<< "$output")" "SigBlk:	0000000000000000
SigIgn:	0000000000000000
SigCgt:	0000000000000000"
}

@test "no descriptor of the init reaches the command" {
    run_box -- python3 -c 'import os; print(sorted(os.listdir("/proc/self/fd"), key=int)[:-1])'
    assert_equal "$output" "['0', '1', '2']"
}
