# SPDX-License-Identifier: Apache-2.0
"""The listings, and other clients than Claude Code, each by its own checker or command."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from conftest import NODE, PLACE, client
from test_command import BIN, McpServer

LISTINGS = PLACE / "plugins" / "listings"


def test_server_json_fits_the_registrys_schema() -> None:
    schema = json.loads((PLACE / "registry" / "2025-12-11.json").read_text())
    server = json.loads((LISTINGS / "server.json").read_text())
    jsonschema.validate(server, schema)
    image = os.environ["IPYBOX_IMAGE"]
    form = '{{index .Config.Labels "io.modelcontextprotocol.server.name"}}'
    label = subprocess.check_output(["docker", "image", "inspect", "-f", form, image], text=True)
    assert label.strip() == server["name"]
    for readme in (PLACE / "README.md", PLACE / "sdk-README.md"):
        assert f"mcp-name: {server['name']}" in readme.read_text()


def test_the_bundle_is_valid(folder: Path) -> None:
    subprocess.run([NODE / "mcpb", "validate", LISTINGS / "mcpb" / "manifest.json"], check=True)
    subprocess.run([NODE / "mcpb", "pack", LISTINGS / "mcpb", folder / "ipybox.mcpb"], check=True)


def test_links_say_what_the_files_say() -> None:
    """VS Code's and Cursor's links in the README of plugins/, decoded."""
    text = (PLACE / "plugins" / "README.md").read_text()
    [code] = re.findall(r"vscode:mcp/install\?([^)\s]+)", text)
    [cursor] = re.findall(r"cursor://[^)\s]*config=([^)\s]+)", text)
    wanted = json.loads((LISTINGS / "vscode" / "mcp.json").read_text())["servers"]["ipybox"]
    assert json.loads(unquote(code)) == {"name": "ipybox", **wanted}
    decoded = json.loads(base64.b64decode(unquote(cursor)))
    assert decoded == {"command": "uvx", "args": ["ipybox", "--workspace", ".", "--sandbox"]}


def test_codex_takes_the_file_and_the_command_alike(wheel_for_uvx: None) -> None:
    command = (
        "codex",
        "mcp",
        "add",
        "ipybox",
        "--",
        "uvx",
        "ipybox",
        "--workspace",
        ".",
        "--sandbox",
    )
    client(*command)
    added = json.loads(client("codex", "mcp", "get", "ipybox", "--json"))
    shutil.copy(LISTINGS / "codex" / "config.toml", "home/.codex/config.toml")
    read = json.loads(client("codex", "mcp", "get", "ipybox", "--json"))
    assert read["enabled"] and read["transport"] == added["transport"]
    assert (read["startup_timeout_sec"], read["tool_timeout_sec"]) == (60, 600)
    assert " ".join(command) in (PLACE / "plugins" / "README.md").read_text()


def test_gemini_installs_the_extension(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mcp list` gives a server five seconds, so that it connects is shown by test_uvx."""
    monkeypatch.setenv("HOME", str(folder / "home"))
    Path("home").mkdir()
    extension = str(LISTINGS / "ipybox")
    validated = client("gemini", "extensions", "validate", extension, errors_too=True)
    assert "successfully validated" in validated
    client("gemini", "extensions", "install", extension, "--consent", answer="y\n")
    listed = client("gemini", "mcp", "list", errors_too=True)
    assert "ipybox (from ipybox): uvx ipybox --workspace . --sandbox (stdio)" in listed


CATALOG = {
    "type": "object",
    "required": ["name", "image", "type", "longLived", "meta", "about", "source", "run", "config"],
    "additionalProperties": False,
    "properties": {
        "name": {"const": "ipybox"},
        "image": {"type": "string", "pattern": "^[a-z0-9./-]+:[0-9.]+$"},
        "type": {"const": "server"},
        "longLived": {"const": True},
        "meta": {
            "type": "object",
            "required": ["category", "tags"],
            "properties": {
                "category": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            },
        },
        "about": {
            "type": "object",
            "required": ["title", "description", "icon"],
            "additionalProperties": {"type": "string"},
        },
        "source": {
            "type": "object",
            "required": ["project"],
            "additionalProperties": False,
            "properties": {
                "project": {"type": "string", "pattern": "^https://"},
                "commit": {"type": "string", "pattern": "^[0-9a-f]{40}$"},
                "dockerfile": {"type": "string"},
            },
        },
        "run": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "command": {"type": "array", "items": {"type": "string"}},
                "volumes": {"type": "array", "items": {"type": "string"}},
                "user": {"type": "string"},
                "env": {"type": "object"},
                "allowHosts": {"type": "array", "items": {"type": "string"}},
                "disableNetwork": {"type": "boolean"},
            },
        },
        "config": {
            "type": "object",
            "required": ["description", "parameters"],
            "additionalProperties": False,
            "properties": {
                "description": {"type": "string"},
                "secrets": {"type": "array"},
                "env": {"type": "array"},
                "parameters": {"$ref": "https://json-schema.org/draft/2020-12/schema"},
            },
        },
    },
}
"""The form of an entry of Docker's catalog, whose own checker is no package of a registry."""


def test_dockers_catalog_entry(folder: Path) -> None:
    """It has the catalog's form, and tools.json is what the server answers."""
    entry = yaml.safe_load((LISTINGS / "docker-catalog" / "server.yaml").read_text())
    jsonschema.validate(entry, CATALOG)
    for volume in entry["run"]["volumes"]:
        [name] = re.findall(r"{{ipybox\.(\w+)\|volume\|into}}:/app/workspace", volume)
        assert name in entry["config"]["parameters"]["properties"]
    server = json.loads((LISTINGS / "server.json").read_text())
    assert entry["image"] in {package["identifier"] for package in server["packages"]}

    running = McpServer(str(BIN / "ipybox"), "--workspace", str(folder))
    tools = running.call("tools/list", {})["tools"]
    listed = json.loads((LISTINGS / "docker-catalog" / "tools.json").read_text())
    wanted = [
        {"name": each["name"], "arguments": sorted(each["inputSchema"]["properties"])}
        for each in tools
    ]
    found = [
        {
            "name": each["name"],
            "arguments": sorted(argument["name"] for argument in each["arguments"]),
        }
        for each in listed
    ]
    assert found == wanted
    manifest = json.loads((LISTINGS / "mcpb" / "manifest.json").read_text())
    assert [each["name"] for each in manifest["tools"]] == [each["name"] for each in tools]
    assert running.end() == 0
