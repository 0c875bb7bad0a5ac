"""What a model reads of a long transcript: when it becomes less, where it is cut, what stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.budgets import likely_tokens
from engine.compacting import FOOT, HEAD, Plan, is_input, limit_of, plan, shortened, to_sum_up, trimmed, view
from engine.compaction import OFF, Compaction
from engine.transcript import replay
from models.compaction import Compacted
from models.content import has_tool_use
from models.message import Message
from tests.support.messages_rules import blocks_of, problems
from tests.support.stored_messages import MODEL, answer, assistant, call, numbered, text, transcripts, user

TRIM = 100
SMALL = Compaction(trim=TRIM)
WORDS = "word " * 60  # about a hundred tokens


def done(messages: Sequence[Message], what: Plan, summary: str | None = "They talked.") -> Compacted:
    """A compaction as it would be stored."""
    said = summary if what.summed_to else None
    return Compacted("cmp_1", "run_1", messages[-1].seq, what.trimmed_to, what.summed_to, said, None, 0, 0, 0)


def planned(messages: Sequence[Message], before: Compacted | None = None, **values: Any) -> Plan | None:
    """What is to be done where the limit is far below."""
    size = likely_tokens(view(messages, before, TRIM))
    given: dict[str, Any] = {"size": likely_tokens, "before": size, "limit": size // 2, "keep": size // 4, **values}
    return plan(messages, before, SMALL, **given)


def turn(number: int, words: str = WORDS) -> list[Message]:
    """A turn of one call."""
    identifier = f"toolu_{number}"
    return [
        user(f"input {number} {words}"),
        assistant([call(identifier)], "tool_use"),
        user([answer(identifier, "noted")]),
        assistant([text(f"answer {number} {words}")]),
    ]


def turns(count: int, *more: Message) -> list[Message]:
    """So many turns, and further messages."""
    return numbered([message for number in range(count) for message in turn(number)] + list(more))


def test_older_turns_are_summed_up_and_recent_ones_stay() -> None:
    """As many of the newest as the share to keep holds, whole; the cut begins with what the user said."""
    messages = turns(8, user("and now?"))
    what = planned(messages)
    assert what is not None
    shown = view(messages, done(messages, what), TRIM)
    assert [message.seq for message in shown[1:]] == list(range(what.summed_to + 1, 34))
    assert is_input(shown[1])
    assert 1 < len(shown[1:]) < 12
    assert likely_tokens(shown[1:]) <= likely_tokens(messages) // 4


def test_the_summary_is_a_users_message_that_says_what_it_is() -> None:
    """The model can tell it from what the user has said."""
    messages = turns(8, user("and now?"))
    what = planned(messages)
    assert what is not None
    first = replay(view(messages, done(messages, what), TRIM), MODEL)[0]
    assert first["role"] == "user"
    assert blocks_of(first)[0]["text"] == f"{HEAD}\n\nThey talked.\n\n{FOOT}"


def test_the_last_turn_stays_also_where_it_is_more_than_the_share_to_keep() -> None:
    """As long as it fits at all."""
    messages = turns(4)
    what = planned(messages, keep=1, limit=likely_tokens(messages) // 2)
    assert what is not None
    assert what.summed_to == 12
    assert [message.seq for message in view(messages, done(messages, what), TRIM)][1:] == [13, 14, 15, 16]


def test_a_turn_that_is_too_long_itself_is_cut_before_an_answer_and_keeps_its_input() -> None:
    """The steps that are done are summed up; what is asked for stays word by word, and the newest steps stay."""
    steps = [
        message
        for number in range(9)
        for message in (
            assistant([text(WORDS), call(f"toolu_{number}")], "tool_use"),
            user([answer(f"toolu_{number}", WORDS)]),
        )
    ]
    messages = numbered([*turn(90), user("Do it all."), *steps])
    what = planned(messages)
    assert what is not None
    shown = view(messages, done(messages, what), TRIM)
    assert shown[1].content == "Do it all."
    assert has_tool_use(shown[2].content)
    request = replay(shown, MODEL)
    assert problems(request) == []
    assert [block["type"] for block in blocks_of(request[0])] == ["text", "text"]
    later = planned(messages, done(messages, what))
    assert later is None or later.summed_to > what.summed_to
    if later is not None:
        assert view(messages, done(messages, later), TRIM)[1].content == "Do it all."


def test_long_results_of_older_turns_are_shortened_first() -> None:
    """Where that is enough, nothing is summed up; those of the last turn stay."""
    long = "x" * 3_000
    older = [user("a"), assistant([call("t1")], "tool_use"), user([answer("t1", long)]), assistant([text("b")])]
    newer = [user("c"), assistant([call("t2")], "tool_use"), user([answer("t2", long)])]
    messages = numbered([*older, *newer])
    what = planned(messages, limit=likely_tokens(messages) - 100)
    assert what == Plan(4, 0)
    shown = view(messages, done(messages, what), TRIM)
    results = [blocks_of({"content": message.content})[0]["content"] for message in (shown[2], shown[6])]
    assert (len(results[0]) < 200, results[1]) == (True, long)
    assert messages[2].content == [answer("t1", long)], "what is stored stays as it is"
    again = planned(messages, done(messages, what), limit=likely_tokens(shown) - 100)
    assert again != what


def test_of_a_single_turn_all_but_the_newest_results_are_shortened() -> None:
    """They are what the model has not answered yet."""
    long = "x" * 6_000
    steps = [
        message for i in range(3) for message in (assistant([call(f"t{i}")], "tool_use"), user([answer(f"t{i}", long)]))
    ]
    messages = numbered([user("go"), *steps])
    what = planned(messages, limit=likely_tokens(messages) // 2)
    assert what == Plan(6, 0)
    lengths = [
        len(blocks_of({"content": m.content})[0]["content"]) for m in view(messages, done(messages, what), TRIM)[2::2]
    ]
    assert (max(lengths[:2]) < 300, lengths[2]) == (True, 6_000)


def test_where_nothing_can_be_cut_nothing_is_done() -> None:
    """A first input, however long, stays."""
    assert planned(numbered([user(WORDS * 50)])) is None
    assert planned(numbered([user(WORDS * 50), assistant([call()], "tool_use"), user([answer()])])) is None


def test_a_refused_request_is_summed_up_whatever_shortening_would_save() -> None:
    """The estimate was wrong, so it is not relied on."""
    long = "x" * 3_000
    first = [user("a"), assistant([call("t1")], "tool_use"), user([answer("t1", long)]), assistant([text("b")])]
    messages = numbered([*first, user("c")])
    limit = likely_tokens(messages) * 10
    assert planned(messages, limit=limit, must_sum_up=True) == Plan(4, 4)


def test_the_limit_leaves_room_for_an_answer_where_that_can_be() -> None:
    """The share of the context, or less where an answer may be long; never next to nothing."""
    assert limit_of(Compaction(), 200_000, 8_192) == 160_000
    assert limit_of(Compaction(), 200_000, 64_000) == 136_000
    assert limit_of(Compaction(), 10_000, 8_192) == 8_000


def test_a_shortened_text_keeps_both_ends_and_says_how_much_is_missing() -> None:
    """In characters."""
    text_ = "a" * 500 + "b" * 500
    short = shortened(text_, 100)
    assert short.startswith("a" * 75 + "\n[900 characters are left out")
    assert short.endswith("b" * 25)
    assert shortened("short", 100) == "short"


def test_what_is_summed_up_is_told_as_a_text() -> None:
    """What was summed up before, then who said what, calls with their arguments, results with their errors."""
    messages = numbered(
        [
            user("old"),
            assistant([text("old too")]),
            user([{"type": "image", "source": {"type": "base64"}}, text("See?")]),
            assistant(
                [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    text("I look."),
                    call("t", "look", {"at": 1}),
                ]
            ),
            user([answer("t", "x" * 1_000, is_error=True)]),
            assistant([text("not yet")]),
        ]
    )
    before = done(messages, Plan(0, 2), "They met.")
    told = to_sum_up(messages, before, 5, TRIM)
    assert "Summary of what came before:\nThey met." in told
    assert "old" not in told
    assert "not yet" not in told
    assert "hm" not in told
    lines = told.split("\n\n")
    assert lines[3:6] == ["User: [image]", "User: See?", "Assistant: I look."]
    assert lines[6] == 'Assistant calls look: {"at":1}'
    assert lines[7].startswith("Result (an error): xxx")
    assert len(lines[7]) < 300


@given(transcripts, st.integers(1, 200), st.integers(1, 200), st.booleans())
def test_whatever_is_stored_the_provider_accepts_what_is_shown(
    stored: list[Message], limit: int, keep: int, must: bool
) -> None:
    """However often it is compacted; each time reaches further, and every message is shown or summed up."""
    messages, before = list(stored), None
    for _ in range(3):
        if not messages:
            return
        what = planned(messages, before, limit=limit, keep=keep, must_sum_up=must)
        if what is None:
            break
        had = (before.summed_to, before.trimmed_to) if before is not None else (0, 0)
        assert (what.summed_to, what.trimmed_to) > had
        assert what.summed_to >= had[0]
        assert what.trimmed_to >= had[1]
        assert what.summed_to < messages[-1].seq
        before = done(messages, what)
        shown = view(messages, before, TRIM)
        assert {message.seq for message in shown} >= set(range(what.summed_to + 1, messages[-1].seq + 1))
        paused = any(message.stop_reason == "pause_turn" for message in messages)
        assert problems(replay(shown, MODEL), paused=paused) == []


@given(st.lists(st.sampled_from(["call", "calls", "say", "steer"]), min_size=1, max_size=25), st.integers(1, 400))
def test_no_call_is_parted_from_its_result(story: list[str], keep: int) -> None:
    """Of runs as they are: whatever comes after what, and however little may stay."""
    messages = numbered([message for number, kind in enumerate(story) for message in _told(number, kind)])
    what = planned(messages, keep=keep, must_sum_up=True)
    if what is None or not what.summed_to:
        return
    assert not has_tool_use(messages[what.summed_to - 1].content)
    first = messages[what.summed_to]
    assert is_input(first) or has_tool_use(first.content) or first.role.value == "ASSISTANT"


def _told(number: int, kind: str) -> list[Message]:
    if kind == "say":
        return [user(f"say {number}"), assistant([text(WORDS)])]
    ids = [f"toolu_{number}_{index}" for index in range(1 + (kind == "calls"))]
    results: list[dict[str, Any]] = [answer(one, WORDS) for one in ids]
    if kind == "steer":
        results.append(text("and more"))
    first = [user("go")] if number == 0 else []
    return [*first, assistant([call(one) for one in ids], "tool_use"), user(results)]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"at": 1.5}, "shares"),
        ({"at": -0.1}, "shares"),
        ({"at": True}, "shares"),
        ({"at": float("nan")}, "shares"),
        ({"at": 0.2, "keep": 0.2}, "the smaller one"),
        ({"trim": 0}, "trim is a whole number"),
        ({"context_tokens": 1.5}, "context_tokens is a whole number"),
        ({"model": " "}, "model's name"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(values: dict[str, Any], words: str) -> None:
    """When it is written."""
    with pytest.raises(ValueError, match=words):
        Compaction(**values)
    assert OFF.at == 0


def test_what_is_no_long_result_is_not_touched() -> None:
    """Inputs and answers stay as they were said, however long they are."""
    for message in (user("x" * 9_000), user([text("x" * 9_000)]), assistant([text("x" * 9_000)])):
        assert trimmed(message, TRIM) is message
    short = user([answer("t", "x" * (2 * TRIM))])
    assert trimmed(short, TRIM) is short
    odd = replace(short, content=[answer("t", [text("x")]), "junk"])
    assert trimmed(odd, TRIM) is odd
