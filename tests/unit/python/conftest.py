"""Fixtures."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from box import Kernel


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
