# SPDX-License-Identifier: Apache-2.0
"""Shells that go on where the one before ended."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from ipybox_kernel import bash_state


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("BASH_ENV", "IPYBOX_BASH_STATE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = dict(os.environ)
    bash_state.begin()
    for name in os.environ.keys() - before.keys():
        monkeypatch.setenv(name, os.environ.pop(name))


def shell(code: str, **env: str) -> str:
    done = subprocess.run(
        ["bash"],
        input=code,
        text=True,
        stdout=subprocess.PIPE,
        env=os.environ | env,
        check=False,
    )
    return done.stdout


def test_what_a_shell_leaves_is_there_in_the_next() -> None:
    shell(
        'x="a\nb"; y=(1 "2 3"); declare -A z=([k]=v); f() { echo f $1; }; cd /usr; set -u; exit 3'
    )
    assert (
        shell('echo "$x" "${y[1]}" ${z[k]}; f g; pwd; shopt -o nounset')
        == "a\nb 2 3 v\nf g\n/usr\nnounset        \ton\n"
    )
    shell("set +u; unset x; readonly R=1; shopt -s extglob; kill -INT $$")
    assert shell('echo "[$x] $R"; shopt extglob').split() == ["[]", "1", "extglob", "on"]


def test_what_the_environment_brings_is_its_own() -> None:
    assert shell("echo $MORE; MINE=1; export OUT=2", MORE="m") == "m\n"
    assert shell('echo "[$MORE] $MINE"; bash -c "echo \\$OUT [\\$MINE] [\\$BASH_ENV]"') == (
        "[] 1\n2 [] []\n"
    )


def test_it_is_begun_once() -> None:
    before = os.environ["IPYBOX_BASH_STATE"]
    bash_state.begin()
    assert os.environ["IPYBOX_BASH_STATE"] == before
