# SPDX-License-Identifier: Apache-2.0
"""Commands, MCP servers, set-up code and cells look for what they have open of the server's"""

from box import EXECUTE, Box, CannotTry, Mode

BREAKS = ("SECURITY.md", "what a library of the server has open is open in no child")

FORGED = "2001-01-01T00:00:00.000Z INFO    server: forged"

# Nothing was opened here: whatever is above 2 has come from elsewhere.
LOOK = r"""
import os
def look():
    found = []
    for name in sorted(map(int, os.listdir('/proc/self/fd'))):
        try: found += [f'{name}={os.readlink(f"/proc/self/fd/{name}")}'] if name > 2 else []
        except OSError: pass  # the folder itself
    return ' '.join(found)
"""
COMMAND = "for f in /proc/self/fd/*; do [ -e $f ] && [ ${f##*/} -gt 2 ] && readlink $f; done; true"
SPY = LOOK + "\nseen = look() or 'nothing'\nopen('/app/workspace/spied', 'w').write(seen)\ninput()"
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "evil"\nbackend-path = ["."]\n'
SETUP = LOOK + "\nraise SystemExit('OPEN [' + look() + ']')"

# A kernel has much open itself. An epoll of its own watches its own descriptors, with their numbers
# (Python sets the lower half alone) or with addresses of its own memory; and what it writes is never
# a line of the container's log.
CELL = r"""
import fcntl, re
maps = [[int(x, 16) for x in line.split()[0].split('-')] for line in w.read('/proc/self/maps').splitlines()]
have = {int(n): w.tried(lambda n=n: os.readlink('/proc/self/fd/' + n)) for n in os.listdir('/proc/self/fd')}
for fd, link in have.items():
    if link and 'eventpoll' in link:
        for tfd, data in re.findall(r'tfd:\s*(\d+).*?data:\s*([0-9a-f]+)', w.read(f'/proc/self/fdinfo/{fd}')):
            at = int(data, 16)
            known = at & 0xffffffff == int(tfd) or at < 1 << 32
            if int(tfd) not in have or not known and not any(a <= at < b for a, b in maps):
                print(f'OPEN {fd} {link}, which tells the address {data}')
    if link and link.startswith(('pipe:', '/dev/pts')) and fcntl.fcntl(fd, fcntl.F_GETFL) & 3:
        w.tried(lambda: os.write(fd, b'\nFORGED\n'))
"""


def box_for(mode: Mode) -> Box:
    return Box(mode, words=["--agent-sandbox"])


def command(box: Box) -> str:
    reply = box.call("POST", "/execute", {"command": COMMAND}, EXECUTE, port=8888)
    return f"a command has {reply['stdout']!r}" if reply["stdout"] else ""


def server(box: Box) -> str:
    params = {"command": "python3", "args": ["-c", SPY]}
    box.begin("POST", "/v1/mcp-servers", {"name": "spy", "params": params})
    look = "print(w.tried(lambda: w.read('/app/workspace/spied')) or '')"
    box.wait_for("the MCP server", lambda: box.cell(look).strip())
    told = box.cell(look).strip()
    return f"an MCP server has {told}" if told != "nothing" else ""


def package(box: Box) -> str:
    box.cell(
        f"os.makedirs('evil', exist_ok=True)\nopen('evil/pyproject.toml', 'w').write({PROJECT!r})\n"
        f"open('evil/evil.py', 'w').write({SETUP!r})"
    )
    told = box.install("/app/workspace/evil").text
    _, found, rest = told.partition("OPEN [")
    if not found:
        raise CannotTry(f"pip says {told[:400]}")
    return f"set-up code has {rest.partition(']')[0]}" if not rest.startswith("]") else ""


def cells(box: Box, kernels: int) -> str:
    """In kernels of the present template, which are not spares of the one before."""
    told = "".join(
        box.cell(CELL.replace("FORGED", FORGED), box.session(id=f"s{n}"), ends=True)
        for n in range(kernels)
    )
    for n in range(kernels):
        box.call("DELETE", f"/v1/sessions/s{n}")
    forged = [line for line in box.logs().splitlines() if line == FORGED]
    lines = [line for line in told.splitlines() if line.startswith("OPEN")]
    return "; ".join(lines[:4] + (["a cell has written to the container's log"] if forged else []))


TEMPLATES = r"""
import glob, re
for path in glob.glob('/proc/[0-9]*'):
    try:
        words = open(path + '/cmdline').read().split('\0')
        above = re.search(r'PPid:\s*(\d+)', open(path + '/status').read())[1]
        if 'ipybox_kernel.template' in words and 'serve' in open(f'/proc/{above}/cmdline').read().split('\0'):
            print(path[6:])
    except OSError:
        pass
"""


def templates(box: Box) -> set[str]:
    return set(box.inside("/usr/bin/python3", "-I", "-c", TEMPLATES).split())


def attack(box: Box) -> str:
    box.run()
    got = [command(box), server(box), package(box), cells(box, 1)]
    old = templates(box)
    box.inside("/bin/sh", "-c", f"kill -9 {' '.join(old)}")
    box.wait_for("another template", lambda: templates(box) - old)
    got.append(cells(box, 6))
    without = Box(box.mode, words=["--no-kernel-template"])
    try:
        got.append(cells(without.run(), 1))
    finally:
        without.close()
    return "; ".join(sorted({one for one in got if one}))
