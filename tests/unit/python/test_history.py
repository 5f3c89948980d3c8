"""What a kernel remembers of its cells."""

from __future__ import annotations

import pytest
from box import Kernel
from ipybox_kernel.history import INPUTS_MAX, OUTPUTS_KEPT


@pytest.mark.parametrize("code", ["1;", "1 ;  # why", "print('x'); 2;", "'a;b';\n\n"])
def test_a_semicolon_keeps_the_value_to_itself(kernel: Kernel, code: str) -> None:
    assert kernel.run(code).of("execute_result") == []


@pytest.mark.parametrize("code", ["'a;'", "1  # why;", "x = 1; x", "'''\n;'''"])
def test_a_semicolon_elsewhere_does_not(kernel: Kernel, code: str) -> None:
    assert len(kernel.run(code).of("execute_result")) == 1


def test_inputs_are_numbered_and_listed(fresh: Kernel) -> None:
    fresh.run("first = 1")
    assert fresh.run("In[1]").value == "'first = 1'"
    assert fresh.run("%history").text.splitlines() == ["first = 1", "In[1]", "%history"]
    assert fresh.run("_i1").value == "'first = 1'"
    assert "Cell In[5], line 1" in "\n".join(fresh.run("1 / 0").of("error")[0].content["traceback"])


def test_few_results_and_bounded_inputs_are_kept(fresh: Kernel) -> None:
    for i in range(10):
        fresh.run(str(i))
    assert fresh.run("sorted(Out)[-1], len(Out)").value == f"(10, {OUTPUTS_KEPT})"
    assert fresh.run("'_3' in globals(), '_10' in globals()").value == "(False, True)"
    for _ in range(3):
        fresh.run("#" * (INPUTS_MAX // 2))
    assert fresh.run("In[1]").value == "''"
    assert fresh.run(f"sum(map(len, In)) <= {INPUTS_MAX} + 100").value == "True"
    assert fresh.run("'_i1' in globals()").value == "False"
    fresh.run("%reset -f")
    assert fresh.run("1").value == "1"


def test_errors_are_formatted_once(kernel: Kernel) -> None:
    kernel.run(
        "count = 0\nclass E(Exception):\n"
        "  def __str__(self):\n    global count\n    count += 1\n    return 'x'"
    )
    kernel.run("raise E")
    assert int(kernel.run("count").value) <= 5
    assert kernel.run("len(get_ipython().history_manager.exceptions)").value == "0"
