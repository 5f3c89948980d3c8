# Everything at once, for half a minute; `tests/soak` does it for as long as one likes.
load lib/helpers

# bats test_tags=alone
@test "half a minute of cells, resets, deaths, floods and cancellations loses no output and leaves nothing behind" {
    "$here/../../soak" 30 3>&3
}
