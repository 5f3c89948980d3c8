# SPDX-License-Identifier: Apache-2.0
"""The manifests of deploy/kubernetes, and the pod of deploy/agent-sandbox: in form for the oldest
and the newest Kubernetes that they are for, as strict as they say, and their containers do what
docs/kubernetes.md and docs/agent-sandbox.md promise."""

from __future__ import annotations

from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are another package
from box import IMAGE, address_of, docker, running
from pod_box import ask, check_restricted, options_of, server, server_of, wait_for

MANIFESTS = Path(__file__).parents[2] / "deploy" / "kubernetes"
TEMPLATE = MANIFESTS.parent / "agent-sandbox" / "template.yaml"
VERSIONS = ["1.29", "1.37"]
GRACE_DEFAULT = 30  # seconds, of a pod that names none


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((MANIFESTS / name).read_text()))


FILES = sorted(path.name for path in MANIFESTS.glob("*.yaml"))


def pods() -> list[dict[str, Any]]:
    (sidecar,) = documents("sidecar.yaml")
    stateful, _ = documents("statefulset.yaml")
    return [sidecar["spec"], stateful["spec"]["template"]["spec"]]


def secrets() -> dict[str, str]:
    _, secret = documents("namespace.yaml")
    return dict(secret["stringData"])


# --- form -----------------------------------------------------------------------------------------


def test_these_are_the_files() -> None:
    assert FILES == ["namespace.yaml", "sidecar.yaml", "statefulset.yaml"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", FILES)
def test_the_form_is_right(name: str, version: str) -> None:
    for document in documents(name):
        kubernetes_validate.validate(document, version, strict=True)


def test_a_wrong_form_is_found() -> None:
    (pod,) = documents("sidecar.yaml")
    pod["spec"]["initContainers"][0]["volumeMount"] = []
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, VERSIONS[0], strict=True)


@pytest.mark.parametrize("pod", pods())
def test_pods_are_of_the_profile_restricted(pod: dict[str, Any]) -> None:
    check_restricted(pod)


@pytest.mark.parametrize("pod", pods())
def test_the_grace_fits_into_that_of_the_pod(pod: dict[str, Any]) -> None:
    args = server_of(pod)["args"]
    grace = int(args[args.index("--stop-grace") + 1])
    assert 0 < grace < pod.get("terminationGracePeriodSeconds", GRACE_DEFAULT)


@pytest.mark.parametrize("pod", pods())
def test_a_kernel_ends_before_a_volume_is_full(pod: dict[str, Any]) -> None:
    args = server_of(pod)["args"]
    mib = int(args[args.index("--kernel-disk") + 1].removesuffix("M"))
    limits = [volume["emptyDir"]["sizeLimit"] for volume in pod["volumes"] if "emptyDir" in volume]
    assert limits
    assert all(mib < 1024 * int(limit.removesuffix("Gi")) for limit in limits)


def sandbox_pod() -> dict[str, Any]:
    """The pod of agent-sandbox's template, whose own kinds kubernetes_validate does not know."""
    template, pool = yaml.safe_load_all(TEMPLATE.read_text())
    assert pool["spec"]["sandboxTemplateRef"]["name"] == template["metadata"]["name"]
    pod: dict[str, Any] = template["spec"]["podTemplate"]
    return {"apiVersion": "v1", "kind": "Pod", **pod}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_pod_of_agent_sandbox_is_right(version: str) -> None:
    kubernetes_validate.validate(sandbox_pod(), version, strict=True)
    check_restricted(sandbox_pod()["spec"])


# --- what runs ------------------------------------------------------------------------------------


def test_the_agent_of_the_sidecar_runs_its_cell() -> None:
    (pod,) = (document["spec"] for document in documents("sidecar.yaml"))
    (agent,) = pod["containers"]
    with server(pod, "agent", secrets()) as (_, id):
        words = [*options_of(pod, agent, secrets()), "--network", f"container:{id}"]
        words += ["--entrypoint", agent["command"][0], IMAGE, *agent["command"][1:], *agent["args"]]
        assert docker("run", "--rm", *words) == "42\n"


def test_a_client_of_the_statefulset_finds_its_session_again() -> None:
    pod = pods()[1]
    own = {"X_Ipybox_Token": secrets()["execute-token"]}
    with ExitStack() as stack:
        urls = {
            n: stack.enter_context(server(pod, n, secrets()))[0] for n in ("ipybox-0", "ipybox-1")
        }
        _, _, session = ask(f"{urls['ipybox-1']}/v1/sessions", {"id": "ada"}, **own)
        instance = session["instance"]
        assert instance == "ipybox-1"
        path = f"/v1/sessions/{session['id']}/executions"
        meant = own | {"Ipybox_Instance": instance}
        assert ask(urls[instance] + path, {"code": "x = 6 * 7"}, **meant)[2]["status"] == "ok"
        status, headers, problem = ask(urls["ipybox-0"] + path, {"code": "x"}, **meant)
        assert (status, problem["owner"]) == (HTTPStatus.MISDIRECTED_REQUEST, instance)
        found = ask(urls[headers["Ipybox-Owner"]] + path, {"code": "x"}, **meant)[2]
        assert (found["text"], found["instance"]) == ("42", instance)


def test_the_pod_of_agent_sandbox_serves_both_contracts() -> None:
    pod = sandbox_pod()["spec"]
    container = server_of(pod)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    published = [f"-p127.0.0.1::{inside}" for inside in ports.values()]
    with running(*options_of(pod, container, {}), *published, IMAGE, *container["args"]) as id:
        for probe in "readinessProbe", "livenessProbe":
            asked = container[probe]["httpGet"]
            wait_for(f"http://{address_of(id, ports[asked['port']])}{asked['path']}")
        url = f"http://{address_of(id, ports['runtime'])}/execute"
        assert ask(url, {"command": "echo $((6 * 7))"})[2]["stdout"] == "42\n"
