# SPDX-License-Identifier: Apache-2.0
"""deploy/kustomize, deploy/podman and deploy/systemd, each by the tool that reads it."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are another package
from box import GUARD
from cluster_tools import VERSIONS, conform, tool
from pod_box import check_restricted, server

DEPLOY = Path(__file__).parents[3] / "deploy"
SECRETS = {"token": "the-administrator", "execute-token": "the-agent"}
UNITS = {
    "/opt/ipybox/bin/ipybox": "/usr/bin/true",
    "/usr/bin/podman": "/usr/bin/true",
    "%h": "/root",
    "%t": "/run",
}


def built() -> str:
    return tool("kustomize", "build", str(DEPLOY / "kustomize" / "example"))


def deployments() -> dict[str, dict[str, Any]]:
    found = {}
    for one in yaml.safe_load_all(built()):
        if one["kind"] == "Deployment":
            found[one["metadata"]["name"]] = one["spec"]["template"]["spec"]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_component_makes_what_kubernetes_takes(version: str) -> None:
    assert conform(built(), version) == ["Deployment", "Deployment", "Secret"]


def test_the_sidecar_goes_where_the_label_is() -> None:
    found = deployments()
    assert "initContainers" not in found["other"]
    (sidecar,) = found["agent"]["initContainers"]
    assert (sidecar["name"], sidecar["restartPolicy"]) == ("ipybox", "Always")
    assert sidecar["image"] == "registry.example/ipybox:nonroot"
    context = sidecar["securityContext"]
    check_restricted({"securityContext": context, "containers": [sidecar]})


def test_the_sidecar_of_the_component_runs_a_cell() -> None:
    (sidecar,) = deployments()["agent"]["initContainers"]
    context = sidecar["securityContext"]
    pod = {"securityContext": context, "containers": [sidecar]}
    with server(pod, "agent", SECRETS) as (_, id):
        words = ["docker", "exec", id, "ipybox", "exec", "6 * 7"]
        assert subprocess.check_output(words, text=True, timeout=GUARD).strip() == "42"


def verify(text: str, folder: Path) -> None:
    """systemd has nothing to say of it, with programs in place of those that are not here."""
    for name, here in UNITS.items():
        text = text.replace(name, here)
    unit = folder / "ipybox.service"
    unit.write_text(text)
    run = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    verify((DEPLOY / "systemd" / "ipybox.service").read_text(), tmp_path)


def test_a_wrong_unit_is_found(tmp_path: Path) -> None:
    text = (DEPLOY / "systemd" / "ipybox.service").read_text()
    with pytest.raises(AssertionError):
        verify(text.replace("StateDirectory=", "StateDirectry="), tmp_path)


def test_podmans_generator_makes_the_service(tmp_path: Path) -> None:
    environment = os.environ | {"QUADLET_UNIT_DIRS": str(DEPLOY / "podman")}
    words = [os.environ["PEER_QUADLET"], "-dryrun", "-user"]
    text = subprocess.check_output(words, text=True, env=environment)
    (start,) = [line for line in text.splitlines() if line.startswith("ExecStart=")]
    made = shlex.split(start.removeprefix("ExecStart="))
    wanted = "--read-only --cap-drop=all --security-opt=no-new-privileges --userns=keep-id"
    pairs = " ".join(made).replace("--cap-drop all", "--cap-drop=all")
    pairs = pairs.replace("--userns keep-id", "--userns=keep-id")
    assert all(option in pairs.split() for option in wanted.split())
    assert made[-4:] == ["serve", "--sandbox", "--stop-grace", "45"]
    verify(text.partition("\n")[2], tmp_path)
