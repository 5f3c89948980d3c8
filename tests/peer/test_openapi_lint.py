# SPDX-License-Identifier: Apache-2.0
"""The OpenAPI document in the eyes of Spectral and Redocly: no error, no warning, no hint."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from box import GUARD

FOLDER = Path(os.environ["PEER_OPENAPI_LINT_DIR"])
DOCUMENT = Path(__file__).parents[2] / "src" / "front" / "api" / "openapi.json"
QUIET = {"REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}


def lint(program: str, *words: str | Path) -> tuple[int, str]:
    run = subprocess.run(
        [FOLDER / "node_modules" / ".bin" / program, "lint", *words],
        cwd=FOLDER,
        env=os.environ | QUIET,
        stdout=subprocess.PIPE,
        text=True,
        timeout=GUARD,
        check=False,
    )
    return run.returncode, run.stdout


def spectral(document: Path) -> tuple[int, str]:
    words = ("--ruleset", "spectral.yaml", "--fail-severity", "hint", "--format", "text")
    return lint("spectral", *words, document)


def redocly(document: Path) -> tuple[int, str]:
    """The number of problems, and what they are."""
    status, out = lint("redocly", "--config", "redocly.yaml", "--format", "json", document)
    told: dict[str, Any] = json.loads(out)
    problems = [(each["ruleId"], each["location"][0]["pointer"]) for each in told["problems"]]
    return status or len(problems), "\n".join(map(str, problems))


def read_document() -> Any:
    """With 200 in the place of 101, by which a WebSocket is opened: it counts as no success."""
    document = json.loads(DOCUMENT.read_text())
    terminal = document["paths"]["/v1/sessions/{id}/terminal"]["get"]["responses"]
    terminal["200"] = terminal.pop("101")
    return document


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    place = tmp_path / "checked.json"
    place.write_text(json.dumps(read_document(), indent=1))
    return place


def test_spectral_has_nothing_to_say(checked: Path) -> None:
    status, said = spectral(checked)
    assert status == 0, said


def test_redocly_has_nothing_to_say(checked: Path) -> None:
    problems, said = redocly(checked)
    assert problems == 0, said


def test_a_route_without_a_description_is_found(tmp_path: Path) -> None:
    document = read_document()
    del document["paths"]["/v1/sessions"]["get"]["description"]
    del document["tags"][0]["description"]
    worse = tmp_path / "openapi.json"
    worse.write_text(json.dumps(document))
    status, said = spectral(worse)
    assert status != 0
    assert "operation-description" in said
    problems, said = redocly(worse)
    assert (problems, "tag-description" in said) == (1, True), said
