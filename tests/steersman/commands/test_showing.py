"""What a run's events look like in a terminal."""

from __future__ import annotations

import io
from typing import Any

from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import (
    ContextCompacted,
    Failure,
    InputApplied,
    ModelFellBack,
    ReasoningDelta,
    RunResult,
    StepRestarted,
    StreamEvent,
    TextDelta,
    ToolCallFinished,
    ToolCallProgress,
    ToolCallStarted,
)
from models.usage import Usage
from steersman.commands.event_json import event_json
from steersman.commands.screen import Screen, printable
from steersman.commands.showing import AnswerAlone, Transcript, arguments_in_short, in_short


class Both(io.StringIO):
    """One terminal for both streams."""

    def isatty(self) -> bool:
        return True


def at(seq: int, step: int = 1, attempt: int = 1) -> dict[str, Any]:
    """What every event has."""
    return {"stream_id": "str_1", "seq": seq, "step": step, "attempt": attempt, "at": 1_800_000_000_000 + seq}


def result(seq: int, **more: Any) -> RunResult:
    """The end of a run that completed."""
    given: dict[str, Any] = {
        "run_id": "run_1",
        "status": RunStatus.COMPLETED,
        "finish": FinishReason.STOP,
        "text": "The end.",
        "output": None,
        "model": "m",
        "steps": 1,
        "usage": Usage(input_tokens=1200, output_tokens=34),
        "cancelled": False,
        "error": None,
    }
    return RunResult(**at(seq), **{**given, **more})


def shown(*events: StreamEvent) -> str:
    """What a terminal shows, without its colours."""
    terminal = Both()
    show = Transcript(Screen(terminal, terminal))
    for event in events:
        show(event_json(event))
    return "".join(
        part.partition("m")[2] if number else part for number, part in enumerate(terminal.getvalue().split("\x1b["))
    )


def test_text_that_comes_again_is_shown_once() -> None:
    """After a reconnection the step's text comes whole: only what is new of it is written, by UTF-16 offsets."""
    text = shown(
        TextDelta(**at(1), block=0, offset=0, text="A 🦜 "),
        TextDelta(**at(2), block=0, offset=0, text="A 🦜 says"),
        TextDelta(**at(3), block=0, offset=9, text=" hi"),
        TextDelta(**at(3), block=0, offset=0, text="A 🦜 says hi"),
    )
    assert text == "A 🦜 says hi"


def test_a_step_that_begins_again_is_shown_again() -> None:
    """With the reason, below what was shown before."""
    text = shown(
        TextDelta(**at(1), block=0, offset=0, text="Half an ans"),
        StepRestarted(**at(2, attempt=2), reason="the provider failed"),
        TextDelta(**at(3, attempt=2), block=0, offset=0, text="Whole."),
    )
    assert text == "Half an ans\nThe step begins again: the provider failed\nWhole."


def test_a_change_of_the_model_is_shown() -> None:
    """With the reason of the step that begins again."""
    text = shown(
        StepRestarted(**at(2, attempt=2), reason="the provider failed"),
        ModelFellBack(**at(3, attempt=2), from_="model-a", to="model-b", reason="the provider failed"),
        TextDelta(**at(4, attempt=2), block=0, offset=0, text="Whole."),
    )
    assert text == "The step begins again: the provider failed\nFrom model-a to model-b.\nWhole."


def test_a_conversation_that_is_shortened_is_shown() -> None:
    """With the figures."""
    text = shown(ContextCompacted(**at(1), tokens_before=170_000, tokens_after=41_000))
    assert text == "What was said before is shortened for the model: 170,000 tokens to 41,000.\n"


def test_calls_thoughts_and_the_outcome_have_lines_of_their_own() -> None:
    """In the order in which they came."""
    call: dict[str, Any] = {"tool_call_id": "call_1", "name": "search", "input": {"query": "x", "limit": 2}}
    text = shown(
        ReasoningDelta(**at(1), block=0, offset=0, text="Hm."),
        TextDelta(**at(2), block=1, offset=0, text="Let me see."),
        ToolCallStarted(**at(3), **call),
        ToolCallProgress(**at(4), tool_call_id="call_1", message="half way", fraction=0.5),
        ToolCallFinished(**at(48), **call, result="line 1\nline 2", is_error=False),
        InputApplied(**at(49), input_ids=["inp_1"], message_seq=3),
        TextDelta(**at(50, step=2), block=0, offset=0, text="Found."),
        result(51),
    )
    assert text.splitlines() == [
        "Hm.",
        "Let me see.",
        '→ search(query="x", limit=2)',
        "  half way (50%)",
        "← search 45 ms  line 1 line 2",
        "What was said meanwhile is taken up.",
        "Found.",
        "completed",
        "1 step · 1,200 tokens in, 34 out · cost unknown · run_1",
    ]


def test_a_failure_is_told_with_its_code() -> None:
    """In the words that the run's owner may read."""
    failure = Failure(ErrorCode.PROVIDER_ERROR, "The provider failed.")
    text = shown(result(1, status=RunStatus.FAILED, finish=FinishReason.ERROR, error=failure))
    assert text.splitlines()[0] == "failed: The provider failed. (PROVIDER_ERROR)"
    assert shown(result(1, finish=FinishReason.MAX_STEPS)).startswith("completed (MAX_STEPS)\n")


def test_where_the_streams_part_each_has_whole_lines() -> None:
    """Standard output is the answer alone, whatever is written to standard error between its parts."""
    out, notes = io.StringIO(), io.StringIO()
    show = Transcript(Screen(out, notes))
    for event in (
        TextDelta(**at(1), block=0, offset=0, text="One."),
        ToolCallStarted(**at(2), tool_call_id="c", name="t", input={}),
        TextDelta(**at(3, step=2), block=0, offset=0, text="Two."),
        result(4),
    ):
        show(event_json(event))
    assert out.getvalue() == "One.\nTwo.\n"
    assert notes.getvalue().startswith("→ t()\ncompleted\n")


def test_quiet_writes_the_answer_alone() -> None:
    """And why there is none."""
    out, notes = io.StringIO(), io.StringIO()
    show = AnswerAlone(Screen(out, notes))
    for event in (TextDelta(**at(1), block=0, offset=0, text="Draft"), result(2)):
        show(event_json(event))
    assert (out.getvalue(), notes.getvalue()) == ("The end.\n", "")


def test_quiet_writes_a_checked_answer_as_json() -> None:
    """For the next program, whatever words were around it in the text."""
    out, notes = io.StringIO(), io.StringIO()
    AnswerAlone(Screen(out, notes))(event_json(result(1, output={"topic": "Grüße"})))
    assert (out.getvalue(), notes.getvalue()) == ('{"topic": "Grüße"}\n', "")


def test_long_values_are_cut_to_one_line() -> None:
    """Each argument, and the whole."""
    assert arguments_in_short({"a": "x" * 100, "b": [1, 2]}) == f'a="{"x" * 58}…, b=[1, 2]'
    assert arguments_in_short('{"broken') == '{"broken'
    assert in_short({"a": "é"}, 20) == '{"a": "é"}'
    assert len(in_short("word " * 100, 50)) == 50


def test_a_terminal_takes_no_commands_from_a_model() -> None:
    """Control characters are left out; tabs, line ends and every letter stay."""
    assert printable("a\x1b[31mb\x00\x07\x9bc\td\n🦜é") == "a[31mbc\td\n🦜é"
