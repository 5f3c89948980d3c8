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
