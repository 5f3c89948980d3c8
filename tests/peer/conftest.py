# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all clients' tests. A test that skips itself has failed: the image is always here."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from box import Box, give_away


def new_box(folder: Path) -> Iterator[Box]:
    give_away(folder)
    box = Box(folder)
    yield box
    gone = box.is_gone()
    box.remove()
    assert gone, "a container outlived its client"


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Box]:
    """A workspace for one test; at its end no container may be left."""
    yield from new_box(tmp_path)


@pytest.fixture(scope="module")
def shared_box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    """A workspace for all tests of a module."""
    yield from new_box(tmp_path_factory.mktemp("workspace"))


@pytest.fixture
def status(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty file for Box.unsignalled."""
    file = tmp_path_factory.mktemp("status") / "status"
    file.touch()
    return file


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, which counts as failed: {report.longrepr}"
    return report
