"""The ranking of tools, and that the server's has the same words."""

from __future__ import annotations

import pathlib
import re

from ipybox_tools import ranking

SERVERS = pathlib.Path(__file__).parents[3] / "src/tools/catalog/words.c"


def best(text: str, *tools: ranking.Tool) -> int:
    scores = ranking.score(tools, text)
    return max(range(len(tools)), key=lambda i: scores[i])


def test_words_have_no_endings_and_are_cut_at_capitals() -> None:
    assert ranking.words("listAPIServices") == ["list", "api", "servic"]
    assert ranking.words("create_repositories2") == ["creat", "repository", "2"]
    assert ranking.query("Which of the files?") == ["fil"]
    assert ranking.query("what is it") == ["what", "is", "it"]


def test_a_word_that_means_the_same_is_found_and_counts_less() -> None:
    make = ranking.tool("files", "create_directory", "Creates a directory.", "path")
    move = ranking.tool("files", "move_file", "Moves a file.", "source destination")
    assert best("make a folder", move, make) == 1
    named = ranking.tool("files", "make_folder", "", "path")
    assert best("make a folder", make, named) == 1


def test_the_plainer_name_and_the_one_that_is_not_deprecated_win() -> None:
    plain = ranking.tool("k", "listPod", "list pods", "")
    more = ranking.tool("k", "listPodTemplateStatus", "list pods", "")
    old = ranking.tool("k", "listPod", "list pods. Deprecated: use another", "")
    assert best("list the pods", more, plain) == 1
    assert best("list the pods", old, plain) == 1
    assert ranking.score([plain], "deployment") == [0.0]


def test_the_server_has_the_same_words() -> None:
    text = SERVERS.read_text()
    idle, _, alike = text.partition("words_alike")
    assert set("".join(re.findall(r'"([a-z ]+)"', idle)).split()) == ranking.IDLE
    groups = re.findall(r'" ([a-z ]+) "', alike)
    assert tuple(groups) == ranking.ALIKES
