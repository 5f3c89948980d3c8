"""The gateway's token in the forms that clients have: ``token X``, ``Bearer X``, and ``Basic`` for
those that take nothing but a host, as in http://x:TOKEN@localhost:8888; and ``X-Ipybox-Token: X``
behind a router that wants ``Authorization`` for itself."""

from __future__ import annotations

import binascii
import os
import re
from base64 import b64decode
from collections.abc import Mapping
from hmac import compare_digest
from typing import Any

from kernel_gateway.mixins import TokenAuthorizationMixin

OWN_HEADER = "X-Ipybox-Token"
INSTANCE_HEADER = "Ipybox-Instance"  # of answers; a request may name there whom it means
INSTANCE_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
OWNER_HEADER = "Ipybox-Owner"


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


def given_token(headers: Mapping[str, str], argument: str | None) -> str | None:
    """What the request brings. Where ``X-Ipybox-Token`` is there nothing else is looked at: then
    ``Authorization`` is a router's. ``argument``: ``?token=``, which goes before ``Authorization``.
    """
    if OWN_HEADER in headers:
        return headers[OWN_HEADER]
    if argument is not None:
        return argument
    scheme, _, value = token_form(headers.get("Authorization", "")).partition(" ")
    return value if scheme == "token" else None


def is_right(given: str | None, expected: str) -> bool:
    """Compared in constant time."""
    return given is not None and compare_digest(given.encode(), expected.encode())


def judge_instance(headers: Mapping[str, str], own: str | None) -> int:
    """200: the request means this instance, which it does when it names none; 421: another; 400:
    what it names is no name, or there are two, which Tornado joins with a comma."""
    meant = headers.get(INSTANCE_HEADER)
    if own is None or meant is None or meant == own:
        return 200
    return 421 if INSTANCE_NAME.fullmatch(meant) else 400


def accept_forms() -> None:
    """Have every handler take them, and refuse what is meant for another instance; what a token may
    do is not changed."""
    own = os.environ.get("IPYBOX_GATEWAY_INSTANCE")

    def prepare(handler: Any) -> Any:
        headers = handler.request.headers
        status = judge_instance(headers, own)
        if status == 421:
            handler.set_status(status)
            handler.set_header(OWNER_HEADER, headers[INSTANCE_HEADER])
            return handler.finish({"reason": "Misdirected Request", "message": f"this is {own}"})
        if status == 400:
            handler.set_status(status)
            message = f"the header {INSTANCE_HEADER} is not a name"
            return handler.finish({"reason": "Bad Request", "message": message})
        expected = handler.settings.get("kg_auth_token")
        if expected and handler.request.method != "OPTIONS":
            given = given_token(headers, handler.get_argument("token", None))
            if not is_right(given, expected):
                return handler.send_error(401)
            headers["Authorization"] = f"token {given}"  # Jupyter Server looks there once more
        return super(TokenAuthorizationMixin, handler).prepare()

    TokenAuthorizationMixin.prepare = prepare
