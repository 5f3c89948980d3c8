"""Fixtures."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from box import Kernel

# What a shell without job control starts in the background ignores SIGINT, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def kernel() -> Iterator[Kernel]:
    """One kernel for the tests of a file; they leave it usable."""
    with Kernel() as running:
        yield running


@pytest.fixture
def fresh() -> Iterator[Kernel]:
    """A kernel of the test's own, which may die of it."""
    with Kernel() as running:
        yield running
