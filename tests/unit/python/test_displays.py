"""What displays add to their text: tables, and widgets in their last state."""

from __future__ import annotations

from box import Kernel
from ipybox_kernel.displays import TABLE, WIDGET, says_nothing, widget_text
from ipybox_kernel.tables import table_text


def test_a_table_of_html_is_rows_and_columns() -> None:
    html = (
        "<style>td {}</style><table><caption>Title of it</caption>"
        "<tr><th></th><th>a</th><th colspan=2>b &amp; c</th></tr>"
        "<tr><th>row <b>one</b></th><td>1</td><td>2</td><td>3</td></tr><tr></tr></table>"
    )
    assert table_text(html) == "Title of it\n         a  b & c\nrow one  1  2      3"


def test_what_is_no_table_has_no_text() -> None:
    assert table_text("<b>x</b>") is None
    assert table_text("<table></table>") is None
    assert table_text("<table><tr><td>x" + "y" * (1 << 20)) is None
    assert table_text("<table><tr><td>not ended<td>either") == "not ended  either"


def test_texts_that_say_nothing_are_known() -> None:
    for text in "<a.B object at 0x7f01>", "<IPython.core.display.HTML object>", "alt.Chart(...)":
        assert says_nothing(None, text)
    for text in "<Axes: >", "   a\n0  1", "[<a.B object at 0x7f01>]", "f(1)":
        assert not says_nothing(None, text)


def test_an_object_with_a_table_has_one_more_form(kernel: Kernel) -> None:
    cell = kernel.run(
        "class T:\n"
        "  def _repr_html_(self): return '<table><tr><td>1</td><td>2</td></tr></table>'\n"
        "T()"
    )
    data = cell.of("execute_result")[0].content["data"]
    assert data[TABLE] == "1  2"
    assert "<__main__.T" in data["text/plain"]
    assert TABLE not in kernel.run("1").of("execute_result")[0].content["data"]


def test_a_frame_that_is_drawn_keeps_its_text_and_is_marked_as_a_table(kernel: Kernel) -> None:
    kernel.run(
        "class Frame:\n"
        "  def __repr__(self): return '│ 1 │'\n"
        "  def _repr_html_(self): return '<table><tr><td>1</td></tr></table>'\n"
    )
    for module in "polars.dataframe.frame", "_duckdb":
        data = kernel.run(f"Frame.__module__ = '{module}'\nFrame()").of("execute_result")[0]
        assert data.content["data"]["text/plain"] == data.content["data"][TABLE] == "│ 1 │"
    plain = kernel.run("Frame.__module__ = 'pandas'\nFrame()").of("execute_result")[0]
    assert TABLE not in plain.content["data"]


def test_a_widget_is_told_once_more_when_it_has_changed(kernel: Kernel) -> None:
    kernel.run(
        "import sys, types\n"
        "module = sys.modules['ipywidgets.widgets.widget'] = types.ModuleType('widget')\n"
        "module._instances = {}\n"
        "class Widget:\n"
        "  comm = 1\n"
        "  def __init__(self, text): self.text = text; module._instances[str(id(self))] = self\n"
        "  def __repr__(self): return self.text\n"
        "  def _repr_mimebundle_(self, **_):\n"
        f"    return {{'text/plain': self.text, '{WIDGET}': {{'model_id': str(id(self))}}}}"
    )
    cell = kernel.run("w = Widget('0%'); display(w); display(Widget('same')); w.text = '100%'")
    updates = [message.content for message in cell.of("update_display_data")]
    assert [update["data"]["text/plain"] for update in updates] == ["100%"]
    shown = cell.of("display_data")[0].content
    assert updates[0]["transient"] == shown["transient"]
    assert kernel.run("w.text = 'later'").of("update_display_data") == []
    closed = kernel.run("w = Widget('bar'); display(w); w.comm = None")
    assert closed.of("update_display_data")[0].content["data"]["text/plain"] == ""


class _Part:
    def __init__(self, value: object, most: float = 0) -> None:
        self.value, self.min, self.max = value, 0, most


class _Box:
    comm = object()
    children = (_Part("steps:\u2007100%"), _Part(5, 10), _Part("<b> 5/10 </b>"))

    def __repr__(self) -> str:
        raise ReferenceError


def test_a_bar_that_cannot_be_asked_is_put_together_of_its_parts() -> None:
    assert widget_text(_Box()) == "steps: 100%|█████     | 5/10"
