"""What this package has brought along. Imports little: the command `ipybox` starts with it."""

from __future__ import annotations

import os

IMAGE = "ipybox"  # of the Docker backend; IPYBOX_IMAGE names another


def binary() -> str | None:
    """The program of this package, or IPYBOX_BINARY; None: the wheel has none for this machine."""
    path = os.environ.get("IPYBOX_BINARY") or f"{os.path.dirname(__file__)}/_bin/ipybox"
    return path if os.path.isfile(path) else None
