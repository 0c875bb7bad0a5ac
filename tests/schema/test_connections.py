"""Pages: what may be asked for, and cursors that belong to one list."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as some

from models.page import Slice, Window
from schema.connections import Page, Paging, encode_cursor, window_of
from schema.errors import BadUserInput


async def no_count() -> int:
    """Not to be called."""
    raise AssertionError


def test_fifty_items_from_the_start_where_nothing_is_asked_for() -> None:
    """Lists have a size that suits a screen."""
    assert window_of("runs", Paging()) == Window(size=50)


@pytest.mark.parametrize(
    ("paging", "window"),
    [
        (Paging(first=1), Window(size=1)),
        (Paging(first=100), Window(size=100)),
        (Paging(last=7), Window(size=7, backward=True)),
        (Paging(first=2, after=encode_cursor("runs", "run_a")), Window(size=2, after="run_a")),
        (Paging(last=2, before=encode_cursor("runs", "run_b")), Window(size=2, backward=True, before="run_b")),
        (Paging(before=encode_cursor("runs", "run_b")), Window(size=50, before="run_b")),
    ],
)
def test_arguments_become_a_window(paging: Paging, window: Window) -> None:
    """`first` reads from the start, `last` from the end, cursors bound both."""
    assert window_of("runs", paging) == window


@pytest.mark.parametrize(
    "paging",
    [
        Paging(first=0),
        Paging(first=-1),
        Paging(first=101),
        Paging(last=0),
        Paging(last=101),
        Paging(first=1, last=1),
        Paging(after=""),
        Paging(after="?"),
        Paging(after="é"),
        Paging(before="cnVuczo"),
        Paging(after=encode_cursor("messages/run_1", "3")),
        Paging(after=encode_cursor("runs", "run_\x00")),
        Paging(after=encode_cursor("runs", "x" * 65)),
        Paging(after=encode_cursor("runs", "1" * 19)),
        Paging(after=encode_cursor("runs", "-1")),
        Paging(after=base64.b64encode(b"\xff\xfe").decode()),
    ],
)
def test_what_makes_no_page_is_bad_user_input(paging: Paging) -> None:
    """Sizes out of range, both ends at once, and cursors that this list never gave."""
    with pytest.raises(BadUserInput):
        window_of("runs", paging)


@given(some.from_regex(r"[a-z][a-z0-9_]{0,63}|[0-9]{1,18}", fullmatch=True))
def test_a_cursor_comes_back_as_its_position(position: str) -> None:
    """What a list gave, it takes."""
    assert window_of("messages/run_1", Paging(after=encode_cursor("messages/run_1", position))).after == position


@pytest.mark.parametrize("size", range(4))
def test_a_page_names_its_first_and_last_cursor(size: int) -> None:
    """An empty page has neither; on a page of one they are the same."""
    positions = [f"run_{number}" for number in range(size)]
    page = Page("runs", Slice(list(positions), positions, has_next=True, has_previous=False), no_count)
    assert page.page_info.start_cursor == (page.edges[0].cursor if size else None)
    assert page.page_info.end_cursor == (page.edges[-1].cursor if size else None)
    assert (page.page_info.has_next_page, page.page_info.has_previous_page) == (True, False)
    assert [edge.node for edge in page.edges] == page.nodes == positions
