# The audit log: what it holds after a real conversation, and whether tampering with it is found.
load ../lib/helpers

@test "the audit log has every cell and call, no code, and is whole; what is changed in it is found" {
    local log=$BATS_TEST_TMPDIR/audit/log
    mkdir "${log%/*}"
    as_root chown 1000:1000 "${log%/*}"
    drive -v "${log%/*}:/audit" -v "$here/tool_server.py:/tools/tool_server.py:ro" -- \
        --audit-log /audit/log <<'PY'
        prints("secret = 'hunter2'; print(len(secret))", 7)
        fails("1 / 0", "ZeroDivisionError")
        registers("demo")
        prints("from mcptools.demo import echo; print(echo.run(echo.Params(text='swordfish')))", "swordfish")
        wait_for_log("audit: the audit log /audit/log: record 1 has the hash [0-9a-f]{64}")
        equal(inside("stat", "-c", "%a %U", "/audit/log").split()[0], "600")
PY
    # the next server goes on with the chain; beside it a copy whose last line a crash has torn
    drive -v "${log%/*}:/audit" -- --audit-log /audit/log <<'PY'
        prints("6 * 7", 42)
        inside("sh", "-c", "cp -p /audit/log /audit/torn; truncate -s -20 /audit/torn")
PY
    run_box -i -v "${log%/*}:/audit" -- bash -c '
        ipybox audit verify /audit/log || echo "not whole"
        python3 - /audit/log <<"PY"
import hashlib, json, sys
last = "0" * 64
for n, line in enumerate(open(sys.argv[1], "rb"), 1):
    record = json.loads(line)
    assert hashlib.sha256(line.rpartition(b",\"hash\":\"")[0]).hexdigest() == record["hash"], n
    assert record["prev"] == last and record["seq"] == n, n
    last = record["hash"]
    print(record["kind"], record.get("server", ""), record.get("outcome", ""), sep=":")
print("last", last)
PY
        hash=$(tail -n 1 /audit/log | grep -o "[0-9a-f]\{64\}\"}" | tr -d "\"}")
        ipybox audit verify /audit/log "$hash" || echo "not whole"
        head -n 5 /audit/log > /tmp/short; ipybox audit verify /tmp/short "$hash"; echo "cut off: $?"
        sed 4d /audit/log | ipybox audit verify -; echo "taken out: $?"
        sed "4s/\"ok\"/\"OK\"/" /audit/log | ipybox audit verify -; echo "changed: $?"
        ipybox audit verify /audit/torn; echo "torn: $?"
        grep -c -e hunter2 -e swordfish -e print /audit/log'
    assert_match "$output" "/audit/log: OK, [0-9]+ records, the last hash is [0-9a-f]{64}"
    refute_match "$output" "not whole"
    assert_match "$output" "start::
session_created::
cell::
cell_end::ok
cell::
cell_end::error
server_registered:demo:ok
cell::
approval:demo:accepted
tool_call:demo:ok
cell_end::ok
stop::
start::
session_created::
cell::
cell_end::ok
stop::
last [0-9a-f]{64}"
    assert_match "$output" "the given hash is that of record 17"
    assert_match "$output" "cut off: 1"
    assert_match "$output" "taken out: 1"
    assert_match "$output" "changed: 1"
    assert_match "$output" "torn: 0"
    assert_match "$output" $'\n0$'
    assert_match "$errors" "line 4: its number does not follow"
    assert_match "$errors" "line 4: its hash does not match its content"
}

@test "code in a cell cannot touch an audit log that is the server's own, and can one that is the cells'" {
    drive -- --audit-log /var/log/ipybox/log <<'PY'
        for code in ("open('/var/log/ipybox/log', 'a')", "open('/var/log/ipybox/log')", "os.unlink('/var/log/ipybox/log')",
                     "os.rename('/var/log/ipybox/log', '/tmp/log')", "open('/var/log/ipybox/new', 'w')"):
            fails("import os; " + code, "PermissionError")
        equal(inside("stat", "-c", "%a %U", "/var/log/ipybox/log"), "600 ipybox-server\n")
        matches(inside("ipybox", "audit", "verify", "/var/log/ipybox/log"), "OK, 12 records")
PY
    local log=$BATS_TEST_TMPDIR/own/log
    mkdir "${log%/*}"
    as_root chown 1000:1000 "${log%/*}"
    drive -v "${log%/*}:/audit" -- --audit-log /audit/log <<'PY'
        wait_for_log("WARNING audit: the audit log /audit/log: it has the uid of code in kernels")
        prints("open('/audit/log', 'a').write('x')", 1)
        fails("1", "audit log")
PY
}

@test "an audit log in the workspace, where code writes, is refused" {
    run_box -- --audit-log /app/workspace/log
    assert_equal "$status" 2
    assert_match "$errors" "the audit log /app/workspace/log: it is in the workspace, where code writes"
}
