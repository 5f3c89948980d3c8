# SPDX-License-Identifier: Apache-2.0
"""A proxy with TLS in front of the image, for all names below a domain, as E2B_DOMAIN needs it."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

DOMAIN = "box.example"


def make_certificate(folder: Path) -> Path:
    """Of the domain's names, signed by itself; beside it is its key."""
    certificate = folder / "certificate.pem"
    openssl = shutil.which("openssl")
    assert openssl
    names = f"subjectAltName=DNS:*.{DOMAIN},DNS:{DOMAIN}"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=box"]
    words += ["-addext", "basicConstraints=critical,CA:FALSE"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(certificate)]
    subprocess.run([openssl, *words, "-addext", names, *files], check=True, capture_output=True)
    return certificate


def pump(source: socket.socket, to: socket.socket) -> None:
    with suppress(OSError):
        while bytes_read := source.recv(1 << 16):
            to.sendall(bytes_read)
    for end in (source, to):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def serve_one(client: socket.socket, context: ssl.SSLContext, port: int) -> None:
    """CONNECT, as a client sends it to HTTPS_PROXY; behind it TLS, which ends here."""
    with suppress(OSError):
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096) or b"\r\n\r\n"
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        inner = context.wrap_socket(client, server_side=True)
        server = socket.create_connection(("127.0.0.1", port))
        threading.Thread(target=pump, args=(server, inner), daemon=True).start()
        pump(inner, server)


@contextmanager
def tls_proxy(folder: Path, port: int) -> Iterator[dict[str, str]]:
    """The variables with which a client finds it."""
    certificate = make_certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, folder / "key.pem")
    context.set_alpn_protocols(["http/1.1"])
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                threading.Thread(
                    target=serve_one, args=(client, context, port), daemon=True
                ).start()

    threading.Thread(target=accept, daemon=True).start()
    yield {
        "E2B_DOMAIN": DOMAIN,
        "HTTPS_PROXY": f"http://127.0.0.1:{listener.getsockname()[1]}",
        "SSL_CERT_FILE": str(certificate),
    }
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
