# SPDX-License-Identifier: Apache-2.0
"""Inspect's docker sandbox with a compose file whose service is the image.

A row of docs/works-with.md. The solver uses the sandbox, and Inspect's tools bash() and python() as
a model would call them; Inspect counts a model's tokens with a table that it downloads, so none is
asked.
"""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest
from box import GUARD, IMAGE, docker
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import bash, python
from inspect_ai.util import sandbox

# What Inspect documents for images that have a service of their own, and an image that serves.
COMMANDS = {"tail": "command: tail -f /dev/null", "serve": ""}
COMPOSE = """
services:
  default:
    image: {image}
    {command}
    init: false
    network_mode: none
    labels: [{label}]
"""


def containers(label: str) -> list[str]:
    return docker("ps", "-aq", "--filter", f"label={label}").split()


@solver
def work(label: str) -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        box = sandbox()
        assert len(containers(label)) == 1
        await box.write_file("folder/made.txt", "made \N{SNOWMAN}\n" * 1000)
        assert await box.read_file("folder/made.txt") == "made \N{SNOWMAN}\n" * 1000
        await box.write_file("bytes", b"\x00\xff")
        assert await box.read_file("bytes", text=False) == b"\x00\xff"
        with pytest.raises(FileNotFoundError):
            await box.read_file("nothing")
        failed = await box.exec(["sh", "-c", "cat; echo $WORD; exit 3"], "in\n", env={"WORD": "w"})
        assert (failed.returncode, failed.stdout) == (3, "in\nw\n")
        with pytest.raises(TimeoutError):
            await box.exec(["sleep", "2000"], timeout=1)
        await bash(timeout=GUARD)("echo $((6 * 7)) > given.txt")
        said = await python(timeout=GUARD)("print(open('given.txt').read())")
        state.output = ModelOutput.from_content("none", str(said).strip())
        return state

    return solve


@pytest.mark.parametrize("kind", COMMANDS)
def test_inspect_ai(kind: str, tmp_path: Path) -> None:
    compose = tmp_path / "compose.yaml"
    label = f"ipybox-peer-{secrets.token_hex(8)}"
    compose.write_text(COMPOSE.format(image=IMAGE, command=COMMANDS[kind], label=label))
    [log] = eval(
        Task(
            dataset=[Sample(input="What is 6 times 7?", target="42")],
            solver=work(label),
            scorer=match(),
            sandbox=("docker", str(compose)),
        ),
        model="mockllm/model",
        log_dir=str(tmp_path / "logs"),
        display="none",
    )
    assert log.status == "success", log.error and log.error.traceback
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == 1
    assert containers(label) == []
