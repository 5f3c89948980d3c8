"""The lines between code and the server: JSON-RPC 2.0, one message a line, on a Unix socket.

    {"jsonrpc":"2.0","id":0,"method":"hello","params":{"token":"…"}}     the first, answered {}
    {"jsonrpc":"2.0","id":1,"method":"run","params":{"server_name":…,"tool_name":…,"tool_args":{…}}}
    {"jsonrpc":"2.0","id":1,"result":{"result":…,"content":[…]}}         or {"error":…,"type":…}

``approve`` takes the same and answers ``{"approved":true}`` or ``{"approved":false,"error",…}``;
``reset`` takes nothing; the notification ``cancel`` takes ``{"id":1}``. Answers come in any order.
The server's end is src/front/toolserver/toolsock.h.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import Any

from ipybox_tools.errors import ToolRunnerError
from ipybox_tools.jsonable import to_json

LINE_MAX = 64 << 20  # bytes; the server reads no longer line
SOCKET = "IPYBOX_TOOL_SOCKET"
TOKEN = "IPYBOX_TOOL_TOKEN"
SERVER = "IPYBOX_TOOL_SERVER"  # its process id

CREDENTIALS = struct.Struct("=iII")  # of a peer: its process, uid and gid

LOST = "The connection to the server of ipybox was lost during the call; it may or may not be done"


def address() -> tuple[str, str]:
    """Path of the socket, and the token. Raises ToolRunnerError outside of a kernel."""
    path, token = os.environ.get(SOCKET), os.environ.get(TOKEN)
    if not path or not token:
        missing = SOCKET if not path else TOKEN
        raise ToolRunnerError(
            f"Tools cannot be called from here: {missing} is not set. Run this code in a kernel of "
            "ipybox, or in a process that one has started with its environment."
        )
    return path, token


def check(connection: socket.socket, path: str) -> None:
    """See that the server itself listens there: where it has the uid of code in kernels, other code
    may have taken the name. Raises ToolRunnerError; to be called before the token is told."""
    server = os.environ.get(SERVER)
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    process, _, _ = CREDENTIALS.unpack(credentials)
    if server and server != str(process):
        raise ToolRunnerError(
            f"Tools cannot be called from here: process {process} listens at {path}, which is not "
            "the server of ipybox. Restart the container."
        )


def unreachable(path: str, error: OSError) -> ToolRunnerError:
    """Why nothing could be asked."""
    return ToolRunnerError(
        f"Tools cannot be called from here: the server of ipybox does not answer at {path} "
        f"({error.strerror or error}). Run this code in a kernel of ipybox."
    )


def hello(token: str) -> bytes:
    """The first line."""
    return line(0, "hello", {"token": token})


def line(number: int, method: str, params: Any) -> bytes:
    """A request. Raises ValueError for what JSON cannot say, ToolRunnerError if it is too long."""
    packed = b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' % (
        number,
        method.encode(),
        to_json(params),
    )
    if len(packed) > LINE_MAX:
        raise ToolRunnerError(
            f"The arguments are too long: {len(packed)} bytes; {LINE_MAX} can go in one call"
        )
    return packed


def cancel(number: int) -> bytes:
    """The notification that nobody waits for this request any more."""
    return b'{"jsonrpc":"2.0","method":"cancel","params":{"id":%d}}\n' % number


def parse(received: bytes | bytearray) -> dict[str, Any]:
    """A message. Raises ToolRunnerError for what is none."""
    try:
        message = json.loads(received)
    except ValueError as error:
        raise ToolRunnerError(f"The server's answer cannot be read: {error}") from None
    if not isinstance(message, dict):
        raise ToolRunnerError("The server's answer cannot be read: an object is needed")
    return message


def result(message: dict[str, Any]) -> dict[str, Any]:
    """The result in an answer. Raises ToolRunnerError if it is an error."""
    if "error" in message:
        raise ToolRunnerError(message["error"].get("message", "unknown error"))
    answer: dict[str, Any] = message["result"]
    return answer
