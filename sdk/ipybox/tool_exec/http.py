"""The few requests that the tool server takes, awaited or not."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from ipybox.errors import HttpError
from ipybox.tool_exec.tokens import headers

JSON = {"Content-Type": "application/json"}


async def send(method: str, url: str, token: str, body: bytes) -> dict[str, Any]:
    """The JSON of the answer. Raises HttpError, or aiohttp.ClientError where there is none."""
    import aiohttp

    async with (
        aiohttp.ClientSession(headers={**JSON, **headers(token)}) as http,
        http.request(method, url, data=body) as answer,
    ):
        return _read(answer.status, await answer.read())


def send_sync(method: str, url: str, token: str, body: bytes) -> dict[str, Any]:
    """send(), and wait for it. Raises HttpError, or OSError where there is no answer."""
    request = urllib.request.Request(
        url, data=body, method=method, headers={**JSON, **headers(token)}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return _read(answer.status, answer.read())
    except urllib.error.HTTPError as error:
        return _read(error.code, error.read())


def _read(status: int, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError:
        found = {}
    if status != 200 or not isinstance(found, dict):
        raise HttpError(status, found if isinstance(found, dict) else {})
    return found
