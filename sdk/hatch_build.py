"""What a wheel has besides sdk/ipybox.

IPYBOX_WHEEL_BINARY names a folder with the program, its libraries and the console,
IPYBOX_WHEEL_MACHINE the machine they are for: the wheel is then one of that platform. Without them
it is one for any, whose commands and SDK use Docker.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = ("manylinux_2_17_{0}", "manylinux2014_{0}", "musllinux_1_1_{0}")
KERNEL_SIDE = ("ipybox_gateway", "ipybox_kernel", "ipybox_pip")


class Hook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the files and names the platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the wheel is written."""
        top = Path(self.root).parent
        python = top / "rootfs/opt/ipybox/python"
        include = {str(python / "ipybox_tools"): "ipybox_tools"}
        if binary := os.environ.get("IPYBOX_WHEEL_BINARY"):
            include |= {str(python / name): name for name in KERNEL_SIDE}
            include[str(python / "mcpygen")] = "ipybox/_kernel/mcpygen"
            include[str(top / "rootfs/opt/ipybox/bin/npm-shell")] = "ipybox/_bin/npm-shell"
            include[f"{self.root}/home.txt"] = "ipybox/_bin/home/README.txt"
            include |= {
                f"{binary}/{name}": f"ipybox/_bin/{name}"
                for name in ("ipybox", "opens.so", "forks.so", "console")
            }
            machine = os.environ["IPYBOX_WHEEL_MACHINE"]
            platforms = ".".join(each.format(machine) for each in PLATFORMS)
            build_data["tag"] = f"py3-none-{platforms}"
            build_data["pure_python"] = False
        build_data["force_include"] = include
