# How an abnormal end is told: the termination message, and the log.
load lib

@test "a server that is killed starts again, and its termination message names the signal" {
    sidecar killed
    is_ready killed
    # shellcheck disable=SC2016  # the container's shell
    k exec killed -c ipybox -- sh -c 'kill -9 "$(ipybox health | sed "s/.*\"pid\":\([0-9]*\).*/\1/")"'
    wait_for restarted killed
    assert_equal "$(server_of killed .lastState.terminated.exitCode)" 137
    assert_equal "$(server_of killed .lastState.terminated.message)" "the server was ended by signal 9 (Killed)"
    is_ready killed
    prints "$(field killed .status.podIP)" "6 * 7" 42
}

restarted()
{
    [ "$(server_of "$1" .restartCount)" -ge 1 ]
}

@test "a start that fails leaves its reason as the termination message" {
    sidecar wrong '.spec.initContainers[0].args += ["--stop-grace=x"]'
    wait_for has_message wrong
    assert_match "$(message_of wrong)" 'stop-grace'
    wait_for logs_have wrong stop-grace
}

# logs_have POD TEXT - those of a container that ends and starts again: at times the kubelet has neither.
logs_have()
{
    { k logs "$1" -c ipybox; k logs "$1" -c ipybox --previous; } 2>/dev/null | grep -q "$2"
}

message_of()
{
    server_of "$1" '.lastState.terminated.message // .state.terminated.message // ""'
}

has_message()
{
    [ -n "$(message_of "$1")" ]
}
