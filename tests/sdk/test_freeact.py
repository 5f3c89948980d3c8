# SPDX-License-Identifier: Apache-2.0
"""freeact 0.9.1, an agent on ipybox, with a scripted model: freeact_agent.py has the scenarios.

Its own tests are not in its archive on PyPI: tests/sdk/oracle runs them on a clone.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import PATIENCE, PLACE

SCENARIOS = [
    "tools_by_code",
    "a_rejection",
    "an_answer_after_its_time",
    "a_timeout",
    "a_reset",
    "a_cancel",
    "a_cancel_while_it_is_asked",
]


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Of all scenarios in one process: its imports take longer than they do."""
    place = tmp_path_factory.mktemp("freeact")
    bin = PLACE / "freeact" / "bin"
    done = subprocess.run(
        [bin / "python", "-W", "ignore", Path(__file__).with_name("freeact_agent.py"), *SCENARIOS],
        cwd=place,
        env={
            **os.environ,
            "PATH": f"{bin}:{os.environ['PATH']}",
            "IPYBOX_BACKEND": "native",
            "XDG_STATE_HOME": f"{place}-state",
        },
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_freeact(scenario: str, said: dict[str, str]) -> None:
    assert said[scenario] == "well", said[scenario]
