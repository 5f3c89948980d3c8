# SPDX-License-Identifier: Apache-2.0
"""Schemas for kubeconform, strict and without an address of the web in them.

schemas.py OUT [ZIP MEMBER]...: Kubernetes' own, which kubernetes_validate has made of its OpenAPI,
go to OUT/VERSION/KIND-GROUP-VERSION.json; those of custom resources, from the YAML whose name in
their operator's archive ends so, to OUT/crds/GROUP/KIND_VERSION.json."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import kubernetes_validate
import yaml  # type: ignore[import-untyped]  # its stubs are another package
from cluster_tools import VERSIONS

FROM = Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema"


def own(folder: Path, out: Path) -> None:
    """A kind's file refers to definitions by the path of a web server."""
    out.mkdir(parents=True)
    for path in folder.glob("*.json"):
        text = path.read_text().replace('"/api/_definitions.json#', '"_definitions.json#')
        schema = json.loads(text)
        schema.pop("$id", None)
        (out / path.name).write_text(json.dumps(schema))


def closed(schema: Any) -> Any:
    """Members that are not named are wrong, but where the operator says otherwise."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: closed(value) for name, value in schema.items()}
    listed = isinstance(schema.get("properties"), dict) and schema.get("type") == "object"
    if listed and not schema.get("x-kubernetes-preserve-unknown-fields"):
        made.setdefault("additionalProperties", False)
    return made


def custom(archive: str, member: str, out: Path) -> None:
    with zipfile.ZipFile(archive) as files:
        (name,) = [name for name in files.namelist() if name.endswith(member)]
        crd = yaml.safe_load(files.read(name))["spec"]
    folder = out / "crds" / crd["group"]
    folder.mkdir(parents=True, exist_ok=True)
    for version in crd["versions"]:
        schema = closed(version["schema"]["openAPIV3Schema"])
        schema["properties"]["metadata"] = {"type": "object"}
        name = f"{crd['names']['kind'].lower()}_{version['name']}.json"
        (folder / name).write_text(json.dumps(schema))


def main() -> None:
    out = Path(sys.argv[1])
    for version in VERSIONS:
        own(FROM / f"v{version}-local-strict", out / f"v{version}")
    for archive, member in zip(sys.argv[2::2], sys.argv[3::2], strict=True):
        custom(archive, member, out)


main()
