#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py [SERVER...] - writes golden/: what the oracle makes of the corpus.

The oracle is datamodel-code-generator, called by mcpygen 0.1.4.

Needs the environment of requirements/mcpygen.txt (tests/peer/run mcpygen makes it):

    "$(third_party/venv tests/peer/requirements/mcpygen.txt)/bin/python" tests/peer/apigen/golden.py
"""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import version
from typing import Any

from corpus import FAILED, servers, tools, write_golden
from mcpygen.apigen import generate_input_model_code, generate_output_model_code, strip_imports

VERSIONS = ("mcpygen", "datamodel-code-generator", "black", "isort", "pydantic")


def module(tool: dict[str, Any]) -> str:
    """The classes of a tool's module as generate_mcp_sources() puts them together."""
    try:
        code = generate_input_model_code(tool["inputSchema"])
        if tool.get("outputSchema"):
            code = f"{code}\n\n{strip_imports(generate_output_model_code(tool['outputSchema']))}"
    except Exception as failure:  # whatever it is, the old system had no package then
        return f"{FAILED}{type(failure).__name__}: {str(failure).splitlines()[:1]}"
    if not isinstance(code, str):
        return f"{FAILED}several modules: {list(code)}"  # it wrote this list into the file
    return code


def main() -> int:
    warnings.simplefilter("ignore")
    head = "What golden.py made with " + ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    for server in sys.argv[1:] or servers():
        made = {tool["name"]: module(tool) for tool in tools(server)}
        write_golden(server, head, made)
        print(f"{server}: {len(made)}")
    return 0


sys.exit(main())
