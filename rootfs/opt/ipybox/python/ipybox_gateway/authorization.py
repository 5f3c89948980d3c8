"""The gateway's token in the forms that clients have: ``token X``, ``Bearer X``, and ``Basic`` for
those that take nothing but a host, as in http://x:TOKEN@localhost:8888."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any

from kernel_gateway.mixins import TokenAuthorizationMixin


def token_form(header: str) -> str:
    """The header as the Kernel Gateway (3.0.1) knows it; one of another form as it is."""
    scheme, _, value = header.partition(" ")
    value = value.strip()
    if scheme.lower() == "bearer":
        return f"token {value}"
    if scheme.lower() != "basic":
        return header
    try:
        password = b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return header
    return f"token {password}"


def accept_forms() -> None:
    """Have every handler take them; what a token may do is not changed."""
    stock = TokenAuthorizationMixin.prepare

    def prepare(handler: Any) -> Any:
        headers = handler.request.headers
        if "Authorization" in headers:
            headers["Authorization"] = token_form(headers["Authorization"])
        return stock(handler)

    TokenAuthorizationMixin.prepare = prepare
