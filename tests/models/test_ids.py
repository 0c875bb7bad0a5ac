"""Ids: they sort as they were made, and name their noun."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from models.clock import ManualClock
from models.ids import SUFFIX_LENGTH, Ids, prefix_of


def test_ids_sort_in_the_order_in_which_they_were_made() -> None:
    """Ids of one process rise, within a millisecond and over many."""
    clock = ManualClock()
    ids = Ids(clock)
    made = []
    for turn in range(2_000):
        made.append(ids("run"))
        if turn % 100 == 0:
            clock.advance(0.001)
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_rise_though_the_clock_goes_back() -> None:
    """A clock that is set back makes no id that sorts before an earlier one."""
    clock = ManualClock()
    ids = Ids(clock)
    before = ids("run")
    clock.advance(-3_600)
    assert ids("run") > before


def test_ids_of_threads_are_never_equal() -> None:
    """Many threads that make ids of one Ids get different ones."""
    ids = Ids()
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: ids("run"), range(4_000)))
    assert len(set(made)) == len(made)


def test_ids_of_two_processes_in_one_millisecond_differ() -> None:
    """The random part tells apart what two processes make at once."""
    clock = ManualClock()
    assert Ids(clock)("run") != Ids(clock)("run")


def test_the_random_part_running_over_carries_into_the_time() -> None:
    """Ids still rise where the counter within a millisecond has come to its end."""
    ids = Ids(ManualClock(1_000), lambda bits: (1 << bits) - 1)
    made = [ids("x") for _ in range(10)]
    assert made == sorted(set(made))


def test_an_id_is_a_uuid_of_version_7() -> None:
    """The suffix decodes to the version and variant bits of RFC 9562, and to the time."""
    alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
    value = 0
    for character in Ids(ManualClock(1_800_000_000_123))("run").removeprefix("run_"):
        value = value * 32 + alphabet.index(character)
    assert value >> 128 == 0
    assert (value >> 76) & 0xF == 7
    assert (value >> 62) & 0b11 == 0b10
    assert value >> 80 == 1_800_000_000_123


def test_the_prefix_of_an_id_is_its_noun() -> None:
    """What was given as the prefix is read back."""
    for noun in ("run", "msg", "call", "mdl", "str", "inp", "two_words"):
        assert prefix_of(Ids()(noun)) == noun


@given(st.text(max_size=40) | st.text("run_0123456789", min_size=28, max_size=32))
def test_other_text_names_no_noun(text: str) -> None:
    """The prefix is None, or the text ends in an underscore and 26 characters of the alphabet."""
    prefix = prefix_of(text)
    if prefix is not None:
        assert text.startswith(f"{prefix}_")
        assert len(text) == len(prefix) + 1 + SUFFIX_LENGTH
