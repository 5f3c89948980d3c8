# SPDX-License-Identifier: Apache-2.0
"""Stands for ipybox_gateway/__main__.py while limits.py runs: the server starts it as that.

Hands every connection to SOCKET to the server, as the gateway hands it a socket of its own, so that
limits.py can ask what a gateway asks: one JSON line each way (ipybox_gateway/supervisor.py).
"""

from __future__ import annotations

import socket

CONTROL_FD = 5
SOCKET = "/tmp/ipybox-bench-gateway.sock"


def main() -> None:
    control = socket.socket(fileno=CONTROL_FD)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(SOCKET)
        listener.listen()
        control.send(b"r")  # clients may come; limits.py's only one has nothing to say
        while True:
            client, _ = listener.accept()
            with client:
                socket.send_fds(control, [b"s"], [client.fileno()])


if __name__ == "__main__":
    main()
