"""What a kernel is given before code of LibreChat's wire."""

from __future__ import annotations

from pathlib import Path

import pytest
from box import Kernel
from ipybox_tools.librechat import identifier

PREPARE = "__import__('ipybox_tools.librechat').librechat.prepare("


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("get_weather", "get_weather"),
        ("get-weather now", "get_weather_now"),
        ("2fast", "_2fast"),
        ("import", "import_tool"),
        ("a.b$c", "abc"),
    ],
)
def test_a_tool_has_the_name_that_clients_use(name: str, called: str) -> None:
    assert identifier(name) == called


def test_a_script_has_its_arguments_and_a_loop_of_its_own(kernel: Kernel) -> None:
    kernel.run(PREPARE + "{'files': [], 'args': ['a b'], 'tools': [], 'script': 1})")
    code = "import asyncio, sys\nasync def main(): return sys.argv[1:]\nasyncio.run(main())"
    assert kernel.run(code).value == "['a b']"
    assert kernel.run("asyncio.run(main())").value == "['a b']"
    assert kernel.run("1 / 0").reply["ename"] == "ZeroDivisionError"
    assert kernel.run("6 * 7").value == "42"


def test_files_are_copies_with_the_time_of_the_original(kernel: Kernel, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("text")
    place = tmp_path / "sub" / "copy"
    files = [[str(source), str(place)]]
    kernel.run(f"{PREPARE}{{'files': {files}, 'args': [], 'tools': [], 'script': 0}})")
    assert place.read_text() == "text"
    assert place.stat().st_mtime_ns == source.stat().st_mtime_ns
    place.write_text("changed")
    assert source.read_text() == "text"
