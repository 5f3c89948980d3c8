# SPDX-License-Identifier: Apache-2.0
"""A cell uses the HTTP API over the Unix socket: it lists, runs code elsewhere, and installs."""

from box import Box

BREAKS = (
    "SECURITY.md",
    "use the HTTP API; approve, and change a session's sandbox, only with the latter",
)
OPEN = {"runsc *": ("SECURITY.md", "has the role `execute` on the socket of the command line")}

CODE = """
import json, subprocess, sys
requests = [('GET', '/v1/sessions', None), ('GET', '/v1/files', None), ('GET', '/v1/approvals', None),
            ('POST', '/v1/sessions/default/executions', {'code': 'x_by_socket = 1'}),
            ('PUT', '/v1/files/by-socket?x', None)]
for path in [p for p in w.below_runtime() if p.endswith('.sock')]:
    for method, url, body in requests:
        told = w.tried(lambda: w.over_unix(path, method, url, body))
        if told and told.startswith('2') and not told.startswith('204 -'):
            print('ROLE', path, method, url, told[:60])
for words in (['sessions'], ['exec', 'print("R"+"AN")'], ['logs']):
    done = subprocess.run(['/usr/local/bin/ipybox', *words], capture_output=True, text=True, timeout=15)
    if done.returncode == 0:
        print('ROLE by the command', words[0])
"""


def attack(box: Box) -> str:
    other = box.session()
    told = box.cell(CODE, other)
    return "; ".join(line for line in told.splitlines() if line.startswith("ROLE"))
