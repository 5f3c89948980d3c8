# SPDX-License-Identifier: Apache-2.0
"""The two origins of a host of MCP Apps, in the browser's container, beside the server.

localhost:9001 has the host, the server's /mcp and /v1, and the list of all requests.
127.0.0.1:9002 has the proxy of the pages, with the strictest policy that the protocol gives to a
page which names no domains.
"""

from __future__ import annotations

import http.client
import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

FOLDER = "/apps"
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; media-src 'self' data:; connect-src 'none'; "
    "frame-src 'none'; object-src 'none'; base-uri 'self'"
)
OF_SERVER = ("/mcp", "/v1/")
PASSED = ("Accept", "Authorization", "Content-Type", "Last-Event-ID")


class Host(SimpleHTTPRequestHandler):
    """Files, and what is the server's."""

    policy = ""
    requests: ClassVar[list[str]] = []

    def end_headers(self) -> None:
        """With the policy."""
        if self.policy:
            self.send_header("Content-Security-Policy", self.policy)
        super().end_headers()

    def do_GET(self) -> None:
        """A file, or something of the server's."""
        self.requests.append(self.path)
        if self.path.startswith(OF_SERVER):
            self._pass_on()
        elif self.path == "/requests":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(self.requests).encode())
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """A message for the server."""
        self._pass_on()

    def do_DELETE(self) -> None:
        """The end of a session."""
        self._pass_on()

    def _pass_on(self) -> None:
        names = [n for n in self.headers if n in PASSED or n.lower().startswith("mcp-")]
        names += [n for n in self.headers if n.lower() in map(str.lower, PASSED) and n not in names]
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = http.client.HTTPConnection("localhost", 8080)
        server.request(self.command, self.path, body or None, {n: self.headers[n] for n in names})
        answer = server.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() in ("content-type", "mcp-session-id"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while part := answer.read1():
            self.wfile.write(part)
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


class Sandbox(Host):
    """The other origin."""

    policy = POLICY


def serve() -> None:
    for handler, address in (Host, ("localhost", 9001)), (Sandbox, ("127.0.0.1", 9002)):
        server = ThreadingHTTPServer(address, partial(handler, directory=FOLDER))
        threading.Thread(target=server.serve_forever, daemon=True).start()


if __name__ == "__main__":
    serve()
    threading.Event().wait()
