# SPDX-License-Identifier: Apache-2.0
"""deploy/systemd: the wheel as a service, on a machine: a container with systemd as process 1."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import PLACE, until

OPTIONS = ["--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--cap-add", "SYS_PTRACE"]
OPTIONS += ["--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined"]
OPTIONS += ["--security-opt", "systempaths=unconfined", "--cgroupns", "private"]
OPTIONS += ["--tmpfs", "/run", "--tmpfs", "/tmp:exec", "-e", "container=docker"]
INSTALL = """
python3 -m venv /opt/ipybox
/opt/ipybox/bin/pip install -q /dist/ipybox-*linux*.whl
useradd --system --home-dir /var/lib/ipybox ipybox
mkdir /etc/ipybox
(umask 077; printf the-token > /etc/ipybox/token)
cp /unit/ipybox.service /etc/systemd/system/
until systemctl daemon-reload; do sleep 0.1; done
systemctl start ipybox
"""
ASK = """
import json, sys, urllib.request
request = urllib.request.Request(
    "http://127.0.0.1:8080/v1/sessions/default/executions",
    json.dumps({"code": sys.argv[1]}).encode(),
    {"Authorization": "Bearer the-token", "Content-Type": "application/json"},
)
print(urllib.request.urlopen(request, timeout=60).read().decode())
"""


class Machine:
    def __init__(self, id: str) -> None:
        self.id = id

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        words = ("docker", "exec", self.id, *words)
        return subprocess.run(words, capture_output=True, text=True, timeout=200)

    def says(self, *words: str) -> str:
        run = self.run(*words)
        log = self.run("journalctl", "-n", "40", "--no-pager", "-o", "cat").stdout
        assert run.returncode == 0, (words, run.stdout, run.stderr, log)
        return run.stdout.strip()

    def cell(self, code: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.says("python3", "-c", ASK, code))
        return answer


@pytest.fixture
def machine() -> Iterator[Machine]:
    ca = os.environ.get("IPYBOX_CA")
    words = [*OPTIONS, "-v", f"{PLACE}/dist:/dist:ro", "-v", f"{PLACE}/systemd:/unit:ro"]
    if ca:
        words += ["-v", f"{ca}:/ca.pem:ro", "-e", "PIP_CERT=/ca.pem"]
    start = ["docker", "run", "-d", *words, "ipybox-root:systemd"]
    id = subprocess.check_output(start, text=True).strip()
    yield Machine(id)
    subprocess.check_call(["docker", "rm", "-f", id], stdout=subprocess.DEVNULL)


def test_the_unit_runs_cells_that_do_not_get_its_token(machine: Machine) -> None:
    machine.says("sh", "-ec", INSTALL)
    until(
        lambda: machine.run("python3", "-c", ASK, "1").returncode == 0,
        lambda: machine.says("systemctl", "status", "ipybox"),
    )
    assert machine.cell("open('new', 'w').close(); 6 * 7")["text"] == "42"
    assert machine.says("stat", "-c", "%U", "/var/lib/ipybox/new") == "ipybox"
    assert machine.says("cat", "/run/credentials/ipybox.service/token") == "the-token"
    for name in ("/etc/ipybox/token", "/run/credentials/ipybox.service/token"):
        assert machine.cell(f"open({name!r}).read()")["status"] == "error"
    assert machine.cell("import os; 'the-token' in os.environ.values()")["text"] == "False"
    machine.says("systemctl", "stop", "ipybox")
    show = ["systemctl", "show", "-P", "Result", "-P", "NRestarts", "-P", "ExecMainStatus"]
    assert machine.says(*show, "ipybox").split() == ["success", "0", "0"]
