# SPDX-License-Identifier: Apache-2.0
"""Hears what a page sends elsewhere, on port 9999.

Each connection, HTTP request and datagram is a line of the file /tmp/downloads/heard.
"""

import http.server
import socket
import threading
from pathlib import Path

PORT = 9999
HEARD = Path("/tmp/downloads/heard")


def hear(what: str) -> None:
    with HEARD.open("a") as file:
        file.write(f"{what}\n")


class Handler(http.server.BaseHTTPRequestHandler):
    def do_any(self) -> None:
        hear(self.path)
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()

    do_GET = do_POST = do_OPTIONS = do_HEAD = do_any

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


class Server(http.server.ThreadingHTTPServer):
    def verify_request(self, request: object, client_address: object) -> bool:
        hear("a connection")  # also one that is opened for later
        return True


def datagrams() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as heard:
        heard.bind(("127.0.0.1", PORT))
        while True:
            heard.recv(2048)
            hear("a datagram")


HEARD.parent.mkdir(exist_ok=True)
HEARD.touch()
threading.Thread(target=datagrams, daemon=True).start()
Server(("127.0.0.1", PORT), Handler).serve_forever()
