# SPDX-License-Identifier: Apache-2.0
"""Who may only execute reads tokens and the servers' secrets by the doors for files, and registers"""

import json

from box import SERVERS, TOKENS, WITH_DOORS, WORKSPACE, Box, CannotTry, Mode, at_doors

BREAKS = (
    "SECURITY.md",
    "A client with the role `execute` alone reads and writes of the workspace what code in cells may",
)

TOKEN = "CANARY-in-a-file"

SCRIPT = """
opened = doors(EXECUTE)
for door in opened:
    for act in ("read", "take", "link"):
        for name in ("token", "servers.json"):
            if act not in door.acts: continue
            reply = door.acts[act](name)
            if b"CANARY" in reply.body: print("LOOT", door.name, act, name)
    for act in ("write", "write into", "bring", "bring composed"):
        for name in ("policy.json", ".ipybox/registrations/evil.json"):
            if act not in door.acts: continue
            ask(API, "PUT", "/v1/files/spare", b"spare", {"Authorization": "Bearer " + ADMIN})
            reply = door.acts[act](name, b"{}") if act.startswith("write") else door.acts[act](name)
            if not reply.refused: print("LOOT", door.name, act, name)
"""


def box_for(mode: Mode) -> Box:
    variables = {name: value for name, value in TOKENS.items() if name != "IPYBOX_APPROVER_TOKEN"}
    variables["IPYBOX_APPROVER_TOKEN_FILE"] = f"{WORKSPACE}/token"
    mine = ["--mcp-servers", f"{WORKSPACE}/servers.json"]
    mine += ["--tool-policy", f"{WORKSPACE}/policy.json"]
    box = Box(mode, words=[*WITH_DOORS, *mine], environment=variables)
    for name, text in {
        "token": TOKEN,
        "servers.json": json.dumps({"mcpServers": SERVERS}),
        "policy.json": '{"default": "allow", "rules": []}',
    }.items():
        (box.workspace / name).write_text(text + "\n")
        (box.workspace / name).chmod(0o600)
    return box


def attack(box: Box) -> str:
    try:
        box.run()
    except CannotTry as error:
        if "_FILE" in str(error):
            return ""  # refused, with the remedy
        raise
    return at_doors(box, SCRIPT)
