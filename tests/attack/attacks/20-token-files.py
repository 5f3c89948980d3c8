# SPDX-License-Identifier: Apache-2.0
"""A cell reads the tokens that came as files, and approves its own calls with them."""

from box import ADMIN, TOKENS, Box, CannotTry, Mode

BREAKS = (
    "SECURITY.md",
    "use the HTTP API; approve, and change a session's sandbox, only with the latter",
)


def box_for(mode: Mode) -> Box:
    files = {f"{name}_FILE": f"/run/secrets/{name}" for name in TOKENS}
    box = Box(mode, environment=files)
    for name, value in TOKENS.items():
        (box.secrets / name).write_text(f"{value}\n")
        (box.secrets / name).chmod(0o400)
    box.options += ["-v", f"{box.secrets}:/run/secrets:ro"]
    return box


READ = """
import glob, subprocess
found = set()
for path in glob.glob('/run/secrets/*') + ['/run/secrets/IPYBOX_TOKEN']:
    found.add(w.tried(lambda: w.read(path)))
    done = subprocess.run(['/bin/cat', path], capture_output=True, text=True)
    found.add(done.stdout)
    os.path.lexists('link') and os.unlink('link')
    w.tried(lambda: os.symlink(path, 'link'))
    found.add(w.tried(lambda: w.read('link')))
    found.add(w.tried(lambda: w.read(f'/proc/self/root{path}')))
print(*{text.strip() for text in found if text})
"""


def attack(box: Box) -> str:
    try:
        box.run()
    except CannotTry as error:
        if "_FILE" in str(error):
            return ""  # refused, with the remedy
        raise
    if box.call("GET", "/v1/approvals", token=ADMIN).status != 200:
        raise CannotTry("the token of the file is not the server's")
    loot = box.cell(READ)
    if not box.mode.sandboxed:
        return loot if "CANARY" in loot else ""
    settings = {
        "network": {"allowedDomains": [], "deniedDomains": []},
        "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
    }
    changed = box.call("PUT", "/v1/sessions/default/sandbox", {"settings": settings, "reset": True})
    if changed.status != 200:
        raise CannotTry(changed.text)
    loot += box.cell(READ)
    return loot if "CANARY" in loot else ""
