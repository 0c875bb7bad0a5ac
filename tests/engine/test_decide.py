"""decide: pure, one step for every state, and no state from which it goes round for ever."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from engine.decide import MAX_CORRECTIONS, AppendResults, CallModel, Correct, Finish, RunCalls, decide
from engine.output import CORRECTION, output_type
from models.call import ToolCall
from models.content import input_block, result_blocks, user_content
from models.enums import ErrorCode, FinishReason, Role, RunStatus, SteerMode, ToolCallState
from models.message import Message
from models.run import PendingInput, Run

MAX_STEPS = 5
STOP_REASONS = (
    "end_turn",
    "stop_sequence",
    "tool_use",
    "max_tokens",
    "model_context_window_exceeded",
    "pause_turn",
    "refusal",
    "something_new",
    None,
)


class Word(BaseModel):
    """What an agent with an output type answers."""

    word: str


OUTPUT = output_type(Word)
FITS, FAILS = '{"word": "pelican"}', "a pelican"
RUN = Run("run_1", "alice", "helper", RunStatus.RUNNING, 0, 0, seq=1)
HELLO = Message("msg_1", "run_1", "alice", 1, Role.USER, "Hi", 0, 0)


def answer(seq: int, stop_reason: str | None, text: str = "") -> Message:
    """An assistant's message."""
    content = [input_block(text)] if text else []
    return Message(f"msg_{seq}", "run_1", "alice", seq, Role.ASSISTANT, content, 1, 0, stop_reason=stop_reason)


def call(index: int, state: ToolCallState) -> ToolCall:
    """A call of the last answer."""
    return ToolCall("call", "run_1", "helper", "alice", 1, index, f"toolu_{index}", "work", {}, state=state)


def waiting(number: int) -> PendingInput:
    """An input that waits."""
    return PendingInput(f"inp_{number}", "more", SteerMode.QUEUE, 0, number)


states = st.lists(st.sampled_from([ToolCallState.READY, ToolCallState.RUNNING, ToolCallState.SUCCEEDED]), max_size=4)
pending = st.integers(0, 2).map(lambda count: tuple(waiting(number) for number in range(count)))
reasons = st.sampled_from(STOP_REASONS)
texts = st.sampled_from(["", FITS, FAILS])
turn_steps = st.integers(0, MAX_STEPS + 1)


@given(
    reason=reasons,
    states=states,
    pending=pending,
    steps=turn_steps,
    cancelled=st.booleans(),
    asked=st.booleans(),
    text=texts,
    corrections=st.integers(0, MAX_CORRECTIONS),
)
def test_every_state_has_exactly_one_step(
    reason: str | None,
    states: list[ToolCallState],
    pending: tuple[PendingInput, ...],
    steps: int,
    cancelled: bool,
    asked: bool,
    text: str,
    corrections: int,
) -> None:
    """Whatever the row, the last message and its calls are: one of five steps, and the same one each time."""
    run = replace(RUN, turn_steps=steps, pending=pending, cancel_requested=cancelled, corrections=corrections)
    transcript = [HELLO] if asked else [HELLO, answer(2, reason, text)]
    calls = [] if asked else [call(index, state) for index, state in enumerate(states)]
    step = decide(run, transcript, calls, MAX_STEPS, OUTPUT)
    assert isinstance(step, CallModel | RunCalls | AppendResults | Correct | Finish)
    assert decide(run, transcript, calls, MAX_STEPS, OUTPUT) == step
    plain = decide(run, transcript, calls, MAX_STEPS)
    assert isinstance(plain, Finish) or plain == step, "an output type matters at the end alone"
    if isinstance(step, RunCalls):
        assert step.calls
        assert all(one.is_open for one in step.calls)
    if isinstance(step, CallModel):
        assert steps < MAX_STEPS
    if cancelled:
        assert isinstance(step, Finish)
        assert step.end.status is RunStatus.CANCELLED
    if isinstance(step, AppendResults):
        assert calls or pending, "there must be something to append"


@given(replies=st.lists(st.tuples(reasons, states, pending, texts), max_size=40))
def test_no_state_goes_round_for_ever(
    replies: list[tuple[str | None, list[ToolCallState], tuple[PendingInput, ...], str]],
) -> None:
    """Carried out as the runner does, the steps come to an end whatever the model says: at most max_steps answers."""
    run, transcript, calls = RUN, [HELLO], list[ToolCall]()
    answers = 0
    for _ in range(10 * MAX_STEPS):
        match decide(run, transcript, calls, MAX_STEPS, OUTPUT):
            case Finish(end):
                if end.status is not RunStatus.COMPLETED or not run.pending:
                    break
                transcript = [*transcript, replace(HELLO, seq=len(transcript) + 1)]
                run, calls = replace(run, pending=()), []
            case CallModel():
                reason, states, more, text = replies[answers] if answers < len(replies) else ("tool_use", [], (), "")
                answers += 1
                transcript = [*transcript, answer(len(transcript) + 1, reason, text)]
                closed = [ToolCallState.CANCELLED] * len(states) if reason is None else states
                calls = [call(index, state) for index, state in enumerate(closed)]
                run = replace(run, turn_steps=run.turn_steps + 1, pending=more)
            case RunCalls(open_calls):
                done = {one.index: replace(one, state=ToolCallState.SUCCEEDED, result="") for one in open_calls}
                calls = [done.get(one.index, one) for one in calls]
            case AppendResults():
                content = user_content(result_blocks(calls), [item.blocks for item in run.pending])
                transcript = [*transcript, replace(HELLO, seq=len(transcript) + 1, content=content)]
                run, calls = replace(run, pending=()), []
            case Correct(told):
                transcript = [*transcript, replace(HELLO, seq=len(transcript) + 1, content=told)]
                run, calls = replace(run, pending=(), corrections=run.corrections + (not run.pending)), []
    else:
        raise AssertionError(f"it goes round: {transcript[-1]} {calls} {run.pending}")
    assert answers <= MAX_STEPS


def test_an_answer_whose_calls_are_done_is_followed_by_their_results() -> None:
    """All results at once, and not before the last call has one."""
    transcript = [HELLO, answer(2, "tool_use")]
    done, ready = call(0, ToolCallState.SUCCEEDED), call(1, ToolCallState.READY)
    assert decide(RUN, transcript, [done, ready], MAX_STEPS) == RunCalls((ready,))
    assert decide(RUN, transcript, [done, call(1, ToolCallState.FAILED)], MAX_STEPS) == AppendResults()


def test_a_cut_answer_is_followed_by_what_it_was_cut_for() -> None:
    """Results of its whole calls and waiting input are appended; without either the model is asked again."""
    transcript = [HELLO, answer(2, None)]
    assert decide(replace(RUN, pending=(waiting(1),)), transcript, [], MAX_STEPS) == AppendResults()
    assert decide(RUN, transcript, [call(0, ToolCallState.CANCELLED)], MAX_STEPS) == AppendResults()
    assert decide(RUN, transcript, [], MAX_STEPS) == CallModel()


def test_the_end_tells_why() -> None:
    """STOP, LENGTH, CONTENT_FILTER for whole answers; MAX_STEPS where the turn has had all its steps."""
    ends = {}
    for reason in ("end_turn", "max_tokens", "refusal", "something_new"):
        step = decide(RUN, [HELLO, answer(2, reason)], [], MAX_STEPS)
        assert isinstance(step, Finish)
        ends[reason] = step.end.finish
    assert list(ends.values()) == [
        FinishReason.STOP,
        FinishReason.LENGTH,
        FinishReason.CONTENT_FILTER,
        FinishReason.STOP,
    ]
    step = decide(replace(RUN, turn_steps=MAX_STEPS), [HELLO], [], MAX_STEPS)
    assert isinstance(step, Finish)
    assert (step.end.status, step.end.finish) == (RunStatus.FAILED, FinishReason.MAX_STEPS)


def test_an_answer_is_sent_back_until_it_fits() -> None:
    """One that fits ends the turn with its value; one that does not is corrected, and at last the turn fails."""
    step = decide(RUN, [HELLO, answer(2, "end_turn", FITS)], [], MAX_STEPS, OUTPUT)
    assert isinstance(step, Finish)
    assert (step.end.status, step.end.finish) == (RunStatus.COMPLETED, FinishReason.STOP)
    assert step.end.output == {"word": "pelican"}
    transcript = [HELLO, answer(2, "end_turn", FAILS)]
    for corrections in range(MAX_CORRECTIONS):
        step = decide(replace(RUN, corrections=corrections), transcript, [], MAX_STEPS, OUTPUT)
        assert isinstance(step, Correct)
        assert step.told.startswith(CORRECTION)
    step = decide(replace(RUN, corrections=MAX_CORRECTIONS), transcript, [], MAX_STEPS, OUTPUT)
    assert isinstance(step, Finish)
    assert (step.end.status, step.end.finish, step.end.output) == (RunStatus.FAILED, FinishReason.ERROR, None)
    assert step.end.error is not None
    assert step.end.error.code is ErrorCode.OUTPUT_INVALID
    spoken_to = replace(RUN, corrections=MAX_CORRECTIONS, pending=(waiting(1),))
    assert isinstance(decide(spoken_to, transcript, [], MAX_STEPS, OUTPUT), Correct), "the input gets its answer"


def test_what_is_no_whole_answer_is_not_read_as_one() -> None:
    """Cut by max_tokens it is asked for anew, even where it looks whole; refused or past the window it is the end."""
    step = decide(RUN, [HELLO, answer(2, "max_tokens", FITS)], [], MAX_STEPS, OUTPUT)
    assert isinstance(step, Correct)
    assert "be shorter" in step.told
    ends = {"refusal": FinishReason.CONTENT_FILTER, "model_context_window_exceeded": FinishReason.LENGTH}
    for reason, finish in ends.items():
        step = decide(RUN, [HELLO, answer(2, reason, FITS)], [], MAX_STEPS, OUTPUT)
        assert isinstance(step, Finish)
        assert (step.end.status, step.end.finish, step.end.output) == (RunStatus.COMPLETED, finish, None)
