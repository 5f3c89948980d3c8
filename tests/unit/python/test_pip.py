"""pip sees the user's packages, and loads none of them."""

from __future__ import annotations

import importlib
import importlib.util
import site
import sys
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

pip_main = importlib.import_module("ipybox_pip.__main__")


@pytest.mark.parametrize(
    ("package", "found"),
    [
        ("numpy", "numpy"),
        ("numpy>=2", "numpy>=2"),
        ("name[extra]==1", "name[extra]==1"),
        ("git+https://h/x.git", "git+https://h/x.git"),
        ("x @ file:///tmp/x", "x @ file:///tmp/x"),
        ("/abs/x.whl", "/abs/x.whl"),
        ("x-1.whl", "{0}/x-1.whl"),
        ("y-1.whl", "y-1.whl"),
        (".", "{0}/."),
        ("./x[extra]", "{0}/./x[extra]"),
        ("dir/x", "{0}/dir/x"),
    ],
)
def test_a_path_is_one_in_the_workspace(tmp_path: Path, package: str, found: str) -> None:
    (tmp_path / "x-1.whl").touch()
    assert pip_main.resolve(package, str(tmp_path)) == found.format(tmp_path)


def test_the_users_packages_are_shown_and_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planted_here.py").touch()
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)  # no virtual environment
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path))
    pip_main.show_user_site()
    assert str(tmp_path) in sys.path
    assert site.ENABLE_USER_SITE
    assert PathFinder not in sys.meta_path
    assert pip_main.Finder in sys.meta_path
    assert importlib.util.find_spec("planted_here") is None
    assert importlib.util.find_spec("pip._internal") is not None
    assert PathFinder.find_spec("planted_here") is not None  # the old one would have


def test_a_virtual_environment_and_no_home_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "base_prefix", "/other")
    before = list(sys.path)
    pip_main.show_user_site()
    monkeypatch.setattr(sys, "base_prefix", sys.prefix)
    monkeypatch.setattr(site, "getusersitepackages", lambda: "~/x")
    pip_main.show_user_site()
    assert sys.path == before


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("numpy", ["numpy"]),
        ("numpy pandas>=2, requests[socks]", ["numpy", "pandas>=2", "requests[socks]"]),
        ("numpy,pandas", ["numpy", "pandas"]),
        ("numpy >= 2, < 3", ["numpy >= 2, < 3"]),
        ("numpy>=2,<3 pandas==2.*", ["numpy>=2,<3", "pandas==2.*"]),
        ("x @ http://a/b.whl", ["x @ http://a/b.whl"]),
        ("foo; python_version < '3'", ["foo; python_version < '3'"]),
        ("./a folder/x.whl", ["./a folder/x.whl"]),
        ("numpy -r x", ["numpy -r x"]),
        ("numpy --index-url=x", ["numpy --index-url=x"]),
        ("not a package!", ["not a package!"]),
    ],
)
def test_several_names_are_several_packages(text: str, expected: list[str]) -> None:
    assert pip_main.packages(text) == expected
