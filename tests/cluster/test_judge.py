"""The judge: what it finds in a run that kept every promise, and in one that broke a single one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from models.enums import ErrorCode, FinishReason, Role, RunStatus, ToolCallState
from models.events import Failure, RunResult, StepFinished, StreamEvent, ToolCallFinished, ToolCallStarted
from models.usage import Usage
from tests.cluster.executions import Note
from tests.cluster.judge import Evidence, Judgement, judge_run, judge_runs_made
from tests.cluster.logs import Taking
from tests.cluster.playing import Play
from tests.cluster.stories import spoken, story_of
from tests.cluster.viewers import Final, Reader, Watcher
from tests.support.rows import NOW, a_call, a_message, a_run, a_stream
from tests.support.truths import Story

WORDS = 6


def evidence() -> Evidence:
    """A run of three steps with two calls that kept every promise, with a watcher and a reader."""
    told = story_of(1, "1", WORDS)
    run = a_run(agent="teller", finish=FinishReason.STOP, steps=3, step=3)
    stream = a_stream(run)
    story = Story(run, [a_message(run, 1, told.opening)], [stream], {stream.id: []}, [], 0, {stream.id: Usage()})
    watcher = Watcher(run.id, stream.id, all_generations=True, heard=lambda item, now: None)
    notes: dict[str, list[Note]] = {}
    for step in (1, 2, 3):
        _tell_step(story, watcher, notes, step)
    story.run = replace(run, seq=len(story.messages))
    end: dict[str, Any] = {"run_id": run.id, "status": run.status, "finish": run.finish, "text": "", "output": None}
    end |= {"model": None, "steps": 3, "usage": Usage(), "cancelled": False, "error": None}
    _tell(story, watcher, RunResult(stream.id, 0, 3, 1, NOW, **end))
    reader = Reader(run.id)
    for message in story.messages:
        reader.take({"id": message.id, "seq": message.seq, "role": message.role, "content": message.content})
    final = Final("COMPLETED", "STOP", stream.id, len(story.messages))
    play = Play(told, run.id, stream.id, final=final, subscribers=[watcher, reader])
    return Evidence(story, play, notes, [Taking(NOW, "worker-0", run.id, "claim")], WORDS)


def _tell_step(story: Story, watcher: Watcher, notes: dict[str, list[Note]], step: int) -> None:
    run, stream_id = story.run, story.streams[0].id
    answer = spoken([{"role": m.role.lower(), "content": m.content} for m in story.messages], WORDS)
    blocks: list[dict[str, Any]] = [{"type": "text", "text": answer.text}]
    seq = len(story.messages) + 1
    at: dict[str, Any] = {"step": step, "attempt": 1, "at": NOW}
    watcher.take(_item("TextDelta", stream_id, _next(story) - 1, **at, block=0, offset=0, text=answer.text))
    if answer.call is not None:
        blocks.append({"type": "tool_use", "id": f"toolu_{step}", "name": answer.call[0], "input": answer.call[1]})
    story.messages.append(a_message(run, seq, blocks, role=Role.ASSISTANT, step=step, stop_reason="end_turn"))
    _tell(story, watcher, StepFinished(stream_id, 0, **at, message_seq=seq, stop_reason="end_turn", usage=Usage()))
    if answer.call is None:
        return
    call = a_call(run, step, name=answer.call[0], state=ToolCallState.SUCCEEDED, finished_at=NOW)
    call = replace(call, result=f"{call.id} was done at attempt 1")
    story.calls.append(call)
    notes[call.id] = [Note(what, run.id, call.id, call.id, 1, 1, NOW - 1) for what in ("begin", "end")]
    about: dict[str, Any] = {"tool_call_id": call.id, "name": call.name, "input": call.input}
    _tell(story, watcher, ToolCallStarted(stream_id, 0, **at, **about))
    _tell(story, watcher, ToolCallFinished(stream_id, 0, **at, **about, result=call.result, is_error=False))
    result = {"type": "tool_result", "tool_use_id": f"toolu_{step}", "content": call.result}
    story.messages.append(a_message(run, seq + 1, [result], step=step))


def _next(story: Story) -> int:
    events = story.events[story.streams[0].id]
    return (events[-1].seq if events else 0) + 2


def _tell(story: Story, watcher: Watcher, event: StreamEvent) -> None:
    """Store an event, and let the watcher see it."""
    event.seq = _next(story)
    story.events[event.stream_id].append(event)
    watcher.take(_item(type(event).__name__, event.stream_id, event.seq, step=event.step, attempt=event.attempt))


def _item(kind: str, stream_id: str, seq: int, **more: Any) -> dict[str, Any]:
    return {"__typename": kind, "streamId": stream_id, "seq": seq, **more}


def broken(found: Evidence) -> set[str]:
    """The promises that the judge finds broken."""
    judgement = Judgement()
    judge_run(judgement, found)
    return {promise for promise, _, _ in judgement.broken}


def test_a_run_that_kept_its_promises_is_found_right() -> None:
    """Nothing is found, and everything was looked at."""
    judgement = Judgement()
    judge_run(judgement, evidence())
    assert judgement.broken == []
    assert judgement.checked["results"] == 2
    assert judgement.checked["words"] == 3
    assert judgement.checked["watchers"] == judgement.checked["status"] == 1


# ---------------------------------------------------------------- what may be wrong with it


def _failed(found: Evidence) -> None:
    error = Failure(ErrorCode.RUN_INTERRUPTED, "it was interrupted")
    found.story.run = replace(found.story.run, status=RunStatus.FAILED, finish=FinishReason.ERROR, error=error)


def _other_words(found: Evidence) -> None:
    message = found.story.messages[1]
    blocks = [{**message.content[0], "text": "something else"}, message.content[1]]
    found.story.messages[1] = replace(message, content=blocks)


def _lost_message(found: Evidence) -> None:
    del found.story.messages[2]


def _lost_input(found: Evidence) -> None:
    found.play.inputs["input_1"] = "go on"


def _doubled_input(found: Evidence) -> None:
    message = found.story.messages[2]
    again = {"type": "text", "text": found.play.story.opening}
    found.story.messages[2] = replace(message, content=[*message.content, again])


def _ran_again(found: Evidence) -> None:
    notes = found.notes[found.story.calls[0].id]
    notes.append(replace(notes[0], at=NOW + 50, attempt=2))


def _no_end(found: Evidence) -> None:
    found.notes[found.story.calls[0].id].pop()


def _lost_text(found: Evidence) -> None:
    found.play.subscribers[0].page.blocks.popitem()  # type: ignore[union-attr] # the first one watches


def _lost_event(found: Evidence) -> None:
    del found.play.subscribers[0].lasting[found.story.streams[0].id][2]  # type: ignore[union-attr] # likewise


def _missed_message(found: Evidence) -> None:
    found.play.subscribers[1].messages.pop()  # type: ignore[union-attr] # the second one reads


def _unseen_end(found: Evidence) -> None:
    found.play.final = None


def _two_results(found: Evidence) -> None:
    events = found.story.events[found.story.streams[0].id]
    events.append(replace(events[-1], seq=events[-1].seq + 1))


@pytest.mark.parametrize(
    ("tamper", "promise"),
    [
        (_failed, "status"),
        (_unseen_end, "status"),
        (_other_words, "words"),
        (_lost_message, "rows"),
        (_two_results, "rows"),
        (_lost_input, "messages"),
        (_doubled_input, "messages"),
        (_ran_again, "ran after its end"),
        (_no_end, "results"),
        (_lost_text, "watchers"),
        (_lost_event, "events"),
        (_missed_message, "readers"),
    ],
)
def test_a_broken_promise_is_found(tamper: Callable[[Evidence], None], promise: str) -> None:
    """Whatever is wrong with a run is told as the promise that it breaks."""
    found = evidence()
    tamper(found)
    assert promise in broken(found)


def test_a_run_may_be_given_up_after_three_deaths() -> None:
    """A run whose workers died three times under one step may fail; one whose workers died less often may not."""
    found = evidence()
    _failed(found)
    end = found.story.events[found.story.streams[0].id][-1]
    assert isinstance(end, RunResult)
    end.status, end.finish = RunStatus.FAILED, FinishReason.ERROR
    found.play.final = replace(Final("FAILED", "ERROR", found.story.streams[0].id, 5))
    deaths = [Taking(NOW + number, "worker-0", found.story.run.id, "takeover") for number in (1, 2, 3)]
    assert broken(replace(found, taken=deaths)) == set()
    assert broken(replace(found, taken=deaths[:2])) == {"status"}


def test_a_start_makes_one_run() -> None:
    """A run that no story has, a story that lost its run, and one run for two stories are told."""
    plays = [Play(story_of(number, "1", WORDS), f"run_{number}") for number in (1, 2)]
    for run_ids in (["run_1"], ["run_1", "run_2", "run_3"]):
        judgement = Judgement()
        judge_runs_made(judgement, plays, run_ids)
        assert judgement.broken
    judgement = Judgement()
    judge_runs_made(judgement, plays, ["run_1", "run_2"])
    assert judgement.broken == []
    judge_runs_made(judgement, [*plays, plays[0]], ["run_1", "run_2"])
    assert judgement.broken
