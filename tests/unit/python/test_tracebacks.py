"""Tracebacks: what is folded, what is shown, and that it takes no time."""

from __future__ import annotations

from typing import Any

import pytest
from box import Kernel

TIMED = """
import time
def _timed(stock):
    def run(*args, **kwargs):
        began = time.process_time()
        try:
            return stock(*args, **kwargs)
        finally:
            get_ipython().formatting = time.process_time() - began
    return run
shell = get_ipython()
if not hasattr(shell, 'formatting'):
  shell.InteractiveTB.structured_traceback = _timed(shell.InteractiveTB.structured_traceback)
"""

WORST = {
    "recursion": "def f(n): return f(n + 1)\nf(0)",
    "deep": "import sys; sys.setrecursionlimit(50_000)\ndef f(n): return f(n + 1)\nf(0)",
    "mutual": "def a(n): return b(n)\ndef b(n):\n    return a(n)\na(0)",
    "a method's": "class A:\n  def m(self): return self.m()\nA().m()",
    "a repr's": "class R:\n  def __repr__(self): return repr(self)\nR()",
    "a long message": "raise ValueError('m' * 10**6)",
    "a huge repr": "class H:\n  def __repr__(self): return 'x' * 10**7\nassert [H()] * 3 == 4, H()",
    "a long chain": "e = None\nfor i in range(1000):\n  try:\n    raise ValueError(i) from e\n"
    "  except ValueError as x: e = x\nraise e",
    "a long context": "e = None\nfor i in range(3000):\n  try:\n    try:\n"
    "      if e: raise e\n      raise KeyError(i)\n    except Exception: raise ValueError(i)\n"
    "  except ValueError as x: e = x\nraise e",
    "a large group": "raise ExceptionGroup('g', [ValueError(i) for i in range(100_000)])",
    "a group of deep errors": "def f(n):\n  if n == 0: raise KeyError(n)\n  f(n - 1)\n"
    "def caught(n):\n  try: f(n)\n  except KeyError as e: return e\n"
    "raise ExceptionGroup('g', [caught(i % 800) for i in range(1000)])",
    "a deep group": "e = ValueError(1)\nfor i in range(900): e = ExceptionGroup(str(i), [e])\n"
    "raise e",
    "a group of long messages": "raise ExceptionGroup('g', [type(f'E{i}', (Exception,), {})"
    "('m' * 10**6) for i in range(20)])",
    "a long line": "x = [" + "1, " * 30_000 + "None.y]",
    "many functions": "src = ''.join(f'def h{i}(n): return h{i + 1}(n)\\n' for i in range(800))\n"
    "exec(src + 'def h800(n): 1 / 0')\nh0(1)",
}


def error_of(kernel: Kernel, code: str) -> tuple[str, dict[str, Any]]:
    cell = kernel.run(code)
    error = cell.of("error")[0].content
    return "\n".join(error["traceback"]), cell.reply | {"ename": error["ename"]}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_errors_are_short_and_quick(kernel: Kernel, name: str) -> None:
    kernel.run(TIMED)
    text, reply = error_of(kernel, WORST[name])
    shown = text if len(text) < 100_000 else text.replace("m" * 1000, "").replace("x" * 1000, "")
    assert len(shown) < 6000, shown
    assert (
        float(kernel.run("import sys; sys.setrecursionlimit(1000); shell.formatting").value) < 2.0
    )
    last = text.rstrip().rpartition("\n")[2]
    assert last.startswith(str(reply["ename"]) + ":") or len(last) > 1000


def test_repetitions_are_counted_and_the_whole_is_in_the_reply(kernel: Kernel) -> None:
    text, reply = error_of(kernel, WORST["recursion"])
    assert text.count("in f(n)") == 1
    assert "more: the same frame again" in text
    assert reply["whole_traceback"].count(", in f\n") > 900
    text, reply = error_of(kernel, WORST["mutual"])
    assert "more: the 2 frames above again" in text
    assert text.index("in a(n)") < text.index("in b(n)") < text.index("more:")


def test_an_error_of_the_cell_alone_is_as_ipython_shows_it(kernel: Kernel) -> None:
    text, reply = error_of(kernel, "def g(x, *a, y=1, **k):\n    z = 1\n    return z / x\n\ng(0)")
    head, _, rest = text.partition("\n")
    assert set(head) == {"-"}
    assert "ZeroDivisionError" in rest.splitlines()[0]
    number = int(kernel.run("len(In)").value) - 2
    assert rest.partition("\n")[2] == (
        f"Cell In[{number}], line 5\n"
        "      2     z = 1\n      3     return z / x\n----> 5 g(0)\n\n"
        f"Cell In[{number}], line 3, in g(x, y, *a, **k)\n"
        "      1 def g(x, *a, y=1, **k):\n      2     z = 1\n----> 3     return z / x\n\n"
        "ZeroDivisionError: division by zero"
    )
    assert "whole_traceback" not in reply


def test_frames_of_libraries_are_a_line(kernel: Kernel) -> None:
    text, reply = error_of(kernel, "import json\njson.loads('x')")
    assert "    … 3 frames of Python: json/__init__.py:" in text
    assert text.count("---->") == 1
    assert "json/decoder.py" in reply["whole_traceback"]


def test_a_chain_shows_the_first_and_the_last(kernel: Kernel) -> None:
    text, reply = error_of(kernel, WORST["a long chain"])
    assert "ValueError: 0\n" in text
    assert text.endswith("ValueError: 999")
    assert reply["whole_traceback"].count("which led to") == 49


def test_what_has_no_text_has_an_error_all_the_same(kernel: Kernel) -> None:
    code = "class E(Exception):\n  def __str__(self): raise OSError\nraise E"
    cell = kernel.run(code)
    assert (cell.reply["status"], cell.of("error")[0].content["ename"]) == ("error", "E")
    assert kernel.run("1").value == "1"


def test_nesting_that_python_cannot_take_is_said(kernel: Kernel) -> None:
    text, reply = error_of(kernel, "x = " + "+".join(["1"] * 20_000))
    assert "nested too deeply" in text
    assert reply["ename"] == "SyntaxError"


def test_exceptions_of_a_group_stand_before_it_and_repetitions_are_counted(kernel: Kernel) -> None:
    code = """
import asyncio
async def task(n):
    await asyncio.sleep(0)
    raise ValueError(n) from KeyError('why')
async def other():
    raise TypeError('another')
async def run():
    async with asyncio.TaskGroup() as group:
        for n in range(100): group.create_task(task(n))
        group.create_task(other())
await run()
"""
    text, reply = error_of(kernel, code)
    assert reply["ename"] == "ExceptionGroup"
    assert text.endswith("ExceptionGroup: unhandled errors in a TaskGroup (101 sub-exceptions)")
    assert text.count("----> 4 raise ValueError(n) from KeyError('why')") == 1
    parts = [
        "\n1 of 101:\n    Cell In[",
        "\n    TypeError: another\n",
        "\n2 of 101:\n    KeyError: 'why'\n    which led to:\n",
        "\n    ValueError: 0\n        … and there ValueError: 1\n",
        "        … 96 more there, the last: ValueError: 99\n",
        ", in run()\n",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert reply["whole_traceback"].count("sub-exception ") == 100
    assert "\n    ValueError: 98\n" in reply["whole_traceback"]


def test_what_a_group_led_to_is_told_with_it(kernel: Kernel) -> None:
    code = "try: raise ExceptionGroup('g', [OSError('inner')])\nexcept* OSError: raise KeyError(1)"
    text, reply = error_of(kernel, code)
    assert (
        text.index("OSError: inner") < text.index("ExceptionGroup: g") < text.index("KeyError: 1")
    )
    text, reply = error_of(kernel, "%xmode Minimal\nraise ExceptionGroup('g', [OSError('inner')])")
    kernel.run("%xmode Context")
    assert text.rstrip() == "ExceptionGroup: g (1 sub-exception)"
    assert "OSError: inner" in reply["whole_traceback"]
