# SPDX-License-Identifier: Apache-2.0
"""A cell goes to LibreChat's code API without the key: code, files of others, uploads"""

from box import Box, Mode

BREAKS = ("docs/librechat.md", "A request without the key gets no answer")

CODE = r"""
import base64, http.client, itertools, json, os
own = w.own_token()
os.makedirs('librechat/victim', exist_ok=True); open('librechat/victim/a', 'w').write('1')
base = '/librechat/v1'
form = (b'--b\r\nContent-Disposition: form-data; name="file"; filename="planted"\r\n\r\nx\r\n--b--\r\n')
code = json.dumps({'lang': 'bash', 'code': 'touch /app/workspace/planted'}).encode()
calls = [('POST', '/exec', code), ('POST', '/%65xec', code), ('POST', '/exec/programmatic', code),
         ('POST', '/exec/programmatic', b'{"continuation_token":""}'), ('POST', '/exec/programmatic/cancel', b'{"request_id":"x"}'),
         ('POST', '//exec', code), ('POST', '/upload', form), ('POST', '/upload/batch', form),
         ('GET', '/files/victim', b''), ('GET', '/health/../files/victim', b''), ('DELETE', '/files/victim/ca978112ca1bbdcafac23', b''),
         ('GET', '/download/victim/ca978112ca1bbdcafac23', b''), ('GET', '/sessions/victim/objects/ca978112ca1bbdcafac23', b'')]
heads = [{}, {'X-API-Key': own}, {'X-API-Key': ''}, {'Authorization': 'Bearer ' + own}, {'Authorization': 'Bearer '},
         {'Authorization': 'Basic ' + base64.b64encode(b'user:').decode()}, {'X-Forwarded-For': '127.0.0.1'},
         {'Authorization': 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.'}, {'X-CodeAPI-Expected-Profile': 'default'}]
def ask(method, path, body, head):
    c = http.client.HTTPConnection('127.0.0.1', 8080, timeout=20)
    kind = 'multipart/form-data; boundary=b' if body == form else 'application/json'
    c.request(method, base + path, body, {'Content-Type': kind, **head})
    answer = c.getresponse()
    if answer.status < 400: print('ANSWERED', method, path, head, answer.status)
from concurrent.futures import ThreadPoolExecutor  # wrong tokens are answered late
with ThreadPoolExecutor(32) as pool:
    for call, head in itertools.product(calls, heads):
        pool.submit(w.tried, lambda c=call, h=head: ask(*c, h))
if os.path.lexists('planted') or not os.path.lexists('librechat/victim/a'): print('ANSWERED with a file')
"""


def box_for(mode: Mode) -> Box:
    return Box(mode, words=["--librechat"])


def attack(box: Box) -> str:
    box.run()
    told = box.cell(CODE, box.session())
    return "; ".join(line for line in told.splitlines() if line.startswith("ANSWERED"))
