"""What a fork executes has what is named, and nothing else."""

from __future__ import annotations

import os

import pytest
from ipybox_kernel import forking


def test_programs_inherit_what_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def inherited(*kept: int) -> str:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(write, 1)
            for fd in (3, 4, 6, 40, 900):
                os.dup2(0, fd)
            forking.inherit_only(kept)
            listed = "; ".join(
                f"[ -e /proc/self/fd/{n} ] && echo -n {n}," for n in (*range(10), 40, 900)
            )
            os.execv("/bin/sh", ["sh", "-c", listed])
        os.close(write)
        os.waitpid(child, 0)
        with open(read) as seen:
            return seen.read()

    for number in (forking.NR_CLOSE_RANGE, -1):  # the second: there is no such call
        monkeypatch.setattr(forking, "NR_CLOSE_RANGE", number)
        assert inherited() == "0,1,2,"
        assert inherited(40, 3, 1) == "0,1,2,3,40,"
        assert inherited(900, 4) == "0,1,2,4,900,"
