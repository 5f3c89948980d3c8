# SPDX-License-Identifier: Apache-2.0
"""A cell removes a socket of the server or the gateway, and listens in its place."""

from box import Box

BREAKS = (
    "SECURITY.md",
    "cannot signal or trace the server, read its limits or memory, or remove or replace its sockets",
)
OPEN = {"runsc *": ("SECURITY.md", "replaces its sockets, has the role `execute`")}

CODE = """
import socket, stat
for path in w.below_runtime():
    if '/k' in path or not w.tried(lambda: stat.S_ISSOCK(os.lstat(path).st_mode)):
        continue
    if w.tried(lambda: (os.rename(path, path + '.taken'), 1)):
        print('MOVED', path)
        s = socket.socket(socket.AF_UNIX)
        print('BOUND', path, w.tried(lambda: (s.bind(path), 1)))
        s.close()
        w.tried(lambda: os.unlink(path))
        os.rename(path + '.taken', path)
"""


def attack(box: Box) -> str:
    box.call("GET", "/api/kernels", port=8888)
    lines = box.cell(CODE).splitlines()
    return "; ".join(line for line in lines if line.startswith(("MOVED", "BOUND")))
