"""``python3 -I -m ipybox_pip WORKSPACE install …``: pip, outside the walls of every kernel.

Python runs isolated: without the user's site-packages, their .pth files and modules of theirs. pip
is told that they are there, so that it installs into them and knows what they hold already; but
what it imports comes from where Python itself and its packages are.
"""

from __future__ import annotations

import os
import re
import runpy
import site
import sys
from importlib.machinery import PathFinder
from typing import Any

# The name of a package, its extras and versions; no option, address or path.
VERSION = r"\s*(?:===|[<>=!~]=|[<>])\s*[\w.*+!-]+"
NAME = rf"[A-Za-z0-9](?:[\w.-]*\w)?\s*(?:\[[\w\s,.-]*\])?(?:{VERSION}(?:\s*,{VERSION})*)?"
ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tar")


class Finder(PathFinder):
    """Finds modules where Python looked when it started, whatever sys.path is by now."""

    places = tuple(sys.path)

    @classmethod
    def find_spec(cls, fullname: str, path: Any = None, target: Any = None) -> Any:
        """As its base class."""
        return super().find_spec(fullname, cls.places if path is None else path, target)


def show_user_site() -> None:
    """Have pip see what Python leaves out. A virtual environment has nothing of the kind, unless
    ipybox is installed in it: then packages go to a place of the workspace, not there."""
    if sys.prefix != sys.base_prefix:
        if os.environ.get("IPYBOX_NATIVE") != "1":
            return
        leave_environment()
    path = site.getusersitepackages()
    if not os.path.isabs(path):
        return  # no home: it begins with "~"
    sys.meta_path[:] = [Finder if each is PathFinder else each for each in sys.meta_path]
    shared = [i for i, entry in enumerate(sys.path) if entry.endswith("-packages")]
    sys.path.insert(shared[0] if shared else len(sys.path), path)
    site.ENABLE_USER_SITE = True


def leave_environment() -> None:
    """Have pip install for the user, and leave this environment as it is. Read from pip 23 to 26:
    without this pip refuses, or changes the environment; tests/sdk notices."""
    from pip._internal.utils import virtualenv

    virtualenv.running_under_virtualenv = virtualenv.virtualenv_no_global = lambda: False
    os.environ["PIP_USER"] = "1"


def resolve(package: str, folder: str) -> str:
    """A path is one in `folder`, which is not the working directory."""
    text = package.strip()
    path = text.partition("[")[0]  # of extras
    if "://" in text or "@" in path or os.path.isabs(path):
        return package
    is_archive = path.endswith(ARCHIVES) and os.path.isfile(f"{folder}/{path}")
    if path.startswith(".") or os.sep in path or is_archive:
        return f"{folder}/{text}"
    return package


def packages(text: str) -> list[str]:
    """The packages of "numpy pandas>=2, requests[socks]": names, with extras and versions. Anything
    else (an address, a path, a marker) is one package, as it stands."""
    words = re.split(r"\s*,\s*(?=[A-Za-z])|(?<![,<>=!~])\s+(?=[A-Za-z0-9])", text.strip())
    whole = all(re.fullmatch(NAME, word) for word in words)
    return words if whole else [text]


def main(argv: list[str]) -> None:
    """Run pip; the last of its arguments is a package, or several."""
    folder, *words = argv
    words[-1:] = [resolve(word, folder) for word in packages(words[-1])]
    show_user_site()
    sys.argv[:] = ["pip", *words]
    runpy.run_module("pip", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
