"""Tables of HTML as text: rows as lines, cells in columns."""

from __future__ import annotations

from html.parser import HTMLParser

HTML_MAX = 1 << 20  # characters; a longer document is no table that somebody reads
WIDTH_MAX = 40  # characters that a column is filled up to
HIDDEN = ("head", "script", "style", "svg")


class _Rows(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tables = 0
        self._cell: list[str] | None = None
        self._span = 1
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A row or a cell begins."""
        if tag in HIDDEN:
            self._hidden += 1
        elif tag == "table":
            self.tables += 1
        elif tag in ("tr", "caption"):
            self.end_cell()
            self.rows.append([])
        if tag in ("td", "th", "caption"):
            self.end_cell()
            self._cell = []
            span = dict(attrs).get("colspan") or "1"
            self._span = min(int(span), 100) if span.isdecimal() else 1

    def handle_endtag(self, tag: str) -> None:
        """A cell ends, or what nobody sees."""
        if tag in HIDDEN:
            self._hidden -= 1
        elif tag in ("td", "th", "caption", "tr", "table"):
            self.end_cell()

    def handle_data(self, data: str) -> None:
        """Text of a cell."""
        if self._cell is not None and self._hidden <= 0:
            self._cell.append(data)

    def end_cell(self) -> None:
        """The cell is whole, if one has begun."""
        if self._cell is None:
            return
        if not self.rows:
            self.rows.append([])
        self.rows[-1] += [" ".join("".join(self._cell).split()), *[""] * (self._span - 1)]
        self._cell = None


def table_text(html: str) -> str | None:
    """The text of the tables in `html`; None where there is none, or too much."""
    if "<table" not in html or len(html) > HTML_MAX:
        return None
    parser = _Rows()
    parser.feed(html)
    parser.close()
    parser.end_cell()
    rows = [row for row in parser.rows if any(row)]
    if not rows:
        return None
    widths: dict[int, int] = {}
    for row in rows:
        if len(row) > 1 and any(row[1:]):  # a title counts for no column
            for column, text in enumerate(row):
                widths[column] = max(widths.get(column, 0), min(len(text), WIDTH_MAX))
    lines = (
        "  ".join(text.ljust(widths.get(column, 0)) for column, text in enumerate(row))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
