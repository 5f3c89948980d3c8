# SPDX-License-Identifier: Apache-2.0
"""Both generators' models: made, imported, tried, and looked at."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import types
import typing
import warnings
from copy import deepcopy
from enum import Enum
from pathlib import Path
from typing import Any, get_args

from corpus import CORPUS, FAILED, servers
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

TOP = Path(__file__).resolve().parents[3]
RUNTIME = TOP / "rootfs/opt/ipybox/python"

# What became of an instance: "accepted", "rejected", or the name of another error; the JSON of it.
Outcome = tuple[str, str]


# --- ours ---


def generate(folder: Path) -> dict[str, list[str]]:
    """mcptools/<server>/ for the whole corpus; by server the modules in the order of its tools."""
    package = folder / "mcptools"
    package.mkdir()
    tool = os.environ.get("APIGEN_TOOL")
    return by_program(tool, package) if tool else by_image(package)


def by_program(program: str, package: Path) -> dict[str, list[str]]:
    """tests/tools/apigen_tool.c"""
    modules = {}
    for server in servers():
        with (CORPUS / f"{server}.json").open("rb") as file:
            run = subprocess.run([program, server], stdin=file, capture_output=True, check=True)
        made = json.loads(run.stdout)
        (package / server).mkdir()
        for name, text in made["files"].items():
            (package / server / name).write_text(text)
        modules[server] = made["modules"]
    return modules


def by_image(package: Path) -> dict[str, list[str]]:
    """`ipybox apigen` of the image, in one container."""
    script = (
        'for f in /corpus/*.json; do s=$(basename "$f" .json); echo "= $s";'
        ' ipybox apigen --root-dir /out --server-name "$s" --tools "$f"; done'
    )
    owner = f"{os.geteuid()}:{os.getegid()}"
    package.chmod(0o777)
    run = subprocess.run(
        [
            *("docker", "run", "--rm", "--network", "none", "--user", owner),
            *("-v", f"{CORPUS}:/corpus:ro", "-v", f"{package}:/out", "--entrypoint", "sh"),
            *(os.environ.get("IPYBOX_TEST_IMAGE", "ipybox"), "-euc", script),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    modules: dict[str, list[str]] = {}
    for line in run.stdout.splitlines():
        if line.startswith("= "):
            modules[line[2:]] = []
        else:
            modules[list(modules)[-1]].append(line)
    return modules


def import_ours(folder: Path, server: str, module: str) -> types.ModuleType | str:
    """A text says why there is none. A warning is a failure: cells would show it."""
    for path in (str(folder), str(RUNTIME)):
        if path not in sys.path:
            sys.path.insert(0, path)
    try:
        with warnings.catch_warnings(action="error"):
            return importlib.import_module(f"mcptools.{server}.{module}")
    except Exception as failure:
        return f"import: {type(failure).__name__}: {failure}"


# --- the oracle's ---


def import_oracle(name: str, code: str) -> types.ModuleType | str:
    """A text says why there is none."""
    if code.startswith(FAILED):
        return f"generate: {code.removeprefix(FAILED).split(':')[0]}"
    module = types.ModuleType(name)
    sys.modules[name] = module
    for forget in vars(typing)["_cleanups"]:  # Union[int, bool] may be another's Union[bool, int]
        forget()
    try:
        warnings.simplefilter("ignore")
        exec(compile(code, name, "exec"), module.__dict__)
        for name in {"Params", "Result"} & vars(module).keys():
            vars(module)[name].model_rebuild()
    except Exception as failure:
        return f"import: {type(failure).__name__}"
    return module


# --- what they do ---


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def dump(model: BaseModel, **options: Any) -> str:
    return text_of(to_jsonable_python(model.model_dump(warnings=False, **options)))


def lost(model: BaseModel, given: Any) -> list[str]:
    """Properties of the schema that were given and would not be sent as the runtime writes it."""
    from ipybox_tools.arguments import wire_value
    from ipybox_tools.jsonable import to_json

    sent = json.loads(to_json(wire_value(model)))
    if not isinstance(given, dict) or not isinstance(sent, dict):
        return []
    fields: dict[str, Any] = vars(type(model))["__pydantic_fields__"]
    wires = {field.alias or name for name, field in fields.items()} - {"root"}
    return sorted(
        name for name in wires & given.keys() if given[name] is not None and name not in sent
    )


def validate(model: type[BaseModel], value: Any) -> BaseModel | str:
    try:
        return model.model_validate(deepcopy(value))
    except ValidationError:
        return "rejected"
    except Exception as failure:
        return type(failure).__name__


def try_ours(module: types.ModuleType, name: str, value: Any) -> Outcome:
    """Params with all that was given, a Result with all that is in it."""
    model = validate(vars(module)[name], value)
    if isinstance(model, str):
        return model, ""
    if name == "Result":
        return "accepted", dump(model, by_alias=True)
    try:
        if missing := lost(model, value):
            return f"lost: {', '.join(missing)}", ""
        return "accepted", dump(model, exclude_none=True, by_alias=True)
    except Exception as failure:
        return f"{type(failure).__name__} in run()", ""


def try_oracle(module: types.ModuleType, name: str, value: Any) -> tuple[Outcome, str]:
    """The same; and what the old run() sent, which had the fields' names in Python."""
    model = validate(vars(module)[name], value)
    if isinstance(model, str):
        return (model, ""), ""
    try:
        if name == "Result":
            return ("accepted", dump(model, by_alias=True)), ""
        plain = dump(model, exclude_none=True)
        return ("accepted", dump(model, exclude_none=True, by_alias=True)), plain
    except Exception as failure:
        return (f"{type(failure).__name__} in dump", ""), ""


# --- what code sees of them ---


def shape(model: type[BaseModel]) -> dict[str, str]:
    """Places to the names of classes, fields and members there."""
    found: dict[str, str] = {}
    look(model, "", found, set())
    return found


def look(annotation: Any, where: str, found: dict[str, str], open_: set[Any]) -> None:
    if annotation in open_:
        return
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        found[f"{where} enum {annotation.__name__}"] = text_of(
            {name: member.value for name, member in annotation.__members__.items()}
        )
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        fields: dict[str, Any] = vars(annotation)["__pydantic_fields__"]
        if where or "root" in fields:
            found[f"{where} class {annotation.__name__}"] = ""
        for name, field in fields.items():
            wire = field.alias or name
            found[f"{where}/{wire}"] = f"{name} required={field.is_required()}"
            look(field.annotation, f"{where}/{wire}", found, open_ | {annotation})
    else:
        for argument in get_args(annotation):
            if not isinstance(argument, str | int | list):
                look(argument, where, found, open_)
