# What a pod of Kubernetes expects of its container: docs/kubernetes.md.
load lib/helpers

# As the kubelet mounts it; sets cause.
termination_file()
{
    cause=$BATS_TEST_TMPDIR/termination-log
    : > "$cause"
    chmod 0666 "$cause"
}

# The log's last line, which docker gives with or without one more line end.
last_line()
{
    printf '%s\n' "$errors" | sed '/^$/d' | tail -n 1
}

@test "a server that is killed leaves the cause in the log's last line and in the termination message" {
    local user
    for user in 0:0 1000680000:0; do
        termination_file
        start_box --user "$user" -v "$cause:/dev/termination-log" -- serve
        wait_for is_well
        box exec "$id" sh -c 'kill -9 "$(ipybox health | sed "s/.*\"pid\":\([0-9]*\).*/\1/")"'
        box wait "$id"
        assert_equal "$output" 137
        end_box
        assert_equal "$(< "$cause")" "the server was ended by signal 9 (Killed)"
        assert_match "$(last_line)" 'ERROR +init: the server was ended by signal 9 \(Killed\)$'
    done
}

@test "a server that is killed at the end of its grace says that it was" {
    termination_file
    start_box -v "$cause:/dev/termination-log" -- serve --stop-grace 2
    wait_for is_well
    box exec "$id" sh -c 'kill -STOP "$(ipybox health | sed "s/.*\"pid\":\([0-9]*\).*/\1/")"'
    box kill -s TERM "$id"
    end_box
    assert_equal "$status" 137
    assert_match "$(< "$cause")" '^the server was ended by signal 9 \(Killed\): it had not ended within the grace \(--stop-grace\)$'
}

@test "a start that fails leaves its reason in the log's last line and in the termination message" {
    local wrong
    termination_file
    for wrong in '--http=0.0.0.0:8080' '--stop-grace=x' '--instance=a/b'; do
        run_box --user 1000680000:0 -v "$cause:/dev/termination-log" -- serve "$wrong"
        assert_equal "$status" 2
        assert_match "$(< "$cause")" "."
        assert_match "$(last_line)" "$(sed 's/[][().*$^|+?]/./g' "$cause")"
    done
}

@test "an end in order leaves the termination message as it was, and none is made" {
    termination_file
    start_box -v "$cause:/dev/termination-log" -- serve
    wait_for is_well
    box exec "$id" true
    stop_box
    end_box
    assert_equal "$status" 0
    assert_equal "$(< "$cause")" ""
    run_box -- bash -c 'ls /dev'
    refute_match "$output" termination-log
}

@test "the random uid of OpenShift, of group 0, on a read-only root: it is ready, and runs cells" {
    drive --user 1234567890:0 --read-only --tmpfs /tmp --tmpfs /app/workspace:mode=0770,gid=0 --cap-drop ALL \
        --security-opt no-new-privileges <<'PY'
        prints("import os, pathlib; pathlib.Path('x').write_text('kept'); print(os.getuid(), os.getgid(), open('x').read())", "1234567890 0 kept")
        prints("import getpass; getpass.getuser()", "'ipybox'")
PY
}

@test "where /run is empty and closed the commands find the server in /tmp" {
    start_box --user 1234:1234 --tmpfs /run:mode=0755 -- serve
    wait_for is_well
    box exec "$id" ipybox exec '6 * 7'
    assert_equal "$status" 0
    assert_equal "$output" 42
    box rm -f "$id"
}
