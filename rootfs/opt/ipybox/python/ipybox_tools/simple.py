"""Common types to what JSON has; stands in for pydantic_core where that is not installed."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import os
import uuid
from collections.abc import Iterable, Mapping
from typing import Any


def simplify(value: Any) -> Any:
    """`value` as to_jsonable_python() has it. Raises ValueError for objects of unknown types."""
    try:
        return _simple(value)
    except RecursionError:
        raise ValueError("circular or too deeply nested arguments") from None


def _simple(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return _simple(value.value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes | bytearray):
        return value.decode()
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        text = value.isoformat()
        return text[:-6] + "Z" if text.endswith("+00:00") else text
    if isinstance(value, uuid.UUID | decimal.Decimal | complex | os.PathLike):
        return str(value)
    return _simple_container(value)


def _simple_container(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _simple(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_simple(name): _simple(member) for name, member in value.items()}
    if isinstance(value, Iterable):
        return [_simple(member) for member in value]
    raise ValueError(f"Unable to serialize unknown type: {type(value)}")


def _duration(value: datetime.timedelta) -> str:
    """As ISO 8601 has it: ``P1DT30.5S``."""
    sign = "-" if value < datetime.timedelta(0) else ""
    value = abs(value)
    seconds = f"{value.seconds}.{value.microseconds:06}".rstrip("0").rstrip(".")
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}T{seconds}S"
