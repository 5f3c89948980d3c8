"""Images of a cell, from its events: written once, to where they are wanted."""

from __future__ import annotations

import base64
import binascii
import secrets
from pathlib import Path
from typing import Any, NamedTuple

from ipybox.client import Event

TYPES = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "image/bmp": "bmp",
    "image/svg+xml": "svg",
}
SHOWN = ("display", "result", "update")
KEPT_MAX = 1000  # of one cell, as of the server


class _Picture(NamedTuple):
    path: Path
    display: str | None


class Pictures:
    """Takes the events of one cell. `paths` are the images that are displayed at its end, in the
    order in which they came: an updated display has its last one, and clear_output() removes all.
    Raises OSError when one cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: list[_Picture] = []
        self._clear_due = False

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [picture.path for picture in self._kept]

    def take(self, event: Event) -> None:
        """Write and remove what it says. What came after the end of a cell is not this one's."""
        if event.data.get("late"):
            return
        if event.name == "clear":
            self._clear_due = bool(event.data.get("wait"))
            if not self._clear_due:
                self._drop(self._kept)
        elif self._clear_due and event.name in (*SHOWN, "stdout", "stderr"):
            self._clear_due = False
            self._drop(self._kept)
        if event.name in SHOWN and "data" in event.data:
            self._show(event)

    def _show(self, event: Event) -> None:
        display = (event.data.get("transient") or {}).get("display_id")
        if event.name == "update":
            if display is None:
                return
            self._drop([picture for picture in self._kept if picture.display == display])
        for mime, ending in TYPES.items():
            data = event.data["data"].get(mime)
            if data is not None and len(self._kept) < KEPT_MAX:
                self._write(mime, ending, data, display)

    def _write(self, mime: str, ending: str, data: Any, display: str | None) -> None:
        try:
            whole = data.encode() if mime == "image/svg+xml" else base64.b64decode(data)
        except (AttributeError, TypeError, ValueError, binascii.Error):
            return  # not an image
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{secrets.token_hex(4)}.{ending}"
        with path.open("xb") as file:
            file.write(whole)
        self._kept.append(_Picture(path, display))

    def _drop(self, pictures: list[_Picture]) -> None:
        for picture in list(pictures):
            picture.path.unlink(missing_ok=True)
            self._kept.remove(picture)
