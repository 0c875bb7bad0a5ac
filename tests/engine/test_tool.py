"""Tools: what a model is told of a function, and which functions are refused."""

from __future__ import annotations

import enum
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field

import steersman
from engine.context import Context
from engine.tool import Tool, tool

if TYPE_CHECKING:
    from asyncio import Event as Pool


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Place(BaseModel):
    """Where."""

    title: str
    near: list[Place] = []


@dataclass
class Size:
    width: int
    height: int


def schema_of(made: Tool[..., Any]) -> dict[str, Any]:
    """The schema that the model is sent."""
    return dict(made.definition()["input_schema"])


@tool
def search(ctx: Context[Pool], query: str, limit: Annotated[int, Field(ge=1, le=20)] = 5) -> list[str]:
    """Search the library.

    In all of its pages.

    Args:
        query: what to look for,
            in plain words.
        limit: how many at most.
    """
    return [query] * limit


# What a model is told


def test_a_signature_and_its_docstring_are_the_definition() -> None:
    """Name, description and schema come from the function alone, and the context is in none of them."""
    assert search.definition() == {
        "name": "search",
        "description": "Search the library.\n\nIn all of its pages.",
        "input_schema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "what to look for, in plain words."},
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 20,
                    "default": 5,
                    "description": "how many at most.",
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    }
    assert search.warnings == ()


def numpy_style(query: str) -> str:
    """Search.

    Parameters
    ----------
    query : str
        what to look for
    """
    return query


def sphinx_style(query: str) -> str:
    """Search.

    :param query: what to look for
    :returns: what was found
    """
    return query


@pytest.mark.parametrize("function", [numpy_style, sphinx_style])
def test_docstrings_of_every_usual_style_are_read(function: Callable[..., Any]) -> None:
    """NumPy's and Sphinx's styles give the same as Google's."""
    made = tool(function)
    assert made.description == "Search."
    assert schema_of(made)["properties"]["query"]["description"] == "what to look for"


def test_what_the_decorator_is_given_goes_before_what_the_function_says() -> None:
    """Name and description can be given, and the limits are kept as given."""

    @tool(name="find-it", description="Finds it.", timeout=0, max_result_chars=10, on_crash="retry")
    def search(query: Annotated[str, Field(description="its own words")]) -> str:
        """Search.

        Args:
            query: the docstring's words.
        """
        return query

    assert (search.name, search.description) == ("find-it", "Finds it.")
    assert (search.timeout, search.max_result_chars, search.on_crash) == (0, 10, "retry")
    assert schema_of(search)["properties"]["query"]["description"] == "its own words"


def test_the_usual_limits_are_a_minute_and_64_ki_characters() -> None:
    """A tool that says nothing is bounded, and is reported after a crash rather than repeated."""
    assert (search.timeout, search.max_result_chars, search.on_crash) == (60, 65_536, "report")


def test_every_usual_type_has_a_schema() -> None:
    """Enums, literals, optionals, nested models, dataclasses, dates and lists of objects are all described."""

    @tool
    def everything(
        colour: Colour,
        word: Literal["a", "b"],
        place: Place,
        size: Size,
        day: date,
        rows: list[dict[str, Any]],
        plain_rows: list[dict],  # type: ignore[type-arg]  # as authors write it
        maybe: Optional[int] = None,  # noqa: UP045  # the old spelling must work too
        price: Decimal = Decimal("1.5"),
    ) -> None:
        """All of it."""

    schema = schema_of(everything)
    json.dumps(schema)
    assert schema["type"] == "object"
    assert schema["properties"]["word"] == {"enum": ["a", "b"], "type": "string"}
    assert schema["properties"]["rows"]["items"] == {"type": "object", "additionalProperties": True}
    assert schema["properties"]["maybe"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert set(schema["$defs"]) == {"Colour", "Place", "Size"}
    assert schema["required"] == ["colour", "word", "place", "size", "day", "rows", "plain_rows"]


def test_made_up_titles_are_left_out_and_arguments_named_title_are_kept() -> None:
    """Titles only repeat names; a property of that name is the author's."""

    @tool
    def name_it(title: str, place: Place) -> None:
        """Name it."""

    schema = schema_of(name_it)
    assert schema["properties"]["title"] == {"type": "string"}
    assert set(schema["$defs"]["Place"]["properties"]) == {"title", "near"}
    assert "title" not in schema
    assert "title" not in schema["$defs"]["Place"]
    assert schema["$defs"]["Place"]["properties"]["title"] == {"type": "string"}


def test_a_tool_without_arguments_has_a_plain_object_schema() -> None:
    """The Messages API wants an object, even an empty one."""

    @tool
    def now() -> str:
        """Tell the time."""
        return "noon"

    assert schema_of(now) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert now.check({}) == {}


def test_arguments_may_have_names_that_pydantic_keeps_for_itself() -> None:
    """`schema`, `json`, `model_x` and `_x` are as good as any other name."""

    @tool
    def odd(schema: str, json: int, model_x: str, copy: bool, _x: int = 1) -> None:
        """Odd names."""

    checked = odd.check({"schema": "s", "json": 1, "model_x": "m", "copy": True})
    assert checked == {"schema": "s", "json": 1, "model_x": "m", "copy": True, "_x": 1}


def test_the_context_is_recognised_however_it_is_written() -> None:
    """By its class, by an attribute of the module, with dependencies in brackets, or not at all."""

    @tool
    def bare(ctx: Context, q: str) -> None:
        """Bare."""

    @tool
    def dotted(c: steersman.Context[dict[str, int]], q: str) -> None:
        """Dotted."""

    @tool
    def without(q: str) -> None:
        """Without."""

    names = [made.parameters.context for made in (search, bare, dotted, without)]
    assert names == ["ctx", "ctx", "c", None]
    assert all(list(schema_of(made)["properties"]) == ["q"] for made in (bare, dotted, without))


def test_types_that_are_local_to_a_function_are_found() -> None:
    """A tool may be defined inside a function, beside its types."""

    class Local(BaseModel):
        size: int

    @tool
    def take(one: Local) -> int:
        """Take."""
        return one.size

    assert take.check({"one": {"size": "3"}}) == {"one": Local(size=3)}


def test_a_missing_description_is_told_and_is_not_fatal() -> None:
    """What the author forgot stands in the tool's warnings, and so does a docstring that names a stranger."""

    @tool
    def vague(query: str, limit: int) -> None:
        """Vague.

        Args:
            query: what to look for.
            limits: misspelt.
        """

    @tool
    def silent() -> None: ...

    assert vague.warnings == (
        "argument 'limit' has no description",
        "its docstring describes 'limits', which it does not take",
    )
    assert silent.warnings == ("it has no description: give it a docstring",)


# What is refused


def wrong_kinds() -> list[tuple[Any, str]]:
    """Parameters that have no name for a model, and what is no function, each with what is said of it."""

    def varargs(*words: str) -> None: ...
    def keywords(**words: str) -> None: ...
    def positional(word: str, /) -> None: ...
    def generator() -> Any:
        yield 1

    return [
        (varargs, r"tool varargs: \*words can't be described"),
        (keywords, r"\*\*words can't be described"),
        (positional, "'word' is positional-only"),
        (generator, "returns its result once"),
        (search, "is a tool already"),
        (Place, "a tool is a function"),
        ({"type": "web_search_20270101", "name": "web_search"}, "the provider runs itself are refused"),
        ("search", "a tool is a function"),
    ]


def wrong_types() -> list[tuple[Any, str]]:
    """Parameters of types that can't be described, each with what is said of it."""

    def untyped(word) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001  # what is tested
    def unresolved(word: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821  # what is tested
    def late_context(word: str, ctx: Context) -> None: ...
    def optional_context(ctx: Context | None) -> None: ...
    def unwritable(word: Callable[[], int]) -> None: ...
    def no_ascii(größe: int) -> None: ...
    def bounded_wrongly(word: Annotated[str, Field(pattern="(")]) -> None: ...

    return [
        (untyped, "'word' has no type: annotate it, as in `word: str`"),
        (unresolved, "'word': its type 'Nowhere' can't be resolved"),
        (late_context, "'ctx': the Context must be the first parameter"),
        (optional_context, "'ctx': the Context must be the first parameter"),
        (unwritable, "tool unwritable: its arguments have no JSON schema"),
        (bounded_wrongly, "tool bounded_wrongly: .*regex"),
        (no_ascii, "ASCII"),
    ]


@pytest.mark.parametrize(("function", "says"), wrong_kinds() + wrong_types())
def test_what_can_not_be_a_tool_is_refused_in_words(function: Any, says: str) -> None:
    """The error says which parameter of which tool, and what to do."""
    with pytest.raises(TypeError, match=says):
        tool(function)


@pytest.mark.parametrize("name", ["", "has space", "x" * 65, "naïve", "a.b", "a\n"])
def test_a_name_is_1_to_64_letters_digits_underscores_or_hyphens(name: str) -> None:
    """Other names would be refused by the provider, at run time."""
    with pytest.raises(ValueError, match="1 to 64 letters"):
        tool(name=name)(numpy_style)


@pytest.mark.parametrize(
    "given",
    [{"timeout": -1}, {"timeout": float("nan")}, {"timeout": True}, {"max_result_chars": -1}, {"on_crash": "explode"}],
)
def test_limits_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    """A wrong limit is told when the tool is defined."""
    with pytest.raises(ValueError, match=next(iter(given))):
        tool(**given)(numpy_style)


@pytest.mark.parametrize(
    "given",
    [
        {"approval": "yes"},
        {"approvers": ""},
        {"approvers": None},
        {"expires": 0},
        {"expires": float("inf")},
        {"client": 1},
    ],
)
def test_options_of_waiting_that_make_no_sense_are_refused(given: dict[str, Any]) -> None:
    """They are told when the tool is defined, not when a call should wait."""
    with pytest.raises((TypeError, ValueError), match=next(iter(given))):
        tool(**given)(numpy_style)


def test_an_approval_is_told_without_waiting() -> None:
    """A coroutine function would always seem to say yes."""

    async def ask(arguments: dict[str, Any]) -> bool:
        return False

    with pytest.raises(TypeError, match="coroutine"):
        tool(approval=ask)(numpy_style)  # type: ignore[arg-type] # what is tested


@pytest.mark.parametrize("keyword", ["retries", "timeuot"])
def test_keywords_that_nobody_knows_are_refused(keyword: str) -> None:
    """Nothing is accepted in silence that would have no effect."""
    with pytest.raises(TypeError, match=keyword):
        tool(**{keyword: True})  # type: ignore[call-overload]  # what is tested


# The function itself


def test_methods_partials_and_objects_can_be_tools() -> None:
    """Whatever can be called and has a readable signature will do."""

    class Shop:
        def price(self, item: str, size: Size) -> str:
            """Tell a price."""
            return f"{item} {size.width}"

        async def __call__(self, item: str, size: Size) -> str:
            """Order."""
            return item

    shop = Shop()
    method = tool(shop.price)
    partial = tool(name="price_of_tea")(functools.partial(shop.price, "tea"))
    instance = tool(name="order")(shop)
    assert (method.name, method("tea", Size(1, 2))) == ("price", "tea 1")
    assert list(schema_of(partial)["properties"]) == ["size"]
    assert partial(**partial.check({"size": {"width": 1, "height": 2}})) == "tea 1"
    assert (instance.is_async, list(schema_of(instance)["properties"])) == (True, ["item", "size"])
    with pytest.raises(TypeError, match="no name of its own"):
        tool(shop)
    with pytest.raises(TypeError, match="no signature"):
        tool(str.maketrans)


async def test_a_tool_is_called_like_its_function() -> None:
    """Unit tests call it directly, with or without a context, plain or async."""

    @tool
    async def double(number: int) -> int:
        """Double it."""
        return number * 2

    assert await double(4) == 8
    assert double.is_async
    assert not search.is_async
    ctx: Context[Any] = Context(user_id="alice", run_id="r", agent="a", tool_call_id="c")
    assert search(ctx, "x", limit=2) == ["x", "x"]
