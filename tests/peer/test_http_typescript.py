# SPDX-License-Identifier: Apache-2.0
"""The MCP TypeScript client 2.4 over HTTP: the same session, judged by the same tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import test_typescript as same
from http_box import serving

pytestmark = pytest.mark.gate


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def url(workspace: Path) -> Iterator[str]:
    with serving(workspace) as url:
        yield url


@pytest.fixture(scope="module", params=list(same.ERAS))
def seen(request: pytest.FixtureRequest, url: str, workspace: Path) -> dict[str, Any]:
    return {"mode": request.param, **same.run_client(request.param, workspace, url)}


test_the_era = same.test_the_era_is_the_one_asked_for
test_the_server = same.test_the_server_introduces_itself
test_tools = same.test_tools_have_the_arguments_and_defaults_of_old
test_cells = same.test_cells_return_their_output_and_keep_state
test_errors = same.test_errors_are_results
test_an_unknown_tool = same.test_an_unknown_tool_is_an_error_of_the_protocol
test_progress = same.test_progress_carries_the_output_while_the_cell_runs
test_given_up = same.test_calls_that_were_given_up_are_interrupted
test_parallel = same.test_calls_at_the_same_time_are_all_answered
test_listen = same.test_listen_is_acknowledged_in_the_modern_era
test_reset = same.test_reset_returns_a_line_and_clears_the_state
