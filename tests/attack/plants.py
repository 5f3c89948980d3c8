# SPDX-License-Identifier: Apache-2.0
"""What a cell plants wherever it can write, and what the honest side then starts.

A place begins with what stands for a folder: W the workspace, H the home, B the base of the user's
packages, S their folder of modules, X the folder of the template's and the gateway's start.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from box import ENV_SECRET, WAIT, WORKSPACE, Box

PY = "PLANT={0!r}; exec(open('/attack/mark.py').read())\n"
MODULE = PY + "raise ImportError('planted')\n"
SH = "#!/bin/sh\n/usr/bin/python3 -I -S /attack/mark.py '{0}'\nexit 1\n"
PTH = "import sys; PLANT={0!r}; exec(open('/attack/mark.py').read())\n"

MODULES = ["pip", "kernel_gateway", "ipybox_gateway", "jupyter_server", "tornado", "packaging"]
MODULES += ["sitecustomize", "usercustomize", "ipybox_kernel", "ipykernel", "IPython", "zmq"]
MODULES += ["traitlets", "jupyter_client", "jupyter_core", "setuptools", "importlib_metadata"]
MODULES += ["mcp_server", "ipybox_tools", "certifi"]
PROGRAMS = ["ipybox", "python3", "python3.13", "python", "pip", "git", "uvx", "npx", "node", "sh"]
PROGRAMS += ["env", "jupyter-kernelgateway"]
SHELL = [".bashrc", ".bash_profile", ".profile", ".bash_login"]
IPYTHON = ["ipython_config.py", "ipython_kernel_config.py", "startup/00-first.py"]
JUPYTER = ["jupyter_config.py", "jupyter_kernel_gateway_config.py", "jupyter_server_config.py"]
GIT = "[core]\n\tfsmonitor = /app/workspace/plant.sh\n\tsshCommand = /app/workspace/plant.sh\n"
GIT += "\thooksPath = /app/workspace/hooks\n[init]\n\ttemplateDir = /app/workspace/template\n"
PIP = "[global]\nlog = {W}/marks-of-pip\n"

Plant = tuple[str, str, int]  # place, text, mode


def everything() -> list[Plant]:
    """Some 100 plants, each at a place from where some program loads."""
    found = [(f"{at}/{name}.py", MODULE, 0o644) for at in "WS" for name in MODULES]
    found += [(f"{at}/{name}", SH, 0o755) for at in ("B/bin", "H") for name in PROGRAMS]
    found += [(f"H/.local/bin/{name}", SH, 0o755) for name in ("ipybox", "python3", "uvx")]
    found += [(f"W/node_modules/.bin/{name}", SH, 0o755) for name in ("x", "npx", "uvx")]
    found += [(f"{at}/.ipython/profile_default/{n}", PY, 0o644) for at in "HW" for n in IPYTHON]
    found += [(f"{at}/{n}", PY, 0o644) for at in ("H/.jupyter", "B/etc/jupyter") for n in JUPYTER]
    found += [(f"H/{name}", SH.split("\n", 1)[1], 0o644) for name in SHELL]
    found += [("S/planted.pth", PTH, 0o644), ("W/planted.pth", PTH, 0o644)]
    found += [("H/.gitconfig", GIT, 0o644), ("H/.config/git/config", GIT, 0o644)]
    found += [("H/.config/pip/pip.conf", PIP, 0o644), ("H/.pip/pip.conf", PIP, 0o644)]
    found += [("W/plant.sh", SH, 0o755), ("W/hooks/post-checkout", SH, 0o755)]
    found += [("W/template/hooks/post-checkout", SH, 0o755), ("H/.pdbrc", PY, 0o644)]
    found += [("H/.pythonrc.py", PY, 0o644), ("W/pip/__main__.py", PY, 0o644)]
    return found


CELL = """
import site
folders = {{'W': {workspace!r}, 'H': os.path.expanduser('~'), 'B': site.getuserbase(),
           'S': site.getusersitepackages()}}
homes = {{folders['H'], '/home/ipybox'}}
written = 0
for place, text, mode in {plants!r}:
    letter, rest = place.split('/', 1)
    for folder in (homes if letter == 'H' else [folders[letter]]):
        path = os.path.join(folder, rest)
        def act():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.lexists(path): os.unlink(path)
            open(path, 'w').write(text.replace('{{0!r}}', repr(place)).replace('{{0}}', place)
                                  .replace('{{W}}', folders['W']))
            os.chmod(path, mode)
            return 1
        written += w.tried(act) or 0
print('planted', written)
"""


def plant(box: Box, plants: list[Plant]) -> int:
    """Plants as a cell; the number of files that could be written."""
    told = box.cell(CELL.format(workspace=WORKSPACE, plants=plants))
    return int(told.split("planted")[-1]) if "planted" in told else 0


def wheel(folder: Path, name: str = "honest") -> str:
    """A package that needs no network and nothing to be built, as a file in the workspace."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", "x = 1\n")
        info = f"{name}-1.0.dist-info"
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr(f"{info}/RECORD", f"{name}.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n")
    path.chmod(0o644)
    return f"{WORKSPACE}/{path.name}"


def drive_packages(box: Box, package: str) -> None:
    box.install(package)
    box.install("git+file:///app/workspace/nothing.git", 20)
    box.call("GET", "/v1/packages")


def drive_kernels(box: Box) -> None:
    box.reset()
    box.run_cell("1", timeout=10)
    box.call("GET", "/api/kernels", port=8888, timeout=15)


def drive_servers(box: Box) -> None:
    """Servers that hold a secret: one that is a module, and ones that are found on PATH."""
    code = "import sys; sys.path.append('/attack'); import mcp_server; mcp_server.main()"
    secret = {"A_SECRET": ENV_SECRET}
    commands = {"inline": ["python3", "-c", code], "npm": ["npx", "-y", "x"], "uv": ["uvx", "x"]}
    waiting = [
        box.begin(
            "POST",
            "/v1/mcp-servers",
            {"name": name, "params": {"command": words[0], "args": words[1:], "env": secret}},
            timeout=12,
        )
        for name, words in commands.items()
    ]
    for queue in waiting:
        box.heard.append(queue.get(timeout=WAIT).text)


def drive_commands(box: Box) -> None:
    """What an administrator does by `docker exec`."""
    for words in (["approve"], ["sessions"], ["health"], ["doctor"], ["policy"], ["exec", "1"]):
        box.inside("ipybox", *words)
    tools = ["--server-params", '{"command": "python3", "args": ["/attack/mcp_server.py"]}']
    box.inside("ipybox", "apigen", "--server-name", "made", *tools, "--root-dir", "/tmp/made")
    if box.mode.kind[0] == "R":
        box.inside("bash", "-ic", "true")
        box.inside("bash", "-lc", "ipybox health")


def drive_all(box: Box, package: str) -> None:
    drive_packages(box, package)
    drive_kernels(box)
    drive_servers(box)
    drive_commands(box)
