# SPDX-License-Identifier: Apache-2.0
"""helm, kubeconform and so on, which tests/peer/run has built, and schemas for the latter."""

from __future__ import annotations

import json
import os
import subprocess

from box import GUARD

VERSIONS = ["1.29.0", "1.37.0"]
NEWEST = VERSIONS[-1]
SCHEMAS = [
    "{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json",
    "crds/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json",
]


def tool(name: str, *words: str, input: str | None = None) -> str:
    """What it says, complaints included; it must end well."""
    run = subprocess.run(
        [f"{os.environ['PEER_DEPLOY_TOOLS']}/{name}", *words],
        input=input,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=GUARD,
        check=False,
    )
    if run.returncode:
        print(run.stdout)
        raise subprocess.CalledProcessError(run.returncode, name, run.stdout)
    return run.stdout


def conform(text: str, version: str) -> list[str]:
    """The kinds in it, in order; all of the form that this version of Kubernetes takes."""
    words = ["-strict", "-verbose", "-output", "json", "-kubernetes-version", version]
    for place in SCHEMAS:
        words += ["-schema-location", f"{os.environ['PEER_DEPLOY_SCHEMAS']}/{place}"]
    answer = json.loads(tool("kubeconform", *words, input=text))
    assert all(one["status"] == "statusValid" for one in answer["resources"]), answer
    return sorted(one["kind"] for one in answer["resources"])
