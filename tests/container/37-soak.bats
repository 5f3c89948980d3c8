# Everything at once; `tests/soak` does it for as long as one likes. TEST_SEED is made of the commit (tests/run).
load lib/helpers

@test "ten seconds of cells, resets, deaths, floods and cancellations loses no output and leaves nothing behind" {
    "$here/../../soak" 10 "${TEST_SEED:-1}" 3>&3
}

# bats test_tags=alone,measure
@test "a minute of all that leaves the server at most 3 MiB more" {
    "$here/../../soak" 60 "${TEST_SEED:-1}" 3>&3
}
