"""What the runs are about."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.stories import (
    AGAIN,
    APPRENTICE,
    ASKED,
    ONCE,
    Cancel,
    Decide,
    NoStory,
    Steer,
    Story,
    handed_on,
    spoken,
    story_of,
)

WORDS = 8


def told(story: Story) -> list[dict[str, Any]]:
    """The messages of the story's first turn, as a provider would have them at the end."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": story.opening}]
    while True:
        answer = spoken(messages, WORDS)
        blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
        messages.append({"role": "assistant", "content": blocks})
        if answer.call is None:
            return messages
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": answer.call[0], "input": answer.call[1]})
        results = [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done"}]
        messages.append({"role": "user", "content": results})


@pytest.mark.parametrize("number", range(1, 9))
def test_a_story_has_three_steps_and_two_calls(number: int) -> None:
    """Each run has three answers, of which the first two call one tool each, one of them the one that may run again."""
    story = story_of(number, "1", WORDS)
    messages = told(story)
    assert [message["role"] for message in messages] == ["user", "assistant"] * 3
    calls = [block["name"] for message in messages for block in message["content"] if "name" in block]
    assert tuple(calls) == story.tools
    (other,) = set(calls) - {AGAIN}
    assert (AGAIN in calls, other) == (True, {4: ASKED, 6: APPRENTICE}.get(number, ONCE))


@pytest.mark.parametrize(("number", "first"), [(6, ONCE), (16, ASKED), (26, ONCE)])
def test_a_story_that_is_handed_on_is_a_story(number: int, first: str) -> None:
    """Of three steps and two calls, of which the first waits for a person in one of three."""
    task = spoken([{"role": "user", "content": story_of(number, "1", WORDS).opening}], WORDS)
    opening = handed_on(number)
    assert task.call is None or task.call[0] in (AGAIN, APPRENTICE)
    below = spoken([{"role": "user", "content": opening}], WORDS)
    assert below.call is not None
    assert below.call[0] == first


def test_a_step_that_is_asked_again_is_answered_alike() -> None:
    """What the model says follows from the messages alone; no two steps say the same."""
    messages = told(story_of(3, "1", WORDS))
    texts = []
    for place in (1, 3, 5):
        assert spoken(messages[:place], WORDS) == spoken(messages[:place], WORDS)
        texts.append(spoken(messages[:place], WORDS).text)
    assert len(set(texts)) == 3


def test_a_later_input_is_answered_in_one_step() -> None:
    """A new turn calls no tools, so that a run ends soon after it was steered."""
    messages = [*told(story_of(3, "1", WORDS)), {"role": "user", "content": "go on"}]
    assert spoken(messages, WORDS).call is None


def test_an_input_among_results_goes_on_with_the_turn() -> None:
    """An input that is folded in behind results leaves the turn's steps as they are."""
    messages = told(story_of(3, "1", WORDS))[:3]
    before = spoken(messages, WORDS)
    messages[2]["content"].append({"type": "text", "text": "go on"})
    assert spoken(messages, WORDS) == before


def test_others_messages_are_no_story() -> None:
    """A transcript that lost its beginning is told apart."""
    with pytest.raises(NoStory):
        spoken([{"role": "user", "content": "go on"}], WORDS)


def test_the_stories_differ() -> None:
    """Of ten stories some are steered, one by an interrupt, and one is cancelled; the seed decides where."""
    deeds = [deed for number in range(10) for deed in story_of(number, "1", WORDS).deeds]
    assert sum(isinstance(deed, Steer) for deed in deeds) == 3
    assert sum(isinstance(deed, Steer) and deed.interrupts for deed in deeds) == 1
    assert sum(isinstance(deed, Cancel) for deed in deeds) == 1
    assert sum(isinstance(deed, Decide) for deed in deeds) == 1
    assert sum(story_of(number, "1", WORDS).budget is not None for number in range(10)) == 1
    assert [story_of(number, "1", WORDS) for number in range(10)] != [story_of(n, "2", WORDS) for n in range(10)]
