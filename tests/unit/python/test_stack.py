"""What a kernel is made of comes from the image, and what users share with it from them."""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest
from ipybox_kernel import launch, stack


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    monkeypatch.setattr(stack.Finder, "places", ())
    monkeypatch.setattr(stack.Finder, "own", frozenset())


def test_its_own_modules_are_the_images_whatever_comes_first_on_the_path(tmp_path: Path) -> None:
    stack.keep()
    for name in "traitlets", "mine":
        (tmp_path / f"{name}.py").touch()
    sys.path.insert(0, str(tmp_path))
    spec = stack.Finder.find_spec("traitlets")
    assert spec is not None
    assert spec.origin is not None
    assert not spec.origin.startswith(str(tmp_path))
    assert stack.Finder.find_spec("mine") is None
    assert stack.Finder.find_spec("traitlets.config", [str(tmp_path)]) is None
    assert sys.meta_path.index(stack.Finder) < sys.meta_path.index(PathFinder)


def test_it_is_begun_once_and_never_with_the_working_directory() -> None:
    sys.path.insert(0, "")
    stack.keep()
    places = stack.Finder.places
    assert "" not in places
    sys.path.insert(0, "/later")
    stack.keep()
    assert stack.Finder.places == places
    assert sys.meta_path.count(stack.Finder) == 1


def put(site: Path, name: str, requires: str, *files: str) -> None:
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Name: {name}\n{requires}\n\nRequires-Dist: text\n")
    (info / "RECORD").write_text("".join(f"{file},sha256=x,1\n" for file in files))


def test_its_own_are_what_the_metadata_say_that_the_kernel_requires(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    needs = (
        "Requires-Dist: Kernel.Part>=1\nRequires-Dist: six\nRequires-Dist: absent\n"
        'Requires-Dist: docs; extra == "docs"\n'
        'Requires-Dist: cffi; implementation_name == "pypy"\n'
        'Requires-Dist: pexpect>4; sys_platform != "win32"'
    )
    put(site, "ipykernel", needs, "ipykernel/__init__.py", "ipykernel_launcher.py", "../bin/x")
    part = "part/__init__.py", "part.libs/z.so", "_part.abi3.so", "tests/__init__.py", "part.pth"
    put(site, "kernel_part", "Requires-Dist: ipykernel", *part)
    put(site, "six", "Requires-Dist: text", "six.py")
    for name in "docs", "cffi", "pexpect", "text":
        put(site, name, "", f"{name}.py")
    second = tmp_path / "dist-packages"
    put(second, "pexpect", "", "shadowed.py")
    (tmp_path / "python3").mkdir()
    own = set(stack.modules_of([str(p) for p in (tmp_path / "python3", site, second)]))
    assert own == {"ipykernel", "ipykernel_launcher", "part", "_part", "pexpect"}


def test_all_that_a_kernel_loads_of_packages_is_its_own_or_shared() -> None:
    stack.keep()
    preload = Path(stack.__file__).with_name("preload.txt").read_text().split()
    tops = {name.partition(".")[0] for name in preload} - sys.stdlib_module_names
    known = stack.Finder.own | stack.SHARED
    assert {top for top in tops if not top.startswith("_")} <= known
    assert {"IPython", "jupyter_client", "jupyter_core", "tornado", "zmq"} <= stack.Finder.own


def test_shared_modules_give_way_where_the_user_has_them(tmp_path: Path) -> None:
    import packaging.version

    (tmp_path / "packaging").mkdir()
    (tmp_path / "traitlets.py").touch()
    own = sys.modules["traitlets"] = sys.modules["site"]
    stack.give_way(str(tmp_path))
    assert not [name for name in sys.modules if name.partition(".")[0] == "packaging"]
    assert "site" in sys.modules
    assert sys.modules["traitlets"] is own
    assert packaging.version.Version("1")  # who has it goes on with it
    stack.give_way(str(tmp_path / "none"))


def test_an_exit_while_packages_are_loaded_is_an_exception_and_later_one_again() -> None:
    with launch.without_exit():
        kept = os._exit
        with pytest.raises(SystemExit) as caught:
            kept(7)
        assert repr(caught.value) == "os._exit(7)"
        child = os.fork()
        if child == 0:
            os._exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    child = os.fork()
    if child == 0:
        kept(6)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 6
