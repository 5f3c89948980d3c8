# SPDX-License-Identifier: Apache-2.0
"""No argument is dropped, whatever the size: the 1,002 operations of Kubernetes and the 1,223 of
GitHub as tools, each called with every property that its schema has."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from box import GUARD
from models import RUNTIME

LARGE = Path(os.environ["PEER_LARGE_DIR"])
COUNTS = {"kubernetes": 1002, "github_rest": 1223}
DEPTH_MAX = 6  # of what is given; deeper values are as small as their schema allows

Schema = dict[str, Any]

TEXTS = {
    "date-time": "2026-01-02T03:04:05Z",
    "date": "2026-01-02",
    "time": "03:04:05Z",
    "uri": "https://example.com/a",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "byte": "YWJj",
    "email": "a@example.com",
    "hostname": "example.com",
}
# Of each pattern of GitHub's that "a" does not match: what does.
PATTERNS = {
    "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$": "YWJj",
    "^sha256:[a-f0-9]{64}$": "sha256:" + 64 * "0",
    r"^\d+\.\d+\.\d+$": "1.2.3",
    "^refs/(heads|tags|pull)/.*$": "refs/heads/a",
    "^refs/": "refs/a",
    "^pkg": "pkg:a",
    "^https://": "https://example.com/a",
}


class Sample:
    """A value with every property that a schema has, down to DEPTH_MAX."""

    def __init__(self, root: Schema) -> None:
        self.root = root

    def whole(self, schema: Any) -> Schema:
        if not isinstance(schema, dict):
            return {}
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return self.whole({**self.root["$defs"][name], **rest})
        made = dict(schema)
        for part in made.pop("allOf", []):
            other = self.whole(part)
            made["properties"] = {**other.get("properties", {}), **made.get("properties", {})}
            made["required"] = [*other.get("required", []), *made.get("required", [])]
            made = {**other, **made}
        return made

    def of(self, schema: Any, depth: int = 0) -> Any:
        schema = self.whole(schema)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return next(value for value in schema["enum"] if value is not None)
        for choice in ("oneOf", "anyOf"):
            if branches := schema.get(choice):
                if "properties" in schema:
                    break
                beside = {key: value for key, value in schema.items() if key != choice}
                first = next(b for b in branches if self.whole(b).get("type") != "null")
                return self.of({**self.whole(first), **{**beside, **self.whole(first)}}, depth)
        kind = schema.get("type", "object" if "properties" in schema else None)
        kind = next(one for one in kind if one != "null") if isinstance(kind, list) else kind
        make = getattr(self, f"{kind}_of", None)
        return make(schema, depth) if make else "any"

    def object_of(self, schema: Schema, depth: int) -> Any:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        names = list(properties) if depth < DEPTH_MAX else [n for n in required if n in properties]
        made = {name: self.of(properties[name], depth + 1) for name in names}
        more = schema.get("additionalProperties")
        if not properties and isinstance(more, dict) and depth < DEPTH_MAX:
            made["key"] = self.of(more, depth + 1)
        return made

    def array_of(self, schema: Schema, depth: int) -> Any:
        count = max(schema.get("minItems", 0), 1 if depth < DEPTH_MAX else 0)
        return [self.of(schema.get("items"), depth + 1) for _ in range(count)]

    def string_of(self, schema: Schema, depth: int) -> Any:
        if schema.get("pattern", "").startswith("^ssh-"):
            return "ssh-ed25519 a"
        if "pattern" in schema and schema.get("format") != "uri":
            return PATTERNS.get(schema["pattern"], "a" * max(1, schema.get("minLength", 0)))
        text = TEXTS.get(schema.get("format", ""), "a")
        return text.ljust(schema.get("minLength", 0), "a")

    def integer_of(self, schema: Schema, depth: int) -> Any:
        return int(schema.get("minimum", min(1, schema.get("maximum", 1))))

    def number_of(self, schema: Schema, depth: int) -> Any:
        return self.integer_of(schema, depth)

    def boolean_of(self, schema: Schema, depth: int) -> Any:
        return True

    def null_of(self, schema: Schema, depth: int) -> Any:
        return None


def missing(given: Any, sent: Any, where: str = "") -> Iterator[str]:
    """Places that were given and are not sent."""
    if isinstance(given, dict):
        for name, value in given.items():
            if not isinstance(sent, dict) or name not in sent:
                yield f"{where}/{name}"
            else:
                yield from missing(value, sent[name], f"{where}/{name}")
    elif isinstance(given, list):
        for i, value in enumerate(given):
            if not isinstance(sent, list) or i >= len(sent):
                yield f"{where}/{i}"
            else:
                yield from missing(value, sent[i], f"{where}/{i}")
    elif type(given) is not type(sent) and not isinstance(given, int):
        yield f"{where}: {given!r} became {sent!r}"


def tools_of(server: str) -> list[Schema]:
    """Without results, which have a budget of their own."""
    found = json.loads((LARGE / f"{server}.json").read_text())["tools"]
    return [{key: value for key, value in one.items() if key != "outputSchema"} for one in found]


def try_some(folder: str, server: str, part: list[tuple[str, Schema]]) -> list[str]:
    """In a process of its own: what is wrong with the tools of these modules."""
    sys.path[:0] = [folder, str(RUNTIME)]
    from ipybox_tools.arguments import arguments_of
    from ipybox_tools.jsonable import to_json

    wrong = []
    for name, schema in part:
        module = importlib.import_module(f"mcptools.{server}.{name}")
        given = Sample(schema).of(schema)
        try:
            sent = json.loads(to_json(arguments_of(name, module.Params, None, given)))
        except Exception as error:
            wrong.append(f"{name}: {str(error)[:300]}")
            continue
        wrong += [f"{name}: {place}" for place in missing(given, sent)]
        del sys.modules[f"mcptools.{server}.{name}"]
    return wrong


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    folder.chmod(0o755)  # apigen runs as another user
    (folder / "mcptools").mkdir(mode=0o777)
    (folder / "mcptools").chmod(0o777)
    for server in COUNTS:
        (folder / f"{server}.json").write_text(json.dumps({"tools": tools_of(server)}))
    made = subprocess.run(
        [
            *("docker", "run", "--rm", "--network", "none", "--user", "0:0"),
            *("-v", f"{folder}:/lists:ro", "-v", f"{folder}/mcptools:/out", "--entrypoint", "sh"),
            *(os.environ.get("IPYBOX_TEST_IMAGE", "ipybox"), "-euc"),
            'for s; do ipybox apigen --root-dir /out --server-name "$s" --tools "/lists/$s.json";'
            " done",
            *("sh", *COUNTS),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=GUARD,
    )
    (folder / "modules").write_text(made.stdout)
    return folder


@pytest.mark.parametrize("server", COUNTS)
def test_every_property_of_every_tool_reaches_the_wire(package: Path, server: str) -> None:
    tools = tools_of(server)
    assert len(tools) == COUNTS[server]
    names = list(COUNTS)
    modules = (package / "modules").read_text().split()
    before = sum(COUNTS[one] for one in names[: names.index(server)])
    cases = [
        (module, tool["inputSchema"])
        for module, tool in zip(modules[before : before + len(tools)], tools, strict=True)
    ]
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        parts = [cases[at : at + 50] for at in range(0, len(cases), 50)]
        found = pool.map(try_some, [str(package)] * len(parts), [server] * len(parts), parts)
        wrong = [one for part in found for one in part]
    assert not wrong, "\n".join(wrong[:40])
