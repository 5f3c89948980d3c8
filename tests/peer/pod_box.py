# SPDX-License-Identifier: Apache-2.0
"""A pod of Kubernetes as a container of Docker: the same user, rights, limits, volumes in memory,
variables and arguments."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from box import GUARD, IMAGE, address_of, running, until

HARD = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]


def server_of(pod: dict[str, Any]) -> dict[str, Any]:
    every = [*pod.get("initContainers", []), *pod["containers"]]
    return next(container for container in every if container["name"] == "ipybox")


def check_restricted(pod: dict[str, Any]) -> None:
    """What the profile "restricted" of Pod Security asks for, and a read-only root beside it."""
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    assert all("hostPath" not in volume for volume in pod.get("volumes", []))
    for container in [*pod.get("initContainers", []), *pod["containers"]]:
        context = container["securityContext"]
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert context["readOnlyRootFilesystem"] is True


def options_of(
    pod: dict[str, Any], container: dict[str, Any], secrets: dict[str, str]
) -> list[str]:
    """Options of `docker run` that give the container what its pod does; secrets by key."""
    user = pod["securityContext"]["runAsUser"]
    options = [*HARD, "--user", f"{user}:{pod['securityContext']['runAsGroup']}"]
    options += ["--memory", container["resources"]["limits"]["memory"].lower().removesuffix("i")]
    for variable in container.get("env", []):
        value = secrets[variable["valueFrom"]["secretKeyRef"]["key"]]
        options += ["-e", f"{variable['name']}={value}"]
    for mount in container.get("volumeMounts", []):
        options += ["--tmpfs", f"{mount['mountPath']}:exec,mode=0770,uid={user}"]
    return options


def ask(url: str, body: object = None, **headers: str) -> tuple[int, Any, Any]:
    """Status, headers and document of the answer; underscores of names are dashes."""
    sent = {"Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    data = None if body is None else json.dumps(body).encode()
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, data, sent), timeout=GUARD)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        return answer.status, answer.headers, json.loads(answer.read())


def wait_for(url: str) -> None:
    def answers() -> bool:
        try:
            return bool(ask(url)[0] == HTTPStatus.OK)
        except OSError:
            return False

    until(answers, lambda: f"{url} does not come up")


@contextmanager
def server(
    pod: dict[str, Any], name: str, secrets: dict[str, str], *more: str
) -> Iterator[tuple[str, str]]:
    """A container as the pod of that name would have it: its URL and id, when it is ready."""
    container = server_of(pod)
    options = [*options_of(pod, container, secrets), *more]
    options += ["--hostname", name, "-p", "127.0.0.1::8080"]
    with running(*options, IMAGE, *container["args"]) as id:
        url = f"http://{address_of(id, 8080)}"
        for probe in "startupProbe", "readinessProbe", "livenessProbe":
            wait_for(f"{url}{container[probe]['httpGet']['path']}")
        yield url, id
