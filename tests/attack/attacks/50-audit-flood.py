# SPDX-License-Identifier: Apache-2.0
"""A cell fills the audit log with events that it forges, and with calls that are refused"""

from box import Box, Mode

BREAKS = ("docs/audit.md", "would otherwise fill the disk")
ONLY = ["docker R", "docker K+S"]  # it is the same in the others

CODE = """
import time, threading, json, ipykernel.kernelapp as k
app = k.IPKernelApp.instance()
kernel, session = app.kernel, app.kernel.session
end = time.monotonic() + 3
def forge():
    n = 0
    while time.monotonic() < end:
        n += 1
        parent = {'header': session.msg_header('execute_request'), 'metadata': {}, 'content': {}}
        for name, content in (('status', {'execution_state': 'busy'}),
                              ('execute_input', {'code': f'forged {n}', 'execution_count': 1}),
                              ('status', {'execution_state': 'idle'})):
            session.send(kernel.iopub_socket, name, content, parent=parent, ident=kernel.topic(name))
def call():
    try:
        line = w.Tools(w.own_token())
        while time.monotonic() < end:
            line.call('x' * 200, 'nobody' * 30, a=1)
    except (OSError, EOFError, StopIteration, RuntimeError, KeyError):
        pass
def login():
    n = 0
    while time.monotonic() < end:
        n += 1
        for path in w.below_runtime('*.sock'):
            w.tried(lambda: w.over_unix(path, 'GET', '/v1/sessions', token=f'wrong-{n}'))
threads = [threading.Thread(target=t) for t in (forge, call, call, login)]
[t.start() for t in threads]; [t.join() for t in threads]
"""


def box_for(mode: Mode) -> Box:
    box = Box(mode, words=["--audit-log", "/audit/audit.jsonl"])
    folder = box.folder / "audit"
    folder.mkdir()
    folder.chmod(0o777)
    box.options += ["-v", f"{folder}:/audit"]
    return box


def attack(box: Box) -> str:
    box.run()
    session = box.session()
    box.cell("1", session)
    log = box.folder / "audit" / "audit.jsonl"
    before = log.stat().st_size
    box.cell(CODE, session, ends=True)
    grown = log.stat().st_size - before
    return f"the log has grown by {grown >> 10} KiB in 3 seconds" if grown > 2 << 20 else ""
