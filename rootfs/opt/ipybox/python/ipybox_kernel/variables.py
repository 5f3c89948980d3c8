"""The variables that a cell leaves, for a reader who looks at its result.

Asked:   by a request with the user expression ASK; the reply then has them as `variables`.
Named:   what a user has made, in the order of its making; no modules, functions and classes, and
         nothing whose name begins with an underscore.
Safe:    no code of the user's runs. A value is told of types that Python itself has, a size of
         these and of arrays and frames of NumPy, pandas and Polars; of others only the class.
Limits:  VARIABLES_MAX, the newest; NAME_MAX characters of a name, VALUE_MAX of a value.
"""

from __future__ import annotations

import sys
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


def _shape(thing: object) -> str | None:
    for package, name in _SHAPED:
        if type(thing) is getattr(sys.modules.get(package), name, None):
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


def _is_named(name: object, thing: object, hidden: dict[str, Any]) -> bool:
    if type(name) is not str or not name.isidentifier() or name.startswith("_"):
        return False
    return hidden.get(name, hidden) is not thing and not issubclass(type(thing), _HIDDEN)


def variables(names: dict[str, Any], hidden: dict[str, Any]) -> list[dict[str, str]]:
    """The variables among `names`, without those that IPython has made itself."""
    found = [(name, thing) for name, thing in list(names.items()) if _is_named(name, thing, hidden)]
    return [
        {
            "name": _cut(name, NAME_MAX),
            "type": _cut(_class_name(type(thing)), NAME_MAX),
            "value": value_text(thing),
        }
        for name, thing in found[-VARIABLES_MAX:]
    ]
