#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes session.inc: messages as jupyter_client's own Session signs and serialises them.

Run with jupyter_client 8.10.0 installed; the output differs each time (ids, dates).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_client.session import Session

KEY = b"0f1e2d3c-4b5a6978-8796a5b4c3d2e1f0"


def c_string(data: bytes) -> str:
    """One C literal; a hex escape never runs into a digit that follows."""
    escaped = "".join(
        f"\\{byte:03o}" if byte < 0x20 or byte > 0x7E else "\\" * (byte in b'\\"') + chr(byte)
        for byte in data
    )
    return f'"{escaped}"'


def main() -> None:
    session = Session(key=KEY, session="kernel-session", username="kernel")
    parent = Session(session="client-session").msg("execute_request", {"code": "1"})["header"]
    messages: list[tuple[bytes, str, dict[str, Any], list[bytes]]] = [
        (b"kernel.1.status", "status", {"execution_state": "idle"}, []),
        (
            b"kernel.1.stream.stdout",
            "stream",
            {"name": "stdout", "text": "é\0\u2028😀\n\udcff"},
            [],
        ),
        (b"", "execute_reply", {"status": "ok", "execution_count": 3, "payload": []}, []),
        (b"comm-1", "comm_msg", {"comm_id": "c", "data": {}}, [b"one", b"", b"<IDS|MSG>"]),
    ]
    lines = [
        "/* SPDX-License-Identifier: Apache-2.0",
        " *",
        " * Made by make.py with jupyter_client 8.10.0; frames as they stand on the wire. */",
        f"static const char golden_key[] = {c_string(KEY)};",
        f"static const char golden_parent_id[] = {c_string(parent['msg_id'].encode())};",
        "",
        "static const struct golden golden_messages[] = {",
    ]
    for identity, name, content, buffers in messages:
        message = session.msg(name, content, parent=parent)
        frames = session.serialize(message, ident=[identity] if identity else None)
        lines.append(f"    {{{c_string(name.encode())}, {len(frames) + len(buffers)}, {{")
        lines += [f"        FRAME({c_string(frame)})," for frame in [*frames, *buffers]]
        lines.append("    }},")
    lines.append("};")
    (Path(__file__).parent / "session.inc").write_text("\n".join(lines) + "\n")


main()
