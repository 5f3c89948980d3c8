# The attacks on tokens of tests/attack, with pods in place of containers: as root, with a uid, and as the profile "restricted" wants it.
load lib

@test "cells cannot get at tokens that come from Secrets, as variables and as files, in any kind of pod" {
    "$tests/../attack/run" pod -- --jobs 2 token-files others-in-proc > "$BATS_TEST_TMPDIR/said" || fail "$(< "$BATS_TEST_TMPDIR/said")"
    assert_match "$(< "$BATS_TEST_TMPDIR/said")" '# 12 attacks tried in 6 modes .*: 12 held, 0 open'
    figures_of < "$BATS_TEST_TMPDIR/said"
}

# The seconds that each attack took, for the table.
figures_of()
{
    local what seconds
    sed -n 's/^ok - \(pod [^:]*: [^,]*\).* in \([0-9.]*\) s$/\2 \1/p' | while read -r seconds what; do
        figure "$what" "$(awk -v s="$seconds" 'BEGIN { print int(s * 1000) }')"
    done
}
