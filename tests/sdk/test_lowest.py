# SPDX-License-Identifier: Apache-2.0
"""The wheel with the lowest versions that it allows, natively: lowest.in. The SDK's part of the gate, and the tests of the
kernel's Python half, in minimal systems as an ordinary user.

The highest versions are those of all other tests.
"""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
from conftest import PLACE

DEPENDENCY = re.compile(r"([\w-]+)(>=[^;]+?)\s*(?:;|$)")
BEGIN = """
mkdir place && cd place
for each in sdk python dist adopt examples pyproject.toml; do cp -r /tests/$each .; done
python3 -m venv --without-pip venv
install="/tests/venv/bin/uv pip install -q --python venv/bin/python --offline --no-index --no-deps"
$install --find-links /tests/lowest/{python} --require-hashes -r sdk/lowest-{python}.txt
$install dist/ipybox-*linux*.whl
"""
TESTS = {
    "sdk": "export SDK_TIER=gate SDK_PLACE=$PWD; set -- -m gate --rootdir sdk $(grep -l pytest.mark.gate sdk/test_*.py)",
    # One of them compares with the server's source.
    "python half": "export PYTHONPATH=$(echo $PWD/venv/lib/python3*/site-packages/ipybox/_kernel); set -- -k 'not same_words' --rootdir python python",
}
END = '\nvenv/bin/python -m pytest -q -c pyproject.toml "$@"'


@pytest.mark.parametrize("tests", TESTS)
@pytest.mark.parametrize(("release", "python"), [("bookworm", "3.11"), ("trixie", "3.13")])
def test_the_lowest_versions(release: str, python: str, tests: str) -> None:
    words = ["docker", "run", "--rm", "--init", "--network", "none", "-v", f"{PLACE}:/tests:ro"]
    script = BEGIN.format(python=python) + TESTS[tests] + END
    words += [f"ipybox-root:{release}", "bash", "-euc", script]
    said = subprocess.run(words, capture_output=True, text=True, timeout=1200)
    assert said.returncode == 0, (said.stdout + said.stderr)[-6000:]
    assert re.search(r"\d{2,} passed", said.stdout) and "failed" not in said.stdout


def test_the_list_has_the_wheels_dependencies() -> None:
    project = tomllib.loads((PLACE / "sdk-pyproject.toml").read_text())["project"]
    allowed = [DEPENDENCY.match(each) for each in project["dependencies"]]
    lines = (PLACE / "sdk" / "lowest.in").read_text().splitlines()
    assert allowed and all(allowed)
    assert not {each[1] + each[2] for each in allowed if each} - set(lines)
    for python in ("3.11", "3.13"):
        pinned = (PLACE / "sdk" / f"lowest-{python}.txt").read_text()
        assert "\nipykernel==7.1.0 " in pinned
