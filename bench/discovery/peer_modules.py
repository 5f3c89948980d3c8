#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peer_modules.py < TOOLS > LENGTHS - how long the peer's modules of some tools are.

TOOLS is {NAME: tool, ...}; LENGTHS is {NAME: [name of the module, characters], ...}. Needs the
environment of tests/peer/requirements/mcpygen.txt.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

from mcpygen.apigen import (  # type: ignore[import-not-found]
    generate_function_definition,
    generate_input_model_code,
    generate_output_model_code,
    sanitize_name,
    strip_imports,
)


def module(tool: dict[str, Any]) -> str:
    """As generate_mcp_sources() of mcpygen 0.1.4 puts it together."""
    parts = [str(generate_input_model_code(tool["inputSchema"]))]
    if tool.get("outputSchema"):
        parts.append(strip_imports(str(generate_output_model_code(tool["outputSchema"]))))
    parts.append(
        generate_function_definition(
            original_name=tool["name"],
            description=tool.get("description", ""),
            structured_output="outputSchema" in tool,
            async_api=False,
        )
    )
    return "\n\n".join(parts)


def main() -> int:
    warnings.simplefilter("ignore")
    tools = json.load(sys.stdin)
    lengths = {name: [sanitize_name(one["name"]), len(module(one))] for name, one in tools.items()}
    json.dump(lengths, sys.stdout)
    return 0


sys.exit(main())
