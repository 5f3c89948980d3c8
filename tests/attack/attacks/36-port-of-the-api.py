# SPDX-License-Identifier: Apache-2.0
"""A cell goes to the API's port without a token: by requests, WebSockets, and requests in requests"""

from box import Box

BREAKS = ("docs/http-api.md", "always need a token, because code in kernels reaches the port")

CODE = r"""
import base64, http.client, socket, threading
kernel = base64.urlsafe_b64encode(w.own_token().encode()).decode().rstrip('=')
heads = [[], ['Authorization: Bearer ' + w.own_token()], ['Authorization: Bearer '],
         ['Authorization: Bearer CANARY'], ['Authorization: Basic ' + kernel], ['X-Forwarded-For: 127.0.0.1'],
         ['Sec-WebSocket-Protocol: ipybox, ipybox.bearer.' + kernel], ['Origin: http://localhost:8080']]
upgrade = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13',
           'Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==']
lines = ['GET /v1/sessions', 'GET /v1/approvals', 'GET /v1/files/.env', 'GET /v1/sessions/default/events',
         'POST /v1/mcp-servers', 'GET /%76%31/sessions', 'GET //v1/sessions', 'GET /livez/../v1/sessions',
         'GET http://localhost/v1/sessions', 'POST /mcp', 'GET /v1/sessions?token=' + w.own_token()]
def ask(line, head):
    def act():
        s = socket.create_connection(('127.0.0.1', 8080), 5)
        s.settimeout(5)
        s.sendall('\r\n'.join([line + ' HTTP/1.1', 'Host: localhost:8080', *head,
                               *([] if upgrade[0] in head else ['Content-Length: 0']), '', '']).encode())
        return s.recv(400).decode(errors='replace')
    told = w.tried(act) or ''
    if told[9:12] in ('200', '201', '202', '204', '101'):
        print('ANSWERED', line, head, told[:40].split('\r')[0])
sockets = [upgrade + head for head in heads]
tries = [(line, head) for line in lines for head in
         [*heads, *(sockets if 'events' in line or 'approvals' in line else [])]]
threads = [threading.Thread(target=ask, args=one) for one in tries]  # wrong tokens are answered late
[t.start() for t in threads]; [t.join() for t in threads]
smuggled = ('GET /livez HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n'
            '0\r\n\r\nGET /v1/sessions HTTP/1.1\r\nHost: localhost:8080\r\n\r\n')
def smuggle():
    s = socket.create_connection(('127.0.0.1', 8080), 3)
    s.settimeout(2)
    s.sendall(smuggled.encode())
    text = ''
    while (piece := s.recv(4000).decode(errors='replace')):
        text += piece
        if '"sessions"' in text: print('ANSWERED the request in a request'); break
w.tried(smuggle)
"""


def attack(box: Box) -> str:
    told = box.cell(CODE, box.session())
    return "; ".join(line for line in told.splitlines() if line.startswith("ANSWERED"))
