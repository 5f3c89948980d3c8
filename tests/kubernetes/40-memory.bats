# Want of memory and of disk space in a pod: a kernel ends, and neither the server nor the pod.
load lib

setup_file()
{
    sidecar budget
    sidecar bare '.spec.initContainers[0].args += ["--kernel-memory", "0"]'
}

same_server()
{
    assert_equal "$(server_of "$1" .restartCount)" 0
    assert_equal "$(field "$1" .status.phase)" Running
    prints "$(field "$1" .status.podIP)" "6 * 7" 42
}

@test "a cell over the memory of its pod ends its kernel, and the error names the budget" {
    is_ready budget
    # Not as fast as it can: who of the two that look is first then is 87-memory-budgets.bats' question.
    cell "$(field budget .status.podIP)" "
import time
taken = []
while True:
    taken.append(bytearray(b'x') * (1 << 20))
    time.sleep(0.005)" > "$BATS_TEST_TMPDIR/answer"
    assert_match "$(jq -r .reason "$BATS_TEST_TMPDIR/answer")" "limit of [0-9]+ MiB memory \(--kernel-memory\) was reached"
    same_server budget
}

@test "without a budget the kernel of Linux ends it, and the error says so" {
    is_ready bare
    cell "$(field bare .status.podIP)" "x = b'x' * (700 << 20)" > "$BATS_TEST_TMPDIR/answer"
    assert_match "$(jq -r .reason "$BATS_TEST_TMPDIR/answer")" "memory limit was reached"
    same_server bare
}

@test "a cell that fills the workspace is told so before the pod would be evicted" {
    is_ready budget
    # It waits at its end: a fast disk takes all of it between two checks, which are up to two seconds apart.
    cell "$(field budget .status.podIP)" "
import time
with open('big', 'wb') as file:
    for _ in range(1000): file.write(bytes(1 << 20))
time.sleep(1000)" > "$BATS_TEST_TMPDIR/answer"
    assert_match "$(jq -r .reason "$BATS_TEST_TMPDIR/answer")" "disk space \(--kernel-disk\) was reached"
    same_server budget
}
