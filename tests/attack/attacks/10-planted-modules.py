# SPDX-License-Identifier: Apache-2.0
"""A module of the workspace takes the place of pip, and of the gateway, where these are started."""

from box import Box
from plants import MODULE, drive_kernels, drive_packages, plant, wheel

BREAKS = ("README.md", "with secrets that the code never sees")


def attack(box: Box) -> str:
    package = wheel(box.workspace)
    names = ["pip", "kernel_gateway", "ipybox_gateway"]
    plant(box, [(f"W/{name}.py", MODULE, 0o644) for name in names])
    drive_packages(box, package)
    drive_kernels(box)
    box.cell(f"[os.unlink(n + '.py') for n in {names!r}]")
    return box.loot_of_plants()
