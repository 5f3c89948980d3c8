# SPDX-License-Identifier: Apache-2.0
"""crewAI's E2B tools for commands and files."""

from __future__ import annotations

from box import Box
from crewai_tools import E2BExecTool, E2BFileTool
from e2b import Sandbox
from e2b_box import environment, serving


def test_tools(shared_box: Box) -> None:
    with serving(shared_box.workspace) as url, environment(url):
        path = "/home/user/crew/a.txt"
        files = E2BFileTool(persistent=True)
        assert files.run(action="write", path=path, content="text")["bytes"] == 4
        assert files.run(action="read", path=path)["content"] == "text"
        assert files.run(action="info", path=path)["size"] == 4
        assert files.run(action="exists", path=path)["exists"]
        commands = E2BExecTool()
        ran = commands.run(command="cat a.txt; echo $A", cwd="/home/user/crew", envs={"A": "b"})
        assert (ran["exit_code"], ran["stdout"]) == (0, "textb\n")
        files.close()
        assert not Sandbox.list().next_items()
