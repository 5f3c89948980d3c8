"""Displays whose text would tell nothing.

Tables:  an object with a table as HTML whose text is no more than its class and address (a Styler
         of pandas), or all that it consists of (a GreatTables), has the table's cells as one more
         form. So has a frame of DRAWN, whose text is the table already: with that form the server
         keeps the HTML in a file, too.
Widgets: a widget says what it is when it is displayed, and tells its front end of what becomes of
         it. When the cell ends, the text of each that it has displayed is sent once more if it is
         another one: a progress bar in its last state. WIDGETS_MAX of a cell.
"""

from __future__ import annotations

import dataclasses
import re
import sys
from html import unescape
from typing import Any

from ipybox_kernel.tables import table_text

TABLE = "text/vnd.ipybox.table"  # for the server; front ends show the HTML
WIDGET = "application/vnd.jupyter.widget-view+json"
WIDGETS_MAX = 200
TEXT_MAX = 2000  # characters of a widget
BAR = 10  # characters of a progress bar
DRAWN = {"polars", "duckdb"}  # packages that draw a frame for a terminal, and make HTML of it

_BARE = re.compile(r"<[^\n]* (?:object|at 0x[0-9a-f]+)[^\n]*>|[\w.]+\(\.\.\.\)")


def says_nothing(thing: object, text: str) -> bool:
    """Whether `text` names the class of `thing`, or its fields where a table was meant."""
    return bool(_BARE.fullmatch(text)) or (dataclasses.is_dataclass(thing) and len(text) > 500)


def _package(thing: object) -> str:
    return type(thing).__module__.partition(".")[0].lstrip("_")  # _duckdb is the compiled part


class Displays:
    """One per shell."""

    def __init__(self, shell: Any) -> None:
        self._format = shell.display_formatter.format
        self._publish = shell.display_pub.publish
        self._widgets: dict[str, tuple[Any, Any, str]] = {}  # by the id of the display
        shell.display_formatter.format = self.format
        shell.display_pub.publish = self.publish

    def format(self, obj: Any, *args: Any, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """As DisplayFormatter.format."""
        data, metadata = self._format(obj, *args, **kwargs)
        html, text = data.get("text/html"), data.get("text/plain")
        if not isinstance(html, str) or not isinstance(text, str):
            return data, metadata
        if says_nothing(obj, text):
            table = table_text(html)
            if table is not None:
                data[TABLE] = table
                if not _BARE.fullmatch(text):  # it is longer than the table, and less readable
                    data["text/plain"] = object.__repr__(obj)
        elif "<table" in html and _package(obj) in DRAWN:
            data[TABLE] = text
        return data, metadata

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **kwargs: Any,
    ) -> None:
        """As DisplayPublisher.publish."""
        view = data.get(WIDGET)
        if view is not None and not update and len(self._widgets) < WIDGETS_MAX:
            transient = dict(transient or {})
            id = transient.setdefault("display_id", f"widget-{view.get('model_id')}")
            widget = _find(view.get("model_id"))
            if widget is not None:
                self._widgets[id] = (widget, view, str(data.get("text/plain", "")))
        self._publish(data, metadata, transient=transient, update=update, **kwargs)

    def tell_widgets(self) -> None:
        """The cell has ended: send the texts of widgets that have changed."""
        if not self._widgets:
            return
        shown, self._widgets = self._widgets, {}
        for id, (widget, view, before) in shown.items():
            text = widget_text(widget)[:TEXT_MAX]
            if text != before:
                data = {"text/plain": text, WIDGET: view}
                self._publish(data, {}, transient={"display_id": id}, update=True)


def _find(model: object) -> Any:
    """The widget of that id, or None."""
    module = sys.modules.get("ipywidgets.widgets.widget")
    kept = getattr(module, "_instances", None)
    if kept is None:
        kept = getattr(getattr(module, "Widget", None), "widgets", None)  # ipywidgets 7
    return kept.get(model) if isinstance(kept, dict) else None


def widget_text(widget: Any) -> str:
    """What a widget shows now; nothing when it is closed."""
    if getattr(widget, "comm", None) is None:
        return ""
    try:
        return repr(widget)
    except Exception:  # tqdm's, which asks a bar that is no more
        return "".join(_part(child) for child in getattr(widget, "children", ())).strip()


def _part(widget: Any) -> str:
    value = getattr(widget, "value", "")
    if isinstance(value, str):
        return unescape(re.sub(r"<[^>]*>", "", value)).replace("\u2007", " ")
    least, most = getattr(widget, "min", 0), getattr(widget, "max", 0)
    done = (value - least) / (most - least) if most > least else 0.0
    return f"|{'█' * round(BAR * done):{BAR}}|"
