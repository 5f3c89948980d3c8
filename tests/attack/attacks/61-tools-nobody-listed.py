# SPDX-License-Identifier: Apache-2.0
"""Tools that a server does not list, names that differ for policy and server, members that come twice."""

from box import Box

BREAKS = (
    "SECURITY.md",
    "call tools of registered MCP servers, as far as policy and approver let it",
)

CODE = r"""
line = w.Tools(w.own_token(), patience=1)
print('HIDDEN', line.call('hidden', text='x'))
for name in ('danger\u200b', 'danger\u0000', 'DANGER', ' danger', 'danger\n', 'dang\u202eer'):
    print('ALIKE', repr(name), w.tried(lambda: w.Tools(w.own_token(), patience=1).call(name, text='x')))
for args in ('{"text": "shown", "text": "run"}', '{"a": {"text": "shown", "text": "run"}}',
             '{"text": "shown", "te\\u0078t": "run"}'):
    raw = ('{"jsonrpc": "2.0", "id": 9, "method": "run", "params": {"server_name": "demo",'
           ' "tool_name": "echo", "tool_args": %s}}' % args)
    print('TWICE', args, w.tried(lambda: w.Tools(w.own_token(), patience=1).raw(raw)))
raw = ('{"jsonrpc": "2.0", "id": 9, "method": "run", "params": {"server_name": "demo", "tool_name":'
       ' "echo", "tool_name": "danger", "tool_args": {}}}')
print('TWICE tool_name', w.tried(lambda: w.Tools(w.own_token(), patience=1).raw(raw)))
"""


def attack(box: Box) -> str:
    told = box.cell(CODE)
    return "; ".join(line for line in told.splitlines() if "has run with" in line)
