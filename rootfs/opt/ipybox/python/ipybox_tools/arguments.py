"""Arguments of a tool from a generated Params, and a Result from what the tool returned.

What is sent: fields that were given, and those whose default was changed since. None is sent only
where the schema has null (the field is required, or "nullable" stands beside its type); elsewhere
it means that the argument is left out, which the schema allows.
"""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections.abc import Mapping
from functools import reduce
from operator import or_
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, cast, get_args, get_origin

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

R = TypeVar("R")

HINT_MAX = 600  # characters of a signature in an error
FAULTS_MAX = 5  # that an error names
GIVEN_MAX = 80  # characters of a wrong value
HOME = re.compile(r"\b(?:typing|mcptools(?:\.\w+)+)\.(?=\w)")
SHOWN_MAX = 200  # characters of a result in a warning


def arguments_of(
    tool: str, kind: type[BaseModel], params: Any, given: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments to send for ``run(params, **given)``.

    `params` is a `kind`, a dict, or None where all is in `given`. Raises TypeError for anything
    else, and ValueError (pydantic's ValidationError is one) for values that do not fit.
    """
    if given and params is None:
        params = dict(given)
    elif given or ("params" in kind.model_fields and not isinstance(params, kind)):
        params = _both(tool, kind, params, given)
    if params is None:
        params = {}
    if isinstance(params, Mapping):
        params = _validated(tool, kind, params)
    if not hasattr(type(params), "model_fields"):
        raise TypeError(
            f"{tool}: Params, a dict or keywords are needed, not {type(params).__name__}. "
            + hint(kind)
        )
    sent = wire_value(params)
    return sent if isinstance(sent, dict) else {}


def _both(tool: str, kind: type[BaseModel], params: Any, given: Mapping[str, Any]) -> Any:
    """Keywords beside `params`: right only where the tool has an argument of that name."""
    if "params" not in kind.model_fields:
        raise TypeError(f"{tool}: give either Params or keywords, not both. {hint(kind)}")
    if params is None:
        return dict(given)
    if not given and isinstance(params, Mapping) and "params" in params:
        return params
    return {"params": params, **given}


def _validated(tool: str, kind: type[BaseModel], params: Mapping[str, Any]) -> BaseModel:
    names = set(kind.model_fields) | {f.alias for f in kind.model_fields.values() if f.alias}
    strange = [str(name) for name in params if name not in names]
    is_closed = kind.model_config.get("extra") != "allow" and "root" not in kind.model_fields
    if strange and is_closed:
        raise TypeError(f"{tool} takes no argument {', '.join(strange)}. {hint(kind)}")
    from pydantic import ValidationError

    try:
        return kind.model_validate(dict(params))
    except ValidationError as error:
        wrong = "; ".join(_wrong(one) for one in error.errors(include_url=False)[:FAULTS_MAX])
        raise ValueError(f"{tool}: {wrong}. {hint(kind)}") from None


def _wrong(fault: Any) -> str:
    place = ".".join(map(str, fault["loc"])) or "the arguments"
    given = "" if fault["type"] == "missing" else f", not {repr(fault['input'])[:GIVEN_MAX]}"
    return f"{place}: {fault['msg']}{given}"


def hint(kind: type[BaseModel]) -> str:
    """How `kind` is called, in one line: what is required first, types without their bounds."""
    fields = sorted(kind.model_fields.items(), key=lambda item: not item[1].is_required())
    more = ["**more"] if kind.model_config.get("extra") == "allow" else []
    text = ", ".join([*(f"{name}: {_shown(field)}" for name, field in fields), *more])
    text = f"Its arguments: ({text})"
    return text if len(text) <= HINT_MAX else text[: HINT_MAX - 1] + "…"


def _shown(field: FieldInfo) -> str:
    text = HOME.sub("", inspect.formatannotation(_bare(field.annotation)))
    if field.is_required():
        return text
    default = field.get_default(call_default_factory=True)
    return f"{text} = {getattr(default, 'value', default)!r}"


def _bare(annotation: Any) -> Any:
    """Without Annotated, one level deep."""
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return parts[0]
    if isinstance(annotation, UnionType) or get_origin(annotation) is Union:
        bare = [part.__origin__ if get_origin(part) is Annotated else part for part in parts]
        return reduce(or_, bare)
    return annotation


def wire_value(value: Any) -> Any:
    """`value` with each model in it as the dict that is sent."""
    if hasattr(type(value), "model_fields"):
        if "root" in type(value).model_fields and hasattr(value, "root"):
            return wire_value(value.root)
        return _members(value)
    if isinstance(value, Mapping):
        return {name: wire_value(member) for name, member in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [wire_value(member) for member in value]
    return value


def _members(model: BaseModel) -> dict[str, Any]:
    sent: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if name not in model.model_fields_set and _is_default(field, value):
            continue
        if value is None and not _takes_null(field):
            continue
        sent[field.alias or name] = wire_value(value)
    for name, value in (model.model_extra or {}).items():
        sent[name] = wire_value(value)
    return sent


def _is_default(field: FieldInfo, value: Any) -> bool:
    default = field.get_default(call_default_factory=True)
    value = wire_value(value)
    return bool(value == wire_value(getattr(default, "value", default)))


def _takes_null(field: FieldInfo) -> bool:
    return (
        field.is_required()
        or "nullable" in field.metadata
        or field.annotation in (Any, Any | None, type(None))
    )


def result_as(tool: str, kind: type[R], value: Any) -> R:
    """`value` as a `kind`. What does not fit the tool's own schema is returned as it came, with a
    warning: the call was made, and its result is worth more than its form."""
    if kind is str:
        return cast("R", value)
    from pydantic import ValidationError

    try:
        return cast("R", cast("type[BaseModel]", kind).model_validate(_structured(value)))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the result"
        warnings.warn(
            f"The result of {tool} does not fit the tool's own schema ({place}: {first['msg']}); "
            f"it is returned as it came: {repr(value)[:SHOWN_MAX]}",
            stacklevel=3,
        )
        return cast("R", value)


def _structured(value: Any) -> Any:
    """Servers that say an output schema and answer with text alone write JSON there."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
