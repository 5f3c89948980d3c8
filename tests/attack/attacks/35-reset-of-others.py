# SPDX-License-Identifier: Apache-2.0
"""A session that may call no tools resets the MCP servers of all."""

from box import Box

BREAKS = (
    "SECURITY.md",
    "call tools of registered MCP servers, as far as policy and approver let it",
)

PID = "print(w.Tools(w.own_token()).call('environment', 'demo', name='x'))"


def servers(box: Box) -> set[str]:
    """The processes of MCP servers, as somebody outside sees them."""
    code = (
        "import os\nfor p in os.listdir('/proc'):\n if p.isdigit():\n  try:\n"
        "   c = open(f'/proc/{p}/cmdline').read()\n"
        "   if c.startswith('python3\\0/attack/mcp_server.py'): print(p)\n  except OSError: pass"
    )
    return set(box.inside("/usr/bin/python3", "-I", "-S", "-c", code).split())


def attack(box: Box) -> str:
    user, attacker = box.session(), box.session(approval="deny")
    box.cell(PID, user)
    before = servers(box)
    told = box.cell("print(w.tried(lambda: w.Tools(w.own_token()).ask('reset', {})))", attacker)
    box.cell("1", user)
    gone = before - servers(box)
    return f"ended {gone}, as it was told {told}" if gone else ""
