"""The variables that a cell leaves, for a reader who looks at its result.

Asked:   by a request with the user expression ASK, whose reply then has them as `variables`; or
         by a variables_request on the control channel, while a cell runs, too (inventory()).
Named:   what a user has made, in the order of its making; no modules, functions and classes, and
         nothing whose name begins with an underscore.
Safe:    no code of the user's runs. A value is told of types that Python itself has, a size of
         these and of arrays and frames of NumPy, pandas and Polars; of others only the class. The
         frames' own packages tell shape and size.
Limits:  VARIABLES_MAX, the newest; NAME_MAX characters of a name, VALUE_MAX of a value.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

ASK = "ipybox.variables"
VARIABLES_MAX = 200
NAME_MAX = 100
VALUE_MAX = 100

_PLAIN = {bool, float, complex, type(None)}
_SIZED = {list, tuple, dict, set, frozenset, bytearray, range}
_SHAPED = [  # package, class
    ("numpy", "ndarray"),
    ("pandas", "DataFrame"),
    ("pandas", "Series"),
    ("polars", "DataFrame"),
    ("polars", "Series"),
]
_INT_BITS_MAX = 256
_HIDDEN = (ModuleType, FunctionType, BuiltinFunctionType, type)

_class_name = type.__dict__["__name__"].__get__  # a metaclass may have made one of its own


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _is_of(thing: object, package: str, name: str) -> bool:
    return type(thing) is getattr(sys.modules.get(package), name, None)


def _shape(thing: object) -> str | None:
    for package, name in _SHAPED:
        if _is_of(thing, package, name):
            sizes = thing.shape  # type: ignore[attr-defined]
            return " x ".join(str(size) for size in sizes) or "a scalar"
    return None


def value_text(thing: object) -> str:
    """What a reader learns of a value; nothing where only its own code could tell it."""
    kind = type(thing)
    if kind is int:
        bits = int.bit_length(thing)  # type: ignore[arg-type]
        return repr(thing) if bits <= _INT_BITS_MAX else f"{bits} bits"
    if kind in _PLAIN:
        return repr(thing)
    if kind is str or kind is bytes:
        return _cut(repr(thing[: VALUE_MAX + 1]), VALUE_MAX)  # type: ignore[index]
    if kind in _SIZED:
        length = len(thing)  # type: ignore[arg-type]
        return f"{length} item" + "s" * (length != 1)
    return _shape(thing) or ""


def size_of(thing: object) -> int | None:
    """Bytes of the value itself, without what it refers to."""
    kind = type(thing)
    if kind is int or kind is str or kind is bytes or kind in _PLAIN or kind in _SIZED:
        return kind.__sizeof__(thing)
    package = next((package for package, name in _SHAPED if _is_of(thing, package, name)), None)
    if package == "numpy":
        return int(thing.nbytes)  # type: ignore[attr-defined]
    if package == "polars":
        return int(thing.estimated_size())  # type: ignore[attr-defined]
    if package == "pandas":
        used = thing.memory_usage(deep=False)  # type: ignore[attr-defined]
        return int(used if type(used) is int else used.sum())
    return None


def _is_named(name: object, thing: object, hidden: dict[str, Any]) -> bool:
    if type(name) is not str or not name.isidentifier() or name.startswith("_"):
        return False
    return hidden.get(name, hidden) is not thing and not issubclass(type(thing), _HIDDEN)


def _find(names: dict[str, Any], hidden: dict[str, Any]) -> list[tuple[str, Any]]:
    """Names and values, without those that IPython has made itself."""
    return [(name, thing) for name, thing in list(names.items()) if _is_named(name, thing, hidden)]


def _head(name: str, thing: object) -> dict[str, Any]:
    return {"name": _cut(name, NAME_MAX), "type": _cut(_class_name(type(thing)), NAME_MAX)}


def variables(names: dict[str, Any], hidden: dict[str, Any]) -> list[dict[str, Any]]:
    """The variables among `names`."""
    found = _find(names, hidden)[-VARIABLES_MAX:]
    return [_head(name, thing) | {"value": value_text(thing)} for name, thing in found]


def inventory(names: dict[str, Any], hidden: dict[str, Any]) -> dict[str, Any]:
    """The answer to a variables_request: each with its shape, size in bytes, and value."""
    found = _find(names, hidden)
    told = []
    for name, thing in found[-VARIABLES_MAX:]:
        one = _head(name, thing) | {"value": ""}
        with suppress(Exception):
            shape = _shape(thing)
            if shape is None:
                one["value"] = value_text(thing)
            else:
                one["shape"] = _cut(shape, NAME_MAX)
        with suppress(Exception):
            size = size_of(thing)
            if size is not None:
                one["size"] = size
        told.append(one)
    return {"status": "ok", "variables": told, "more": len(found) > VARIABLES_MAX}
