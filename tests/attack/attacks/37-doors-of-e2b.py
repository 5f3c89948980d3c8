# SPDX-License-Identifier: Apache-2.0
"""A cell goes to the doors of E2B's wire without a key: programs, files, links out, other sandboxes"""

from box import Box, Mode

BREAKS = ("docs/e2b.md", "Without a token of the sandbox none of this is answered")

CODE = r"""
import base64, http.client, itertools, json, os
own = w.own_token()
os.path.lexists('out') or os.symlink('/etc/passwd', 'out')
calls = [('POST', '/process.Process/' + n) for n in ('Start', 'Connect', 'List', 'SendInput', 'StreamInput', 'SendSignal')]
calls += [('POST', '/filesystem.Filesystem/' + n) for n in ('Stat', 'ListDir', 'Remove', 'CreateWatcher', 'WatchDir')]
calls += [('GET', '/files?path=' + p) for p in ('.env', '../../etc/passwd', 'out', '/etc/passwd', '~/.env')]
calls += [('GET', '/files?path=out&signature=v1_&signature_expiration=99999999999'), ('POST', '/files?path=planted'),
          ('POST', '/files/compose'),
          ('GET', '/envs'), ('POST', '/v2/sandboxes'), ('GET', '/sandboxes'), ('POST', '/sandboxes/default/connect'),
          ('DELETE', '/sandboxes/default'), ('POST', '/execute'), ('POST', '/contexts')]
heads = [{}, {'X-Access-Token': own}, {'X-Access-Token': ''}, {'X-API-KEY': own}, {'X-API-KEY': ''},
         {'E2b-Sandbox-Id': 'default'}, {'E2b-Sandbox-Id': 'default', 'X-Access-Token': own},
         {'Authorization': 'Basic ' + base64.b64encode(b'user:').decode()}, {'Host': '49983-default.localhost'},
         {'E2b-Sandbox-Id': 'debug_sandbox_id'}, {'E2b-Traffic-Access-Token': own}]
body = json.dumps({'process': {'cmd': 'touch', 'args': ['/app/workspace/planted']}, 'path': '.', 'code': '1'}).encode()
def ask(port, method, path, head):
    stream = path.endswith(('Start', 'Connect', 'WatchDir', 'StreamInput'))
    c = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
    kind = 'application/connect+json' if stream else 'application/json'
    c.request(method, path, b'\0' + len(body).to_bytes(4, 'big') + body if stream else body, {'Content-Type': kind, **head})
    answer = c.getresponse()
    if answer.status < 400: print('ANSWERED', port, method, path, head, answer.status)
from concurrent.futures import ThreadPoolExecutor  # wrong tokens are answered late
with ThreadPoolExecutor(32) as pool:
    for port, call, head in itertools.product((8080, 49983, 49999), calls, heads):
        pool.submit(w.tried, lambda p=port, c=call, h=head: ask(p, *c, h))
if os.path.lexists('planted'): print('ANSWERED with a file')
"""


def box_for(mode: Mode) -> Box:
    return Box(mode, words=["--e2b"])


def attack(box: Box) -> str:
    box.run()
    told = box.cell(CODE, box.session())
    return "; ".join(line for line in told.splitlines() if line.startswith("ANSWERED"))
