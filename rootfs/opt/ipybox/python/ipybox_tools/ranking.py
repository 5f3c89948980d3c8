"""Which tools fit words: the ranking of ``mcptools.search()``, and of the server's own search.

A word of the query counts more the fewer tools have it, and more in a tool's name than in its
sentence, its server's name or the names of its arguments; a word that means the same counts half.
Of two tools that have the same words the one wins whose name has fewer others, and whose name
begins with what is to be done. What calls itself deprecated counts half.

The server ranks alike (src/tools/catalog), and has more of the descriptions to look at.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

NAME, TEXT, SERVER, ARGUMENT = 4.0, 1.0, 1.0, 0.5  # what a word counts by where it stands
ALIKE = 0.5  # a word that means the same, beside the word itself
FIRST = 1.2  # what is to be done stands first in the name
OTHERS = 0.1  # what each other word of a name costs
DEPRECATED = 0.5
COVERED = 1.0  # how much it counts that all words are there

WORD = re.compile(r"[a-z]+|[0-9]+")
HUMP = re.compile(r"([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])")
ENDINGS = ("ies", "ing", "ed", "es", "s", "e")  # the first that fits is dropped
IDLE_WORDS = (
    "a about again all also an and any anything are as at be been but by can could did do does each"
    " everything for from had has have her his how i if in into is it its just let like me my need"
    " of on one or our please should so some something than that the their them then there these"
    " they this those to us want was we were what when where which who why will with would you"
    " your"
)
IDLE = frozenset(IDLE_WORDS.split())  # they say nothing of what is looked for
ALIKES = (  # what means the same, a group a line
    "list show get read view display fetch see describe what which",
    "find search query lookup locate look",
    "create make new add open start begin post insert set",
    "delete remove drop destroy erase",
    "change update edit modify replace patch alter",
    "write save store put create",
    "move rename",
    "folder directory dir",
    "picture image photo media screenshot",
    "run execute exec evaluate invoke command call",
    "compare diff difference differ",
    "page url site website web browser",
    "go navigate visit open switch checkout",
    "alert dialog popup confirm",
    "log history commits",
    "undo revert reset rollback restore back",
    "upload attach send push",
    "download pull fetch clone",
    "user person people account member",
    "several many multiple",
    "sum plus total add",
    "size large larger largest big bigger biggest small smallest",
    "choose select pick",
    "type enter input write fill",
    "press key hit push",
    "wait sleep pause until",
    "approve review accept",
    "repo repository project",
    "config configuration settings",
    "env environment",
    "info information metadata details about",
    "status state check health",
    "zip gzip compress archive",
    "stop close quit end cancel",
    "comment reply note",
)


class Tool(NamedTuple):
    """What is looked at: words by their place, prepared by words_of()."""

    name: tuple[str, ...]
    weights: dict[str, float]
    deprecated: bool


def words(text: str) -> list[str]:
    """In lower case and without their endings."""
    return [stem(word) for word in WORD.findall(HUMP.sub(r"\1\3 \2", text).lower())]


def stem(word: str) -> str:
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def tool(server: str, name: str, text: str, arguments: str) -> Tool:
    weights: dict[str, float] = {}
    for part, weight in ((name, NAME), (text, TEXT), (server, SERVER), (arguments, ARGUMENT)):
        for word in words(part):
            weights[word] = max(weights.get(word, 0.0), weight)
    return Tool(tuple(words(name)), weights, "deprecated" in text.lower())


@lru_cache(maxsize=1)
def alikes() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for line in ALIKES:
        group = frozenset(map(stem, line.split()))
        for word in group:
            found[word] = found.get(word, frozenset()) | group
    return found


def query(text: str) -> list[str]:
    """The words that count, each once; all, when none does."""
    plain = WORD.findall(HUMP.sub(r"\1\3 \2", text).lower())
    wanted = [stem(word) for word in plain if word not in IDLE] or [stem(word) for word in plain]
    return list(dict.fromkeys(wanted))


def weight_of(of: Tool, word: str) -> float:
    best = of.weights.get(word, 0.0)
    for other in alikes().get(word, ()):
        best = max(best, ALIKE * of.weights.get(other, 0.0))
    return best


def score(tools: Sequence[Tool], text: str) -> list[float]:
    """How well each fits; 0.0: not at all."""
    wanted = query(text)
    scores = [0.0] * len(tools)
    covered = [0.0] * len(tools)
    whole = 0.0
    for word in wanted:
        weights = [weight_of(one, word) for one in tools]
        having = sum(weight > 0 for weight in weights)
        rarity = math.log(1 + len(tools) / having) if having else 0.0
        whole += rarity
        for i, weight in enumerate(weights):
            scores[i] += weight * rarity
            covered[i] += rarity * min(1.0, weight)
    return [
        value * (covered[i] / whole) ** COVERED * shape(tools[i], wanted) if value else 0.0
        for i, value in enumerate(scores)
    ]


def shape(of: Tool, wanted: Iterable[str]) -> float:
    """What the form of a tool's name says, beside its words."""
    known = {other for word in wanted for other in (word, *alikes().get(word, ()))}
    others = sum(word not in known for word in of.name)
    first = FIRST if of.name and of.name[0] in known else 1.0
    return first * (DEPRECATED if of.deprecated else 1.0) / (1 + OTHERS * others)
