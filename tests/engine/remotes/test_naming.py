"""Names of remotes' tools: always such as the Messages API takes, and never twice the same."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from engine.remotes.naming import tool_names

WORDS = st.text(min_size=1, max_size=80)


def test_a_name_is_both_names_with_what_is_not_taken_left_out() -> None:
    """In the order in which they came, numbered where it is another's already."""
    offered = [("My browser", "read.page"), ("My_browser", "read/page"), ("x", "y")]
    assert tool_names(offered, {"x_y"}) == ["My_browser_read_page", "My_browser_read_page_2", "x_y_2"]


@given(st.lists(st.tuples(WORDS, WORDS), max_size=20), st.sets(st.from_regex(r"[a-z_]{1,3}", fullmatch=True)))
def test_no_two_names_are_the_same_and_all_are_taken(offered: list[tuple[str, str]], taken: set[str]) -> None:
    """Whatever remotes and their tools are called."""
    names = tool_names(offered, taken)
    assert len(names) == len(offered)
    assert len({*names, *taken}) == len(names) + len(taken)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
