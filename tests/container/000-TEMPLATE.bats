# Copy this file to NN-name.bats. `bats` runs it too: what is shown here works.
load lib/helpers

@test "a name is a sentence that says what holds" {
    drive <<'PY'
        prints("1 + 1", 2)                      # runs without an error and its text is exactly this
        answer = fails("1 / 0", "ZeroDivisionError")    # the call is an error, and its text has this
        equal(answer.rest, "")                  # no further text blocks
PY
}

@test "a container that is not talked to is run with run_box" {
    run_box -e GREETING=hello -- bash -c 'echo "$GREETING"; exit 3'
    assert_equal "$output" hello
    assert_equal "$status" 3
}

@test "a directory of some owner is mounted as the workspace" {
    workspace 1234:5678
    drive -v "$workspace:/app/workspace" <<'PY'
        prints("open('new', 'w').close()", "")
PY
    assert_equal "$(stat -c %u:%g "$workspace/new")" 1234:5678
}
