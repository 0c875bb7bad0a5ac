"""What the provider gets of a transcript, and the small questions about it."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.transcript import (
    FILLER,
    TITLE_LENGTH,
    replay,
    title_of,
    tool_uses,
)
from models.content import INTERRUPTED
from models.message import Message
from tests.support.messages_rules import problems
from tests.support.stored_messages import (
    MODEL,
    answer,
    assistant,
    call,
    from_request,
    numbered,
    text,
    thinking,
    transcripts,
    user,
)


def sent(*messages: Message, model: str = MODEL) -> list[dict[str, Any]]:
    """What is sent for these messages; it always keeps the API's rules."""
    request = replay(numbered(messages), model)
    assert problems(request, paused=messages[-1].stop_reason == "pause_turn") == []
    return request


def blocks(request: list[dict[str, Any]], index: int) -> list[dict[str, Any]]:
    """The blocks of one message of a request."""
    content: list[dict[str, Any]] = request[index]["content"]
    return content


def missing(identifier: str) -> dict[str, Any]:
    """What stands in for a result that was never stored."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": INTERRUPTED, "is_error": True}


@given(transcripts)
def test_whatever_is_stored_the_provider_accepts_what_is_sent(messages: list[Message]) -> None:
    """No list of stored messages, however odd its blocks, breaks a rule of the Messages API."""
    paused = bool(messages) and any(message.stop_reason == "pause_turn" for message in messages)
    assert problems(replay(messages, MODEL), paused=paused) == []


@given(transcripts)
def test_what_is_sent_is_sent_alike_again(messages: list[Message]) -> None:
    """Replaying what a replay gave changes nothing."""
    request = replay(messages, MODEL)
    assert replay(from_request(request), MODEL) == request


@given(transcripts)
def test_no_text_is_lost(messages: list[Message]) -> None:
    """Each text that is not blank is sent once and in its order, whatever stands around it."""
    whole = [replace(message, stop_reason=message.stop_reason or "end_turn") for message in messages]
    messages = numbered([*whole, user("last")])
    stored = [word for message in messages for word in texts_of(message.content)]
    shown = [word for message in replay(messages, MODEL) for word in texts_of(message["content"]) if word != FILLER]
    assert shown == stored


@given(transcripts)
def test_nothing_that_is_stored_is_changed(messages: list[Message]) -> None:
    """What is stored stays as it came, also when the request is changed afterwards."""
    before = copy.deepcopy(messages)
    for message in replay(messages, MODEL):
        for block in message["content"]:
            block["cache_control"] = {"type": "ephemeral"}
    assert messages == before


@given(transcripts)
def test_a_longer_transcript_begins_with_the_same_messages(messages: list[Message]) -> None:
    """What was sent once is sent alike at every later step, so that the provider's cache holds."""
    begun = numbered([user("begin"), *messages, user("and")])
    longer = numbered([*begun, assistant([text("well"), call("toolu_1")], "tool_use"), user([answer("toolu_1")])])
    request = replay(begun, MODEL)
    assert replay(longer, MODEL)[: len(request)] == request


def texts_of(content: Any) -> list[str]:
    """The texts of a message that are not blank."""
    if isinstance(content, str):
        return [content] if content.strip() else []
    blocks = content if isinstance(content, list) else []
    found = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    return [word for word in found if isinstance(word, str) and word.strip()]


def test_a_call_without_a_result_reads_as_interrupted() -> None:
    """A cancelled call gets its one result before the next input, in the same user turn."""
    request = sent(user("add"), assistant([call()], "tool_use"), user("hi"))
    assert blocks(request, 2) == [missing("toolu_1"), text("hi")]


def test_results_come_first_and_text_after() -> None:
    """A message that was queued while calls were open does not part them from their results."""
    request = sent(user("add"), assistant([call()], "tool_use"), user("wait!"), user([text("also"), answer()]))
    assert blocks(request, 2) == [answer(), text("wait!"), text("also")]


def test_all_results_of_a_step_are_one_turn_in_the_order_of_the_calls() -> None:
    """Five parallel calls have their five results in one user turn."""
    ids = [f"toolu_{number}" for number in range(5)]
    results = [user([answer(identifier, identifier)]) for identifier in reversed(ids)]
    request = sent(user("go"), assistant([call(identifier) for identifier in ids], "tool_use"), *results)
    assert [block["tool_use_id"] for block in blocks(request, 2)] == ids
    assert len(request) == 3


def test_doubled_and_orphaned_results_are_left_out() -> None:
    """A result comes once, and none comes without its call."""
    request = sent(
        user([answer("toolu_9"), text("go")]),
        assistant([call()], "tool_use"),
        user([answer(content="first"), answer(content="second"), answer("toolu_8")]),
        assistant([text("done")]),
        user([answer(content="late")]),
        user("more"),
    )
    assert [block for message in request for block in message["content"] if block["type"] == "tool_result"] == [
        answer(content="first")
    ]


@pytest.mark.parametrize("blank", ["", " ", "\n\t "])
def test_blank_text_is_not_sent(blank: str) -> None:
    """An empty text block beside a call, which the API would refuse, is left out."""
    request = sent(user("go"), assistant([text(blank), call()], "tool_use"), user([answer(), text(blank)]))
    assert request[1:] == [{"role": "assistant", "content": [call()]}, {"role": "user", "content": [answer()]}]


def test_an_empty_answer_is_not_sent() -> None:
    """An answer without content leaves the user's turns beside it as one."""
    request = sent(user("one"), assistant([]), user("two"))
    assert request == [{"role": "user", "content": [text("one"), text("two")]}]


def test_user_rows_in_a_row_are_one_turn() -> None:
    """What was left unanswered stands in one turn with what came after."""
    request = sent(user("go"), assistant([call()], "tool_use"), user([answer()]), user("never answered"), user("again"))
    assert blocks(request, 2) == [answer(), text("never answered"), text("again")]


def test_signed_thinking_is_sent_byte_for_byte() -> None:
    """Thinking goes back to the model that signed it as it came, also where only its signature came."""
    thoughts = [thinking("let me see\u2009"), thinking("", "only"), {"type": "redacted_thinking", "data": "eA=="}]
    request = sent(user("go"), assistant([*thoughts, call()], "tool_use"), user([answer()]))
    assert blocks(request, 1) == [*thoughts, call()]


@pytest.mark.parametrize("signature", [None, ""])
def test_unsigned_thinking_is_not_sent(signature: str | None) -> None:
    """Thinking that was cut before its signature came would be refused."""
    request = sent(user("go"), assistant([thinking(signature=signature), text("well")], None), user("on"))
    assert blocks(request, 1) == [text("well")]


def test_thinking_goes_to_the_model_that_thought_it() -> None:
    """On a change of model the thinking is left out, and the rest stays."""
    messages = [user("go"), assistant([thinking(), text("well")]), user("on")]
    assert blocks(sent(*messages, model="model-b"), 1) == [text("well")]
    assert blocks(sent(*messages), 1) == [thinking(), text("well")]


def test_a_dated_name_is_the_same_model() -> None:
    """A model that answers with the date of its snapshot keeps its thinking."""
    messages = [user("go"), assistant([thinking(), text("well")], model="model-a-20261001"), user("on")]
    assert blocks(sent(*messages), 1) == [thinking(), text("well")]
    assert blocks(sent(*messages, model="model-a-latest"), 1) == [thinking(), text("well")]
    assert blocks(sent(*messages, model="model-a-20261101"), 1) == [text("well")]


def test_an_answer_does_not_end_with_thinking() -> None:
    """The API refuses an answer whose last block is thinking."""
    request = sent(user("go"), assistant([text("well"), thinking()]), user("on"), assistant([thinking()]), user("on"))
    assert [len(message["content"]) for message in request] == [1, 1, 2]


def test_a_last_answer_that_was_cut_is_asked_for_again() -> None:
    """A retry does not prefill: the cut answer is left out, and the user's turn stands last."""
    assert sent(user("go"), assistant([text("I beg")], None)) == [{"role": "user", "content": [text("go")]}]


def test_an_answer_that_took_the_place_of_a_cut_one_stands_alone() -> None:
    """After a retry the model does not read the beginning of its sentence twice, at this step nor at later ones."""
    retried = [user("go"), assistant([text("I beg")], None), assistant([text("I begin.")]), user("on")]
    request = sent(*retried)
    assert blocks(request, 1) == [text("I begin.")]


def test_a_cut_answer_in_the_middle_is_kept_as_shown() -> None:
    """What was shown of a stopped answer is what the model said."""
    request = sent(user("go"), assistant([text("I beg")], None), user("shorter"))
    assert blocks(request, 1) == [text("I beg")]


def test_a_paused_answer_stays_last() -> None:
    """An answer that paused is sent again as it came, for the provider to go on with."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    assert sent(user("go"), assistant([text("let me look"), search], "pause_turn"))[-1] == {
        "role": "assistant",
        "content": [text("let me look"), search],
    }


def test_a_whole_last_answer_is_followed_by_a_turn_of_the_user() -> None:
    """The API refuses an answer that stands last; the shortest of turns follows it."""
    assert sent(user("go"), assistant([text("done")]))[-1] == {"role": "user", "content": [text(FILLER)]}


def test_a_transcript_that_begins_with_an_answer_keeps_it() -> None:
    """The API wants the user's turn first; the answer is not dropped for it."""
    request = sent(assistant([text("as I said")]), user("go on"))
    assert request[0] == {"role": "user", "content": [text(FILLER)]}
    assert blocks(request, 1) == [text("as I said")]


def test_nothing_stored_is_still_a_request() -> None:
    """Even a transcript of blanks can be sent."""
    assert sent(user(" ")) == [{"role": "user", "content": [text(FILLER)]}]


def test_ids_that_repeat_are_told_apart() -> None:
    """A provider may number its calls anew in each answer; each pair gets an id of its own."""
    turn = [
        assistant([call("call_0"), call("call_0")], "tool_use"),
        user([answer("call_0", "a"), answer("call_0", "b")]),
    ]
    request = sent(user("go"), *turn, *turn)
    pairs = [
        [(use["id"], result["content"]) for use, result in zip(blocks(request, i), blocks(request, i + 1), strict=True)]
        for i in (1, 3)
    ]
    assert pairs == [[("call_0", "a"), ("call_0_2", "b")], [("call_0_3", "a"), ("call_0_4", "b")]]


@pytest.mark.parametrize("odd", ["", "a b", "é", "x" * 100])
def test_ids_that_the_api_refuses_are_replaced_in_both(odd: str) -> None:
    """Call and result carry the same acceptable id."""
    request = sent(user("go"), assistant([call(odd)], "tool_use"), user([answer(odd)]))
    assert blocks(request, 1)[0]["id"] == blocks(request, 2)[0]["tool_use_id"] != odd


@pytest.mark.parametrize("arguments", ["{", 3, [1]])
def test_arguments_that_are_no_object_are_sent_as_an_empty_one(arguments: Any) -> None:
    """A broken call stays a call, so that its error result has one."""
    request = sent(user("go"), assistant([call(arguments=arguments)], "tool_use"), user([answer("toolu_1", "bad")]))
    assert blocks(request, 1) == [call()]


def test_unknown_blocks_are_sent_as_they_are() -> None:
    """A block of a type that is newer than this code survives."""
    odd = {"type": "novelty", "payload": {"deep": [1, None]}, "index": 3}
    assert blocks(sent(user([odd]), assistant([odd, text("x")]), user("on")), 1) == [odd, text("x")]


def test_what_the_provider_ran_stays_with_its_result() -> None:
    """A server tool's call and result stay in the answer; half of a pair is left out."""
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    request = sent(
        user("go"), assistant([use, found, text("so")]), user("on"), assistant([use, text("cut")]), user("x")
    )
    assert blocks(request, 1) == [use, found, text("so")]
    assert blocks(request, 3) == [text("cut")]


def test_a_failed_result_without_words_gets_some() -> None:
    """The API refuses an error result that says nothing."""
    request = sent(user("go"), assistant([call()], "tool_use"), user([answer(content="", is_error=True)]))
    assert blocks(request, 2)[0]["content"]


@pytest.mark.parametrize("content", [None, 7, {"type": "text"}, [None, 3, "x", {"type": None}, {"text": "untyped"}]])
def test_content_that_makes_no_sense_is_left_out(content: Any) -> None:
    """Malformed content can't make a run unusable."""
    assert sent(user("go"), assistant(content), user("on")) == [{"role": "user", "content": [text("go"), text("on")]}]


def test_tool_uses_are_told_in_order() -> None:
    """The i-th of them is the step's i-th call."""
    assert tool_uses([text("x"), call("b"), call("a")]) == [call("b"), call("a")]
    assert tool_uses("plain") == []


def test_a_title_is_one_line_cut_at_a_word() -> None:
    """A first input's beginning stands for the run."""
    assert title_of("  What is\n\nthe  weather\t? ") == "What is the weather ?"
    assert title_of("word " * 40) == "word " * 15 + "word…"
    assert title_of("x" * 200) == "x" * (TITLE_LENGTH - 1) + "…"
    assert title_of("x" * TITLE_LENGTH) == "x" * TITLE_LENGTH
    assert title_of("family \U0001f468\u200d\U0001f469") == "family \U0001f468\u200d\U0001f469"
    assert title_of("") == ""


@given(st.text(st.characters(codec=None), max_size=200))
def test_a_title_fits_and_can_be_stored(words: str) -> None:
    """Whatever the input, its title is short and holds nothing that a database or a terminal stumbles over."""
    title = title_of(words)
    assert len(title) <= TITLE_LENGTH
    assert title == title.strip()
    assert not any(c < " " or "\ud800" <= c <= "\udfff" or c == "\x7f" for c in title)
