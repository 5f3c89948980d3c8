# SPDX-License-Identifier: Apache-2.0
"""deploy/podman and compose/ with rootless Podman, on a machine: a container with systemd."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from box import GUARD, IMAGE, until

TOP = Path(__file__).parents[3]
HERE = Path(__file__).parent / "machine"
HOME = "/srv/somebody"
TAG = "ipybox-test:machine"
RIGHTS = ["SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"]
OPEN = ["seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"]
LIMITS = ("pids_limit", "mem_limit", "memswap_limit")
ASK = """
import json, sys, urllib.request
request = urllib.request.Request(
    "http://127.0.0.1:8080/v1/sessions/default/executions",
    json.dumps({"code": sys.argv[1]}).encode(),
    {"Authorization": "Bearer the-token", "Content-Type": "application/json"},
)
print(json.load(urllib.request.urlopen(request))["text"])
"""
TALK: list[dict[str, object]] = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/call", "params": {
        "name": "execute_ipython_cell", "arguments": {"code": "open('said', 'w').close(); 6 * 7"}}},
]  # fmt: skip


class Machine:
    """`root` and `user` run a command, which must end well, and give what it printed."""

    def __init__(self, id: str) -> None:
        self.id = id

    def root(self, *words: str) -> str:
        return self.run(["docker", "exec", self.id, *words])

    def user(self, *words: str, input: str | None = None, cwd: str = HOME) -> str:
        place = ["-e", f"HOME={HOME}", "-e", "XDG_RUNTIME_DIR=/run/user/1000", "-w", cwd]
        token = ["-e", "IPYBOX_TOKEN=the-token", "-e", "IPYBOX_USERNS=keep-id"]
        return self.run(
            ["docker", "exec", "-i", "-u", "somebody", *place, *token, self.id, *words], input
        )

    def run(self, words: list[str], input: str | None = None) -> str:
        run = subprocess.run(
            words, input=input, capture_output=True, text=True, timeout=GUARD, check=False
        )
        assert run.returncode == 0, (words, run.stdout, run.stderr, self.journal())
        return run.stdout.strip()

    def journal(self) -> str:
        words = ["docker", "exec", self.id, "journalctl", "-n", "40", "--no-pager", "-o", "cat"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    def cell(self, code: str) -> str:
        return self.user("python3", "-c", ASK, code)

    def write(self, name: str, text: str) -> None:
        self.user("sh", "-c", 'mkdir -p "${1%/*}" && cat > "$1"', "sh", name, input=text)

    def until(self, *words: str) -> None:
        """The user's command ends well."""
        place = ["-u", "somebody", "-e", f"HOME={HOME}", "-e", "XDG_RUNTIME_DIR=/run/user/1000"]
        command = ["docker", "exec", *place, self.id, *words]
        until(
            lambda: subprocess.run(command, capture_output=True, check=False).returncode == 0,
            lambda: (words, self.journal()),
        )


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    build = ["docker", "build", "-q", "--build-arg", f"IMAGE={IMAGE}", "-t", TAG, str(HERE)]
    words = ["--device", "/dev/net/tun", "--cgroupns", "private", "-e", "container=docker"]
    words += ["-v", "/srv", "--tmpfs", "/run", "--tmpfs", "/tmp:exec"]
    words += [word for right in RIGHTS for word in ("--cap-add", right)]
    words += [word for option in OPEN for word in ("--security-opt", option)]
    subprocess.check_call(build, stdout=subprocess.DEVNULL)
    start = ["docker", "run", "-d", "--rm", *words, TAG]
    id = subprocess.check_output(start, text=True).strip()
    try:
        made = Machine(id)
        made.until("systemctl", "--user", "is-system-running", "--wait")
        name = IMAGE if ":" in IMAGE else f"{IMAGE}:latest"
        save = subprocess.Popen(["docker", "save", name], stdout=subprocess.PIPE)
        load = ["docker", "exec", "-i", "-u", "somebody", "-e", f"HOME={HOME}"]
        load += ["-e", "XDG_RUNTIME_DIR=/run/user/1000", id, "podman", "load", "-q"]
        subprocess.check_call(load, stdin=save.stdout, stdout=subprocess.DEVNULL)
        assert save.wait() == 0
        if name != "ipybox:latest":
            made.user("podman", "tag", name, "localhost/ipybox:latest")
        yield made
    finally:
        subprocess.check_call(["docker", "rm", "-f", "-v", id], stdout=subprocess.DEVNULL)


def test_the_quadlet_is_a_service_of_a_user(machine: Machine) -> None:
    unit = (TOP / "deploy" / "podman" / "ipybox.container").read_text()
    machine.user("podman", "secret", "create", "ipybox-token", "-", input="the-token")
    machine.write(f"{HOME}/.config/containers/systemd/ipybox.container", unit)
    machine.user("systemctl", "--user", "daemon-reload")
    machine.user("systemctl", "--user", "start", "ipybox")
    machine.until("podman", "healthcheck", "run", "systemd-ipybox")
    assert machine.cell("open('new', 'w').close(); import os; os.getuid()") == "1000"
    assert machine.user("stat", "-c", "%U", "ipybox/new") == "somebody"
    machine.user("systemctl", "--user", "stop", "ipybox")
    shown = machine.user("systemctl", "--user", "show", "-P", "Result", "-P", "NRestarts", "ipybox")
    assert shown.split() == ["success", "0"]
    assert machine.user("podman", "ps", "-aq") == ""


@pytest.fixture
def compose(machine: Machine, request: pytest.FixtureRequest) -> Iterator[str]:
    """A folder with the file, and the workspace beside it. Without its limits where no controller
    is there to keep them: those of a machine with cgroup v1 are not this hierarchy's."""
    folder = f"{HOME}/{request.node.callspec.id}"
    lines = (TOP / "compose" / "compose.yaml").read_text().splitlines(keepends=True)
    if "memory" not in machine.root("cat", "/sys/fs/cgroup/cgroup.controllers"):
        lines = [line for line in lines if not line.strip().startswith(LIMITS)]
    machine.write(f"{folder}/compose.yaml", "".join(lines))
    machine.user("mkdir", f"{folder}/workspace")
    yield folder
    machine.user("podman-compose", "down", cwd=folder)


@pytest.mark.parametrize("service", ["ipybox", "ipybox-hardened"])
def test_podman_compose_runs_cells_on_standard_input(
    machine: Machine, compose: str, service: str
) -> None:
    talk = "".join(json.dumps({"jsonrpc": "2.0"} | line) + "\n" for line in TALK)
    # The input ends when the answer is there: its end stops the server.
    command = (
        "mkfifo in; { cat; cat in; } | podman-compose run --rm -T " + service + " 2>/dev/null |"
        ' { sed -u "/\\"id\\":2/q"; : > in; cat; }'
    )
    said = machine.user("sh", "-c", command, input=talk, cwd=compose)
    (answer,) = [json.loads(line) for line in said.splitlines() if '"id":2' in line]
    assert answer["result"]["content"] == [{"type": "text", "text": "42"}]
    assert machine.user("stat", "-c", "%U", f"{compose}/workspace/said") == "somebody"


@pytest.mark.parametrize("service", ["serve", "serve-hardened"])
def test_podman_compose_serves(machine: Machine, compose: str, service: str) -> None:
    machine.user("podman-compose", "up", "-d", service, cwd=compose)
    (id,) = machine.user("podman", "ps", "-q").split()
    machine.until("podman", "healthcheck", "run", id)
    assert machine.cell("open('new', 'w').close(); 6 * 7") == "42"
    assert machine.user("stat", "-c", "%U", f"{compose}/workspace/new") == "somebody"
    machine.user("podman-compose", "stop", service, cwd=compose)
    form = "{{.State.ExitCode}} {{.HostConfig.ReadonlyRootfs}}"
    hardened = str(service == "serve-hardened").lower()
    assert machine.user("podman", "inspect", "-f", form, id) == f"0 {hardened}"
