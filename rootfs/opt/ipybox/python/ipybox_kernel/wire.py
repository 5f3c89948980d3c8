"""Objects to JSON bytes.

The stock packer lets half of a surrogate pair through as a byte that is not UTF-8, or fails and
so loses the message. Here it is written as Python would write it in a literal: ``\\udc80``, six
characters of text. That keeps the value readable, as ``backslashreplace`` does on stderr.
"""

from __future__ import annotations

import codecs
import json
from typing import Any

from jupyter_client.jsonutil import json_clean, json_default

PACKED_MAX = 240 << 20  # bytes; the server reads frames of up to 256 MiB

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, default=json_default).encode


def _as_text(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: the escape, with its backslash escaped once more for JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    bad = error.object[error.start : error.end]
    return "".join(f"\\\\u{ord(char):04x}" for char in bad), error.end


codecs.register_error("ipybox-json-text", _as_text)


def pack(obj: Any) -> bytes:
    """`obj` as JSON. NaN, infinities and unknown types become strings.

    Raises ValueError or TypeError if not even that is possible, as for a circular structure, and
    ValueError above PACKED_MAX: the reader would cut the connection.
    """
    try:
        text = _encode(obj)
    except (TypeError, ValueError):
        text = _encode(json_clean(obj))
    packed = text.encode("utf-8", "ipybox-json-text")
    if len(packed) > PACKED_MAX:
        raise ValueError(f"{len(packed)} bytes are too much for one message; {PACKED_MAX} can go")
    return packed


def printable(text: str) -> str:
    """`text` with each half of a surrogate pair written as its escape; up to 6 times as long."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text
