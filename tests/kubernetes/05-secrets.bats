# The attacks on tokens of tests/attack, with pods in place of containers: as root, with a uid, and as the profile "restricted" wants it.
load lib

@test "cells cannot get at tokens that come from Secrets, as variables and as files, in any kind of pod" {
    "$tests/../attack/run" pod -- --jobs 3 token-files others-in-proc | tee "$BATS_TEST_TMPDIR/said"
    sed -n 's/^ok - /# /p' "$BATS_TEST_TMPDIR/said" >&3
    assert_match "$(< "$BATS_TEST_TMPDIR/said")" '# 12 attacks tried in 6 modes'
}
