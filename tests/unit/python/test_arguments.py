"""What run() of a generated module takes, sends and returns."""

from __future__ import annotations

import enum
from typing import Annotated, Any, cast

import pytest
from ipybox_tools import ToolRunner
from ipybox_tools.arguments import arguments_of, hint
from ipybox_tools.jsonable import to_json
from pydantic import BaseModel, ConfigDict, Field, RootModel


class Sort(enum.Enum):
    up = "up"
    down = "down"


class File(BaseModel):
    path: str
    text: Annotated[str | None, "nullable"] = None
    size: int | None = None


class Params(BaseModel):
    model_config = ConfigDict(use_enum_values=True, populate_by_name=True)
    repo: int | None
    from_: Annotated[str | None, Field(alias="from")] = None
    level: Annotated[int | str | None, "nullable"] = 5
    tags: list[str] | None = Field(default_factory=list)
    sort: Annotated[Sort | None, Field(validate_default=True)] = Sort.up
    files: list[File] | None = None
    anything: Any | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


class Root(RootModel[Any]):
    root: dict[str, int]


class Named(BaseModel):
    params: dict[str, int] | None = None


class Result(BaseModel):
    n: int


def sent(params: Any = None, kind: type[BaseModel] = Params, **given: Any) -> dict[str, Any]:
    return arguments_of("t", kind, params, given)


def test_what_is_not_given_is_not_sent() -> None:
    assert sent(Params(repo=1)) == {"repo": 1}
    assert sent(repo=1, level=5, sort="up") == {"repo": 1, "level": 5, "sort": "up"}


def test_none_is_sent_where_the_schema_has_it_and_else_left_out() -> None:
    assert sent(Params(repo=None)) == {"repo": None}
    assert sent(repo=1, level=None, anything=None) == {"repo": 1, "level": None, "anything": None}
    assert arguments_of("t", Params, {"repo": 1, "tags": None, "sort": None, "from": None}, {}) == {
        "repo": 1
    }
    files = [{"path": "a", "text": None, "size": None}]
    assert sent(repo=1, files=files) == {"repo": 1, "files": [{"path": "a", "text": None}]}


def test_what_was_changed_afterwards_is_sent() -> None:
    params = Params(repo=1)
    assert params.tags is not None
    params.tags.append("x")
    params.level = "high"
    assert sent(params) == {"repo": 1, "level": "high", "tags": ["x"]}


def test_calls_as_they_are_guessed() -> None:
    assert sent({"repo": 1, "from": "a"}) == {"repo": 1, "from": "a"}
    assert sent(repo=1, from_="a") == {"repo": 1, "from": "a"}
    assert sent(Params(repo=1, sort=Sort.down)) == {"repo": 1, "sort": "down"}
    assert sent(kind=Open) == {}
    assert sent({"a": 1}, kind=Open) == sent(a=1, kind=Open) == {"a": 1}
    assert sent({"a": 1}, kind=Root) == sent(Root({"a": 1}), kind=Root) == {"a": 1}
    assert sent(Named(params={"a": 1}), kind=Named) == {"params": {"a": 1}}
    assert sent({"a": 1}, kind=Named) == sent({"params": {"a": 1}}, kind=Named)


@pytest.mark.parametrize(
    ("params", "given", "error", "says"),
    [
        (
            None,
            {"repository": 1},
            TypeError,
            "t takes no argument repository. Its arguments: .*repo:",
        ),
        (Params(repo=1), {"level": 2}, TypeError, "either Params or keywords"),
        ("repo", {}, TypeError, "Params, a dict or keywords are needed, not str. Its arguments"),
        (None, {"repo": "x"}, ValueError, "repo"),
        (None, {}, ValueError, "repo"),
    ],
)
def test_what_is_wrong_says_what_is_right(
    params: Any, given: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        sent(params, **given)


def test_half_a_surrogate_pair_is_an_error_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="surrogate"):
        to_json({"s": "\ud800"})
    assert to_json({"s": "\U0001f600"}) == '{"s":"\U0001f600"}'.encode()


class Answering(ToolRunner):
    """Answers without a server: what is tested here begins with the answer."""

    def __init__(self, answer: Any) -> None:
        super().__init__("x")
        self.answer = answer

    def run_sync(self, tool_name: str, tool_args: dict[str, Any]) -> Any:
        return self.answer


def test_results() -> None:
    assert Answering({"n": 1}).functions("t", Open, Result)[0]().n == 1
    assert Answering('{"n": 2}').functions("t", Open, Result)[0]().n == 2
    assert Answering("text").functions("t", Open, str)[0]() == "text"


def test_a_result_that_does_not_fit_is_returned_as_it_came() -> None:
    with pytest.warns(UserWarning, match="does not fit the tool's own schema .n: Field required"):
        result: Any = Answering({"m": 1}).functions("t", Open, Result)[0]()
    assert result == {"m": 1}


def test_an_error_has_the_signature_and_is_short() -> None:
    with pytest.raises(
        TypeError, match=r"takes no argument x\. Its arguments: \(repo: int \| None"
    ):
        sent(repo=1, x=2)
    with pytest.raises(ValueError, match=r"t: repo: Field required\. Its arguments: \(repo: int"):
        sent(level=1)
    with pytest.raises(ValueError, match=r"t: repo: Input should .* not 'x{70,}.*\. Its") as caught:
        sent(repo="x" * 1000, level=None)
    assert len(str(caught.value)) < 1000
    assert "nullable" not in str(caught.value)


def test_a_hint_has_types_without_their_bounds_and_what_is_required_first() -> None:
    class Sort(enum.Enum):
        up = "up"

    class Bounded(BaseModel):
        page: Annotated[int, Field(ge=1)] | None = 1
        sort: Sort | None = Sort.up
        names: list[str] | None = Field(default_factory=list)
        owner: Annotated[str, Field(min_length=1, pattern="^a$")]

    assert hint(Bounded) == (
        "Its arguments: (owner: str, page: int | None = 1,"
        f" sort: {Sort.__module__}.{Sort.__qualname__} | None = 'up', names: list[str] | None = [])"
    )


def test_an_older_pydantic_is_named() -> None:
    with pytest.raises(ImportError, match="need pydantic 2"):
        Answering({}).functions("t", cast("Any", object), str)
