# Every door to the workspace's files (docs/files.md, e2b.md, agent-sandbox.md, librechat.md) refuses what a cell may not do there.
load ../lib/helpers

served=(serve --e2b --agent-sandbox --agent-sandbox-rest-port 9888 --agent-sandbox-grpc-port 9090 --librechat
    --mcp-servers /app/workspace/servers.json --tool-policy /app/workspace/policy.json)

# A workspace with everything that is the operator's own in it.
scene()
{
    workspace 1234:1234 0777
    echo 'CANARY-token' > "$workspace/token"
    echo '{"mcpServers":{"demo":{"command":"python3","args":["/tools/tool_server.py"],"env":{"SECRET":"CANARY-server"}}}}' > "$workspace/servers.json"
    echo '{"default":"allow","rules":[]}' > "$workspace/policy.json"
    echo 'WORD=CANARY-env' > "$workspace/.env"
    mkdir -p "$workspace/.git/hooks" "$workspace/plain"
    echo 'CANARY-hook' > "$workspace/.git/hooks/hook"
    as_root chown -R 1234:1234 "$workspace"
    as_root chmod 0600 "$workspace/token" "$workspace/servers.json"
}

# open_doors SANDBOXED [OPTION]... [-- WORD]... - the container of the scene, and the conversation with it.
open_doors()
{
    local sandboxed=$1
    shift
    split_words "$@"
    start_box -v "$workspace:/app/workspace" -v "$here/tool_server.py:/tools/tool_server.py:ro" -e IPYBOX_TOKEN=admin \
        -e IPYBOX_EXECUTE_TOKEN=execute -e IPYBOX_APPROVER_TOKEN_FILE=/app/workspace/token "${options[@]}" -- "${served[@]}" "${words[@]}"
    { echo "SANDBOXED = $sandboxed"; table; } | cat <(grep -v '^from __future__' "$here/doors.py") - | talk_inside
    end_scene
}

end_scene()
{
    limited docker rm -f "$id" >/dev/null
    assert_equal "$(as_root cat "$workspace/token")" 'CANARY-token'
    assert_equal "$(as_root cat "$workspace/.git/hooks/hook")" 'CANARY-hook'
    assert_equal "$(as_root ls "$workspace/.git/hooks")" 'hook'
    assert_equal "$(as_root ls "$workspace/.ipybox/registrations" | grep -vx demo.json)" 'kept.json'      # demo is of servers.json
    assert_equal "$(as_root cat "$workspace/.env")" 'WORD=CANARY-env'
    assert_equal "$(as_root cat "$workspace/policy.json")" '{"default":"allow","rules":[]}'
}

table()
{
    cat <<'PY'
import os
wait_for("the server", ready)
FILE = {"read", "stat", "take", "link", "write", "write into", "remove", "move", "bring", "bring composed"}
KEPT = {"take", "link", "write", "write into", "remove", "move", "bring", "bring composed"}
FOLDER = {"list", "list by watch", "folder", "remove", "move"}
PLACES = {                       # place: what is refused there; what a cell does that gets EPERM for the same
    "token": FILE,
    "servers.json": FILE,
    "policy.json": KEPT,
    ".env": FILE - {"link"} | {"link"},
    ".git/hooks/hook": KEPT,
    ".git/hooks/new": {"write", "write into", "bring", "bring composed"},
    ".git/hooks": {"folder", "remove", "move"},
    ".ipybox/registrations/kept.json": FILE,
    ".ipybox/registrations/evil.json": {"write", "write into", "bring", "bring composed"},
    ".ipybox/registrations": FOLDER,
}
OF_CELLS = """
import os
ACTS = {"read": lambda p: open(p).read(), "list": os.listdir, "write": lambda p: open(p, "a").close(), "remove": os.unlink,
        "folder": lambda p: os.mkdir(p + "/new"), "move": lambda p: os.rename(p, "elsewhere"), "bring": lambda p: os.rename("spare", p)}
for place, acts in PLACES.items():
    for act in set(acts) & set(ACTS) - ({"remove"} if os.path.isdir(place) else set()):
        try:
            ACTS[act](place)
        except OSError as error:
            if error.errno in (1, 13): continue
            print(place, act, error)
        else:
            print(place, act, "was done")
"""
registered = call("POST", "/v1/mcp-servers", {"name": "kept", "params": {"command": "python3", "args": ["/tools/tool_server.py"]}})
equal(registered.status, 201)
os.chdir("/app/workspace")

def plain_files():
    for name in ("spare", "plain/file"):
        reply = ask(API, "PUT", f"/v1/files/{name}", b"plain", {"Authorization": "Bearer execute"})
        assert reply.status in (200, 201), reply

def links(folder):
    equal(text(f"""
import os
os.makedirs({folder!r}, exist_ok=True)
for name, to in (("hooks", ".git/hooks"), ("there", ".ipybox/registrations"), ("token", "token")):
    way = os.path.join({folder!r}, name)
    os.path.lexists(way) or os.symlink(os.path.relpath(to, {folder!r}), way)
print("made")"""), "made\n")

plain_files()
# A server with a uid of its own knows registrations by their owner: there cells may remove them, and make none that is believed.
own = os.stat(".ipybox/registrations/kept.json").st_uid != os.stat("token").st_uid
if SANDBOXED:      # what the table says of cells
    closed = {place: sorted(acts) for place, acts in PLACES.items() if not (own and "registrations" in place)}
    equal(text(f"PLACES = {closed!r}\n{OF_CELLS}"), "")
links("by")
through = {f"by/{name}": PLACES[place] - {"remove", "move", "stat", "bring", "take", "link"}
           for name, place in (("there", ".ipybox/registrations"), ("token", "token")) }
through["by/token"] = {"read"}
through["by/hooks/new"] = PLACES[".git/hooks/new"]
through["by/hooks/hook"] = PLACES[".git/hooks/hook"] - {"link"}
through["by/there/evil.json"] = PLACES[".ipybox/registrations/evil.json"]
wrong = []
opened = doors()
for door in opened:
    for place, closed in (PLACES | through).items():
        for act, do in door.acts.items():
            if act not in closed or (act == "read" and door.name == "archives" and place.startswith("by/")):
                continue
            plain_files()
            reply = do(place, b"planted") if act.startswith("write") else do(place)
            if not reply.refused or b"CANARY" in reply.body or reply.status >= 500:
                wrong.append(f"{door.name}: {act} {place}: {reply.status} {reply.body[:100]!r}")
    # and what is free is free, by the same acts
    for act, do in door.acts.items():
        plain_files()
        target = "plain" if act.startswith("list") or act == "folder" else "plain/file"
        ask(API, "DELETE", "/v1/files/plain/new?recursive=true", head={"Authorization": "Bearer admin"})
        if act == "remove": target = "plain/file"
        reply = do(target, b"new") if act.startswith("write") else do(target)
        if reply.refused:
            wrong.append(f"{door.name}: {act} {target}: {reply.status} {reply.body[:200]!r}")
assert not wrong, "\n".join(wrong)

# LibreChat's files are those of a session's folder; links in it are no way out
key = {"X-API-Key": "admin"}
body, kind = form("first", b"x")
session = ask(API, "POST", "/librechat/v1/upload", body, key | kind).json()["storage_session_id"]
links(f"librechat/{session}")
for name in ("hooks/new", "there/evil.json", ".git/../x", "../../token"):
    form_body, kind = form(name, b"planted")
    reply = ask(API, "POST", "/librechat/v1/upload", form_body, key | kind)
    assert reply.status == 200 or reply.refused, reply     # a new session: no link is in it yet
listed = ask(API, "GET", f"/librechat/v1/files/{session}", head=key)
equal([one["metadata"]["original-filename"] for one in listed.json()], ["first"])

# administrators may everything, but registrations are no files
admin = of_files("admin")
equal(admin.acts["read"]("policy.json").status, 200)
for act in ("write", "bring"):
    plain_files()
    do = admin.acts[act]
    reply = do(".ipybox/registrations/evil.json", b"{}") if act == "write" else do(".ipybox/registrations/evil.json")
    equal(reply.status, 403)
    has(reply.body.decode(), "/v1/mcp-servers")
equal(of_archives("admin").acts["write"](".ipybox/registrations/evil.json", b"{}").status, 403)
whole = ask(API, "GET", "/v1/tar", head={"Authorization": "Bearer admin"})
assert whole.whole, "the archive is cut off"
with tarfile.open(fileobj=io.BytesIO(whole.body)) as tar:
    names = tar.getnames()
assert "plain" in names and not any("registrations" in name for name in names), names
equal(call("GET", "/v1/mcp-servers/kept").status, 200)
PY
}

@test "what a cell gets EPERM for, each door refuses: default container" {
    scene
    open_doors False
}

@test "what a cell gets EPERM for, each door refuses: --user, --sandbox" {
    scene
    open_doors True --user 1234:1234 -- --sandbox
}

# bats test_tags=all
@test "what a cell gets EPERM for, each door refuses: default container, --sandbox" {
    scene
    open_doors True -- --sandbox
}

# bats test_tags=all
@test "what a cell gets EPERM for, each door refuses: without rights, --sandbox" {
    scene
    open_doors True --user 1234:1234 --read-only --tmpfs /tmp:exec --cap-drop ALL --security-opt no-new-privileges -- --sandbox
}
