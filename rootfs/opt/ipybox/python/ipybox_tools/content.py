"""What a tool call returns.

A tool's result is a list of content blocks, and perhaps a structured value. Code gets what it can
use at once: the structured value as ToolData (a dict), else the texts as ToolOutput (a str), else
None. Blocks that are no text are in ``.content`` of both.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True)
class TextContent:
    text: str


@dataclass(frozen=True)
class ImageContent:
    """IPython shows it."""

    data: bytes = field(repr=False)
    mime_type: str

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {self.mime_type: b64encode(self.data).decode(), "text/plain": repr(self)}

    def _repr_png_(self) -> bytes | None:
        return self.data if self.mime_type == "image/png" else None


@dataclass(frozen=True)
class AudioContent:
    data: bytes = field(repr=False)
    mime_type: str


@dataclass(frozen=True)
class ResourceLink:
    """Something that the server can be asked for; `size` is in bytes."""

    uri: str
    name: str = ""
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class EmbeddedResource:
    """Something that came along: either `text` or `data`."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class OtherContent:
    """A block of a kind that is not known here, or that is broken, as it came."""

    block: Mapping[str, Any]


ContentBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource | OtherContent
)


class ToolOutput(str):
    """The texts of a result, joined by line breaks, and in `content` all of its blocks."""

    content: tuple[ContentBlock, ...]

    def __new__(cls, text: str = "", content: Sequence[ContentBlock] | None = None) -> ToolOutput:
        self = super().__new__(cls, text)
        self.content = (TextContent(text),) if content is None else tuple(content)
        return self

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str] | None:
        """Shows the first image beside the text; None: an ordinary text."""
        for block in self.content:
            if isinstance(block, ImageContent):
                return block._repr_mimebundle_() | {"text/plain": repr(self)}
        return None


class ToolData(dict[str, Any]):
    """A structured result, and in `content` all blocks if one of them is no text."""

    content: tuple[ContentBlock, ...] = ()


def result_of(answer: Mapping[str, Any]) -> Any:
    """The value for an answer ``{"result", "content"}``."""
    result = answer["result"]
    raw = answer.get("content")
    blocks = None if raw is None else tuple(map(block_of, raw))
    if isinstance(result, str):
        return ToolOutput(result, blocks)
    if blocks and result is None:
        return ToolOutput("", blocks)
    if blocks and isinstance(result, dict):
        result = ToolData(result)
        result.content = blocks
    return result


def block_of(raw: Any) -> ContentBlock:
    """A block from its JSON form. Never fails: what makes no sense is kept as OtherContent."""
    try:
        block: ContentBlock = _MAKERS[raw["type"]](raw)
        return block
    except (KeyError, TypeError, ValueError):
        return OtherContent(raw)


def _resource(raw: Mapping[str, Any]) -> EmbeddedResource:
    fields = raw["resource"]
    blob = fields.get("blob")
    return EmbeddedResource(
        fields["uri"],
        fields.get("mimeType"),
        fields.get("text"),
        None if blob is None else b64decode(blob),
    )


def _link(raw: Mapping[str, Any]) -> ResourceLink:
    given = (raw.get(name) for name in ("title", "description", "mimeType", "size"))
    return ResourceLink(raw["uri"], raw.get("name", ""), *given)


_MAKERS: dict[str, Any] = {
    "text": lambda raw: TextContent(raw["text"]),
    "image": lambda raw: ImageContent(b64decode(raw["data"]), raw["mimeType"]),
    "audio": lambda raw: AudioContent(b64decode(raw["data"]), raw["mimeType"]),
    "resource": _resource,
    "resource_link": _link,
}
