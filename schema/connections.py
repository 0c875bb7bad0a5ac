"""Lists by pages, all alike: keyset positions as cursors, and a total that is counted only when asked for."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import strawberry

from models.page import DEFAULT_SIZE, MAX_SIZE, BadCursor, Slice, Window
from schema.context import RequestContext
from schema.errors import BadUserInput
from schema.given import given

T = TypeVar("T")
_POSITION = re.compile(r"[a-z][a-z0-9_]{0,63}|\d{1,18}", re.ASCII)  # an id, or a number that a database can hold

First = Annotated[
    int | None, strawberry.argument(description="How many items from the start, 1 to 100. Not together with `last`.")
]
After = Annotated[str | None, strawberry.argument(description="Only items behind the one with this cursor.")]
Last = Annotated[
    int | None, strawberry.argument(description="How many items from the end, 1 to 100. Not together with `first`.")
]
Before = Annotated[str | None, strawberry.argument(description="Only items ahead of the one with this cursor.")]


@strawberry.type(description="Where a page stands in its list.")
class PageInfo:
    """Whether there is more, and the cursors to ask for it."""

    has_next_page: bool = strawberry.field(description="Whether items follow behind this page.")
    has_previous_page: bool = strawberry.field(description="Whether items stand ahead of this page.")
    start_cursor: str | None = strawberry.field(
        description="The first item's cursor, for `before`; null on an empty page."
    )
    end_cursor: str | None = strawberry.field(description="The last item's cursor, for `after`; null on an empty page.")


@strawberry.type(description="One item of a list and its place there.")
class Edge(Generic[T]):
    """An item with its cursor."""

    cursor: str = strawberry.field(description="The item's place in this list, for `after` and `before`. Opaque.")
    node: T = strawberry.field(description="The item itself.")


async def _total_count(root: strawberry.Parent[Page[Any]]) -> int:
    return await root.count()


@strawberry.type(description="One page of a list.")
class Connection(Generic[T]):
    """A page as clients see it; resolvers return a `Page`."""

    edges: list[Edge[T]] = strawberry.field(description="The items of this page, each with its cursor.")
    nodes: list[T] = strawberry.field(description="The items of this page, without their cursors.")
    page_info: PageInfo = strawberry.field(description="Where this page stands in the list.")
    total_count: int = strawberry.field(
        resolver=_total_count, description="How many items the whole list has. Counted only when asked for."
    )


@dataclass(frozen=True, slots=True)
class PageEdge(Generic[T]):
    """One item of a `Page` with its cursor."""

    cursor: str
    node: T


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page as resolvers return it, read by Connection's fields: the list's own name, its rows, how to count it."""

    list_name: str
    found: Slice[T]
    count: Callable[[], Awaitable[int]]

    @property
    def nodes(self) -> list[T]:
        """The rows."""
        return self.found.rows

    @property
    def edges(self) -> list[PageEdge[T]]:
        """The rows with their cursors."""
        pairs = zip(self.found.positions, self.found.rows, strict=True)
        return [PageEdge(encode_cursor(self.list_name, position), row) for position, row in pairs]

    @property
    def page_info(self) -> PageInfo:
        """Where the page stands."""
        ends = [
            encode_cursor(self.list_name, position) for position in self.found.positions[:: max(1, len(self.nodes) - 1)]
        ]
        return PageInfo(
            has_next_page=self.found.has_next,
            has_previous_page=self.found.has_previous,
            start_cursor=ends[0] if ends else None,
            end_cursor=ends[-1] if ends else None,
        )


@dataclass(frozen=True, slots=True)
class Paging:
    """The four arguments of a list as they came; absent ones None or UNSET."""

    first: int | None = None
    after: str | None = None
    last: int | None = None
    before: str | None = None


async def page(
    context: RequestContext,
    list_name: str,
    paging: Paging,
    *,
    find: Callable[..., Slice[T]],
    count: Callable[..., int],
    of: Any,
) -> Page[T]:
    """One page of a list: `find(connection, of, window)` reads it, `count(connection, of)` counts the whole.

    `list_name` stands in the cursors, so that another list's are refused. Raises BadUserInput.
    """
    window = window_of(list_name, paging)
    try:
        found = await context.loaders.read(find, of, window)
    except BadCursor as error:
        raise BadUserInput("This cursor does not belong to this list.") from error
    return Page(list_name, found, lambda: context.loaders.read(count, of))


def window_of(list_name: str, paging: Paging) -> Window:
    """The window that the arguments ask for. Raises BadUserInput where they are not acceptable."""
    first, last = given(paging.first), given(paging.last)
    if first is not None and last is not None:
        raise BadUserInput("Give `first` or `last`, not both.")
    for name, size in (("first", first), ("last", last)):
        if size is not None and not 1 <= size <= MAX_SIZE:
            raise BadUserInput(f"`{name}` must be from 1 to {MAX_SIZE}.")
    return Window(
        size=next((size for size in (first, last) if size is not None), DEFAULT_SIZE),
        backward=last is not None,
        after=_position(list_name, paging.after),
        before=_position(list_name, paging.before),
    )


def encode_cursor(list_name: str, position: str) -> str:
    """An opaque cursor: the list's name and the position in it."""
    return base64.urlsafe_b64encode(f"{list_name}:{position}".encode()).decode().rstrip("=")


def _position(list_name: str, cursor: str | None) -> str | None:
    cursor = given(cursor)
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    name, _, position = text.rpartition(":")
    if name != list_name or not _POSITION.fullmatch(position):
        raise BadUserInput("This cursor does not belong to this list.")
    return position
