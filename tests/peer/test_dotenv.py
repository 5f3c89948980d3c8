# SPDX-License-Identifier: Apache-2.0
"""python-dotenv as the referee of .env files; dotenv_oracle.py has the cases."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from box import GUARD, HERE


def test_env_files_are_read_as_python_dotenv_reads_them() -> None:
    command = [sys.executable, str(HERE / "dotenv_oracle.py"), os.environ["DOTENV_DUMP"]]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=GUARD)
    plan = re.match(r"1\.\.(\d+)\n", run.stdout)
    assert plan, run.stdout + run.stderr
    wrong = [line for line in run.stdout.splitlines() if line.startswith(("not ok", "#"))]
    assert not wrong, "\n".join(wrong)
    assert run.returncode == 0
    good = sum(line.startswith("ok ") for line in run.stdout.splitlines())
    assert good == int(plan[1]) > 1000
