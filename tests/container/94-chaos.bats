# SIGKILL at random moments, for 20 seconds; `bench/chaos.sh` does it for as long as one likes. TEST_SEED is made of the
# commit (tests/run).
# bats file_tags=alone
load lib/helpers

@test "clients, kernels and the server are killed at random: no event is lost, nothing waits for ever, nothing stays" {
    "$here/../../../bench/chaos.sh" 20 "${TEST_SEED:-1}" 3>&3
}
