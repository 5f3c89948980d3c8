# Packages that the Python ipybox has generated: `ipybox apigen adopt` registers their servers.
load lib/helpers

tools=(-v "$here/tool_server.py:/tools/tool_server.py:ro")

# packages VERSION - what that version has left in a workspace; sets workspace.
packages()
{
    workspace
    python3 - "$here/../../golden/adopt/$1.json" "$workspace" <<'PY'
import json, pathlib, sys
for name, text in json.load(open(sys.argv[1])).items():
    path = pathlib.Path(sys.argv[2], name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
PY
    as_root chown -R 1234:5678 "$workspace"
}

modules()
{
    find "$workspace/mcptools" -name '*.py' -printf '%p %i %T@\n' | sort
}

knows_plain()
{
    limited docker exec "$id" ipybox exec "from mcptools.plain import echo; print(echo.run(echo.Params(text='now')))" | grep now
}

@test "packages of 0.7.1 and 0.9.2 work after one step, and stay as they were" {
    for version in 0.7.1 0.9.2; do
        packages "$version"
        before=$(modules)
        run_box -v "$workspace:/app/workspace" -- apigen adopt
        assert_equal "$status" 0
        assert_match "$output" "demo: registered: python3 /tools/tool_server.py"
        assert_equal "$(stat -c '%u %a' "$workspace/.ipybox/registrations/demo.json")" "731 600"
        drive -v "$workspace:/app/workspace" "${tools[@]}" -e SECRET="a secret" <<'PY'
            prints("from mcptools.demo import environment as e; print(e.run(e.Params(text='GIVEN')))", "a secret")
            prints("from mcptools.demo import add as a; print(a.run(a.Params(a=2, b=3)).model_dump_json())", '{"total":5}')
            prints("from mcptools.plain import echo; print(echo.run(echo.Params(text='x')))", "x")
PY
        assert_equal "$(modules)" "$before"
        run_box -v "$workspace:/app/workspace" -- apigen adopt demo
        assert_equal "$status" 0
        assert_equal "$output" "demo: registered already: python3 /tools/tool_server.py"
    done
}

@test "packages of 0.9.2 work at once where they name a registered server" {
    packages 0.9.2
    echo '{"plain": {"command": "python3", "args": ["/tools/tool_server.py"]}}' > "$BATS_TEST_TMPDIR/servers.json"
    drive -v "$workspace:/app/workspace" "${tools[@]}" -v "$BATS_TEST_TMPDIR/servers.json:/servers.json:ro" -- --mcp-servers /servers.json <<'PY'
        prints("from mcptools.plain import echo; print(echo.run(echo.Params(text='x')))", "x")
        fails("from mcptools.demo import echo; echo.run(echo.Params(text='x'))", "demo is not registered")
PY
}

@test "a running server knows what docker exec has adopted; what was changed too much is told" {
    packages 0.9.2
    start_box -v "$workspace:/app/workspace" "${tools[@]}" -e SECRET=s -- serve
    box exec "$id" ipybox apigen adopt plain
    assert_equal "$output" "plain: registered: python3 /tools/tool_server.py"
    wait_for knows_plain
    as_root sed -i 's/server_params=.*/server_params=dict(),/' "$workspace/mcptools/demo/__init__.py"
    run docker exec "$id" ipybox apigen adopt
    assert_equal "$status" 1
    assert_match "$output" "demo: server_name and server_params do not stand"
    assert_match "$output" "register_mcp_server"
    run docker exec "$id" ipybox apigen --root-dir /tmp adopt
    assert_equal "$status" 2
    run docker exec "$id" ipybox apigen adopt --root-dir /tmp
    assert_match "$output" "no package of the Python ipybox is in /tmp"
    stop_box
    end_box
}
