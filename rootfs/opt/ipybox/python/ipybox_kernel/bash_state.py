# SPDX-License-Identifier: Apache-2.0
"""Shells of %%bash that go on where the one before ended; bash_state.bash does it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def begin() -> None:
    """Once in a kernel: its shells have one state, which ends with it."""
    if "IPYBOX_BASH_STATE" in os.environ:
        return
    handle, state = tempfile.mkstemp(prefix="ipybox-bash-")
    os.close(handle)
    os.environ["IPYBOX_BASH_STATE"] = state
    os.environ["BASH_ENV"] = str(Path(__file__).with_suffix(".bash"))
