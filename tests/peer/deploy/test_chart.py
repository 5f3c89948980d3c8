# SPDX-License-Identifier: Apache-2.0
"""deploy/helm: in form by the tools of its trade; the server and the test that come out of it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are another package
from box import IMAGE, docker
from cluster_tools import NEWEST, VERSIONS, conform, tool
from pod_box import check_restricted, options_of, server

DEPLOY = Path(__file__).parents[3] / "deploy"
CHART = DEPLOY / "helm" / "ipybox"
ALL_ON = [
    *("--set", "serviceMonitor.enabled=true", "--set", "gateway.enabled=true"),
    *("--set-json", 'config={"mcpServers":{"demo":{"url":"http://demo/mcp"}}}'),
    *("--set-json", 'networkPolicy.egress=[{"ports":[{"port":53,"protocol":"UDP"}]}]'),
]
SECRETS = {"token": "the-administrator", "execute-token": "the-agent"}
PRESENT = ["ConfigMap", "NetworkPolicy", "Pod", "PodDisruptionBudget", "Secret", "Service"]
PRESENT += ["Service", "ServiceAccount", "ServiceMonitor", "StatefulSet"]


def rendered(*words: str, version: str = NEWEST) -> str:
    return tool("helm", "template", "r", str(CHART), "--kube-version", version, *words)


def documents(*words: str) -> dict[str, dict[str, Any]]:
    """By kind; of two services the last one."""
    return {one["kind"]: one for one in yaml.safe_load_all(rendered(*words))}


def test_helm_finds_nothing_to_say() -> None:
    assert "0 chart(s) failed" in tool(
        "helm", "lint", "--strict", "--kube-version", NEWEST, str(CHART)
    )


def test_its_own_unit_tests_pass() -> None:
    told = tool("helm-unittest", "--color=false", str(CHART))
    assert re.search(r"Tests: +(\d+) passed, \1 total", told)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("words", [[], ALL_ON])
def test_its_form_is_right(words: list[str], version: str) -> None:
    kinds = conform(rendered(*words, version=version), version)
    assert kinds == (
        PRESENT if words else [k for k in PRESENT if k not in {"ConfigMap", "ServiceMonitor"}]
    )


def test_a_wrong_form_is_found() -> None:
    for wrong in ("replica: 1", "minReadySeconds: soon"):
        text = rendered().replace("podManagementPolicy: Parallel", wrong)
        with pytest.raises(subprocess.CalledProcessError):
            conform(text, NEWEST)


def test_an_older_kubernetes_is_refused() -> None:
    with pytest.raises(subprocess.CalledProcessError):
        rendered(version="1.28.0")


def test_kube_score_finds_nothing() -> None:
    """Of two replicas, as it compares what is for one; the image is always pulled there."""
    words = ["--skip-tests", "--set", "replicas=2", "--set", "image.pullPolicy=Always", *ALL_ON]
    told = tool("kube-score", "score", "-o", "ci", "-", input=rendered(*words))
    assert "[OK] r-ipybox/default apps/v1/StatefulSet" in told
    assert [
        line for line in told.splitlines() if line.startswith(("[CRITICAL]", "[WARNING]"))
    ] == []


def test_what_helm_test_runs_passes_on_what_helm_installs() -> None:
    """The pods of both, as containers; here the address is not the kubelet's to fill in."""
    of = documents()
    pod, test = of["StatefulSet"]["spec"]["template"]["spec"], of["Pod"]["spec"]
    check_restricted(pod)
    check_restricted(test)
    kubernetes_validate.validate(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": pod}, "1.37", strict=True
    )
    (client,) = test["containers"]
    address, token = client["env"]
    assert address == {"name": "ADDRESS", "value": "$(R_IPYBOX_SERVICE_HOST):8080"}
    client["env"] = [token]
    with server(pod, "r-ipybox-0", SECRETS) as (_, id):
        words = [*options_of(test, client, SECRETS), "-e", "ADDRESS=localhost:8080"]
        words += ["--network", f"container:{id}", "--entrypoint", client["command"][0]]
        told = docker("run", "--rm", *words, IMAGE, *client["command"][1:], *client["args"])
    assert told.splitlines() == [
        "ready: ok",
        "a cell: 42",
        "MCP: its tools are there",
        "without a token: refused",
    ]


def test_its_files_are_ones_that_the_server_takes(tmp_path: Path) -> None:
    config = (
        'config={"mcpServers":{"demo":{"url":"http://127.0.0.1:1/mcp"}},'
        '"toolPolicy":{"rules":[]},"sandboxConfig":{}}'
    )
    of = documents("--set-json", config)
    pod = of["StatefulSet"]["spec"]["template"]["spec"]
    for name, text in of["ConfigMap"]["data"].items():
        (tmp_path / name).write_text(text)
    tmp_path.chmod(0o755)
    (container,) = pod["containers"]
    container["volumeMounts"] = [m for m in container["volumeMounts"] if m["name"] != "config"]
    with server(pod, "r-ipybox-0", SECRETS, "-v", f"{tmp_path}:/etc/ipybox:ro") as (_, id):
        assert docker("exec", id, "ipybox", "exec", "6 * 7").strip() == "42"


@pytest.mark.parametrize("version", VERSIONS)
def test_toolhive_takes_its_sample(version: str) -> None:
    text = (DEPLOY / "toolhive" / "mcp-server.yaml").read_text()
    assert conform(text, version) == ["MCPServer"]
    spec = yaml.safe_load(text)["spec"]
    check_restricted(spec["podTemplateSpec"]["spec"])


def test_kagents_sample_is_what_its_operator_takes() -> None:
    """Its definition is in no registry: its members by name, and the chart's names in it."""
    sample = yaml.safe_load((DEPLOY / "kagent" / "remote-mcp-server.yaml").read_text())
    assert (sample["apiVersion"], sample["kind"]) == ("kagent.dev/v1alpha2", "RemoteMCPServer")
    spec = sample["spec"]
    known = {"description", "url", "protocol", "timeout", "sseReadTimeout", "terminateOnClose"}
    assert set(spec) == known | {"headersFrom"}
    (header,) = spec["headersFrom"]
    of = documents("--set", "fullnameOverride=ipybox", "-n", "agents")
    assert spec["url"] == "http://ipybox.agents.svc:8080/mcp"
    assert {"name": "http", "port": 8080, "targetPort": "http"} in of["Service"]["spec"]["ports"]
    assert header["valueFrom"] == {"type": "Secret", "name": "ipybox", "key": "execute-token"}
    assert header["valueFrom"]["key"] in of["Secret"]["data"]
    assert of["Secret"]["metadata"]["name"] == "ipybox"
