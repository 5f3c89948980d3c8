# Everything at once, for five minutes; `tests/soak` does it for as long as one likes.
load helpers

setup_file()
{
    export BATS_TEST_TIMEOUT=720
}

@test "five minutes of cells, resets, deaths, floods and cancellations lose no output and leave nothing behind" {
    "$here/../soak" 300 3>&3
}
