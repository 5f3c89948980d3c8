"""What a kernel tells of its variables after a cell."""

from __future__ import annotations

from typing import Any

from box import Kernel
from ipybox_kernel.variables import ASK, VALUE_MAX, VARIABLES_MAX, value_text, variables


def told(kernel: Kernel, code: str) -> list[dict[str, str]]:
    reply = kernel.finish(kernel.start(code, expressions={ASK: ""})).reply
    found: list[dict[str, str]] = reply["variables"]
    return found


def test_values_of_pythons_own_types_are_told() -> None:
    cases: list[tuple[object, str]] = [
        (1, "1"),
        (True, "True"),
        (None, "None"),
        (1.5, "1.5"),
        (10**100, "333 bits"),
        ("a\nb\ud800", "'a\\nb\\ud800'"),
        (b"x", "b'x'"),
        ([1], "1 item"),
        ({}, "0 items"),
        (object(), ""),
    ]
    for thing, text in cases:
        assert value_text(thing) == text
    assert len(value_text("x" * 10**6)) == VALUE_MAX


def test_a_subclass_is_named_and_not_asked() -> None:
    class Meta(type):
        @property
        def __name__(cls) -> str:  # type: ignore[override]
            raise AssertionError

    class Hostile(dict[str, int], metaclass=Meta):
        def __len__(self) -> int:
            raise AssertionError

        def __repr__(self) -> str:
            raise AssertionError

        @property  # type: ignore[misc]
        def __class__(self) -> Any:
            raise AssertionError

    assert variables({"h": Hostile()}, {}) == [{"name": "h", "type": "Hostile", "value": ""}]


def test_the_newest_are_named_up_to_the_limit() -> None:
    names = {f"v{i}": i for i in range(VARIABLES_MAX + 5)}
    found = variables(names, {})
    assert [len(found), found[0]["name"], found[-1]["name"]] == [
        VARIABLES_MAX,
        "v5",
        f"v{VARIABLES_MAX + 4}",
    ]
    assert variables({"no name": 1, "\ud800": 1, 1: 1}, {}) == []  # type: ignore[dict-item]


def test_a_reply_has_the_variables_when_it_was_asked_for_them(kernel: Kernel) -> None:
    code = "import os\nx = 6 * 7\n_y = 1\ndef f(): pass\nclass C: pass\nc = C()"
    assert told(kernel, code) == [
        {"name": "x", "type": "int", "value": "42"},
        {"name": "c", "type": "C", "value": ""},
    ]
    assert "variables" not in kernel.run("1").reply


def test_a_cell_that_fails_tells_them_too(kernel: Kernel) -> None:
    assert told(kernel, "left = 'x'\n1 / 0")[-1] == {"name": "left", "type": "str", "value": "'x'"}


def test_arrays_and_frames_have_a_size(kernel: Kernel) -> None:
    code = (
        "import sys, types\n"
        "class ndarray: shape = (2, 3)\n"
        "sys.modules['numpy'] = types.SimpleNamespace(ndarray=ndarray)\n"
        "a = ndarray()"
    )
    assert told(kernel, code)[-1] == {"name": "a", "type": "ndarray", "value": "2 x 3"}


def test_a_value_that_raises_costs_the_reply_nothing(kernel: Kernel) -> None:
    code = (
        "import sys, types\n"
        "class ndarray:\n"
        "  @property\n"
        "  def shape(self): raise ValueError\n"
        "sys.modules['numpy'] = types.SimpleNamespace(ndarray=ndarray)\n"
        "a = ndarray()"
    )
    reply = kernel.finish(kernel.start(code, expressions={ASK: ""})).reply
    assert reply["status"] == "ok"
    assert "variables" not in reply
