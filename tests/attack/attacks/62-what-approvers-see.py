# SPDX-License-Identifier: Apache-2.0
"""What an approver reads turns its direction, hides, or steers the terminal."""

import json
import threading

from box import APPROVER, WAIT, Box, CannotTry

BREAKS = ("docs/approvals.md", "lines of a name cannot be broken")
BAD = ["\u202e", "\u2066", "\u200b", "\u200f", "\x1b", "\x07", "\x9b", "\ufeff", "\U000e0041"]
CODE = f"""
line = w.Tools(w.own_token())
print(line.call('danger', text={"".join(BAD)!r} + ' mr- fr'))
"""


def attack(box: Box) -> str:
    session = box.session()
    thread = threading.Thread(target=lambda: box.cell(CODE, session))
    thread.start()
    box.wait_for("a question", lambda: box.call("GET", "/v1/approvals").text.count('"id"'))
    told = box.inside("ipybox", "approve")
    raw = box.call("GET", "/v1/approvals", token=APPROVER).text
    for one in json.loads(raw)["approvals"]:
        box.call("POST", f"/v1/approvals/{one['id']}", {"decision": "reject"})
    thread.join(WAIT)
    if thread.is_alive():
        raise CannotTry("the cell goes on after its call was rejected")
    got = [f"U+{ord(c):04X} in {where}" for c in BAD for where, text in
           (("ipybox approve", told), ("the log", box.logs()), ("the list", raw)) if c in text]  # fmt: skip
    return "; ".join(got)
