"""Arguments to JSON, as pydantic_core.to_jsonable_python() sees them.

What is plain JSON already costs nothing more. Anything else is given to pydantic_core; only where
that is not installed does a small stand-in (``simple``) do the common types.
"""

from __future__ import annotations

import json
import sys
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def to_json(value: Any) -> bytes:
    """`value` as one line of JSON.

    Raises ValueError (also as PydanticSerializationError) for what JSON cannot say: NaN,
    infinities, circular structures, objects of unknown types, half of a surrogate pair.
    """
    if "pydantic_core" in sys.modules:  # as in every generated package
        return _to_bytes(_simplify(value))
    try:
        return _to_bytes(value)
    except TypeError:
        return _to_bytes(_simplify(value))


def _to_bytes(value: Any) -> bytes:
    try:
        return _encode(value).encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            "half of a surrogate pair (U+D800 to U+DFFF) is no character: JSON in UTF-8 has no "
            f"form for {error.object[error.start : error.end]!a}"
        ) from None


def _simplify(value: Any) -> Any:
    try:
        from pydantic_core import to_jsonable_python
    except ImportError:
        from ipybox_tools.simple import simplify

        return simplify(value)
    return to_jsonable_python(value)
