# SPDX-License-Identifier: Apache-2.0
"""The protocol's own conformance suite: every scored scenario with its fixtures in our dispatcher,
and without them every scenario that a server with tools of its own can pass."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from box import GUARD
from http_box import serving

SCORED = {"2025-11-25": 30, "2026-07-28": 37}

# What needs no fixture. The others want tools, prompts and resources of the suite's own.
APPLICABLE = {
    "2025-11-25": {
        "dns-rebinding-protection",
        "ping",
        "resources-list",
        "server-initialize",
        "server-session-lifecycle",
        "server-sse-multiple-streams",
        "tools-list",
    },
    "2026-07-28": {
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-ignore-extra-params",
        "input-required-result-missing-input-response",
        "input-required-result-unsupported-methods",
        "input-required-result-validate-input",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "tools-list",
    },
}
STATELESS = {"passed": 24, "failed": 4}  # its four need fixtures


# The extension's scenarios, which the suite does not score: passed and failed checks. What fails
# wants tools that the fixtures do not have (protocol_error_job, confirm_delete, multi_input,
# test_tool_with_task), or one that cannot run without becoming a task, which is none of ours.
TASKS = {
    "tasks-capability-negotiation": (5, 0),
    "tasks-dispatch-and-envelope": (8, 1),
    "tasks-lifecycle": (8, 1),
    "tasks-mrtr-composition": (1, 1),
    "tasks-mrtr-input": (1, 3),
    "tasks-request-headers": (5, 0),
    "tasks-request-state-removal": (3, 0),
    "tasks-required-task-error": (1, 1),
    "tasks-wire-fields": (4, 0),
}


def run_suite(workspace: Path, version: str, mode: str) -> tuple[int, dict[str, tuple[int, int]]]:
    """Its exit status, and for each scenario how many checks passed and failed."""
    with serving(workspace, mode=mode) as url:
        command = ["conformance", "server", "--url", url, "--requirements", version]
        run = subprocess.run(
            [*command, "-o", str(workspace / "out")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=5 * GUARD,  # it waits for many things
            check=False,
        )
    text = run.stdout.decode()
    summary = text[text.index("=== SUMMARY ===") : text.index("\nNot scored for")]
    counts = re.findall(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", summary, re.MULTILINE)
    print(summary)
    return run.returncode, {name: (int(good), int(bad)) for name, good, bad in counts}


def not_scored(version: str) -> set[str]:
    """What the suite runs beside the scored scenarios: extensions, and what is pending."""
    command = ["conformance", "list", "--requirements", version]
    listing = subprocess.run(command, stdout=subprocess.PIPE, timeout=GUARD, check=True)
    text = listing.stdout.decode()
    return set(re.findall(r"- (\S+) \[server\]", text[text.index("never scored") :]))


@pytest.mark.parametrize("version", list(SCORED))
def test_every_scored_scenario_passes_with_the_fixtures(tmp_path: Path, version: str) -> None:
    status, scenarios = run_suite(tmp_path, version, "fixtures")
    beside = not_scored(version)
    scored = {name: n for name, n in scenarios.items() if name not in beside}
    assert {name for name, (_, failed) in scored.items() if failed} == set()
    assert len(scored) == SCORED[version]
    assert all(passed > 0 for passed, _ in scored.values())
    assert status == 0


@pytest.mark.parametrize("version", list(SCORED))
def test_what_needs_no_fixture_passes_without_them(tmp_path: Path, version: str) -> None:
    _, scenarios = run_suite(tmp_path, version, "plain")
    passing = {name for name, (passed, failed) in scenarios.items() if passed and not failed}
    assert passing == APPLICABLE[version]
    if version == "2026-07-28":
        assert scenarios["server-stateless"] == (STATELESS["passed"], STATELESS["failed"])


def test_scenarios_of_tasks_pass_as_far_as_their_fixtures_are_here(tmp_path: Path) -> None:
    found = {}
    with serving(tmp_path, mode="fixtures") as url:
        for name in TASKS:
            command = ["conformance", "server", "--url", url, "--scenario", name]
            run = subprocess.run(
                [*command, "-o", str(tmp_path / "out")],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=GUARD,
                check=False,
            )
            counts = re.search(r"Passed: (\d+)/\d+, (\d+) failed", run.stdout.decode())
            assert counts, run.stdout.decode()
            found[name] = (int(counts[1]), int(counts[2]))
    assert found == TASKS
