"""What must hold of all rows, whatever was done to them; and the record of what was done that they are held against."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from models.call import ToolCall, call_from_row, tool_calls
from models.enums import FinishReason, Role, RunStatus
from models.events import InputQueued, RunResult, StepFinished, StreamEvent
from models.message import Message
from models.model_call import model_calls, usage_of_runs
from models.run import Run, RunQuery, matching_run_ids
from models.stream import read_stream, streams_of_run
from models.verbs.row import Done
from tests.support.desk import Desk


class Record:
    """What was accepted, withdrawn, owned, told and started."""

    def __init__(self) -> None:
        self.accepted: dict[str, str] = {}
        self.inputs: dict[str, tuple[str, str]] = {}
        self.withdrawn: set[str] = set()
        self.forked: set[str] = set()
        self.keyed: dict[str, set[str]] = defaultdict(set)
        self.owners: dict[tuple[str, int], list[str]] = defaultdict(list)
        self.starts: Counter[tuple[str, int]] = Counter()
        self.told: dict[str, list[tuple[int, list[StreamEvent]]]] = defaultdict(list)
        self.counts: Counter[str] = Counter()

    def accept(self, run_id: str, text: str, input_id: str | None = None) -> None:
        """An input was accepted, and waits where it has an id."""
        self.accepted[text] = run_id
        if input_id is not None:
            self.inputs[input_id] = (run_id, text)

    def withdraw(self, input_id: str) -> None:
        """A waiting input was taken back."""
        self.withdrawn.add(self.inputs[input_id][1])

    def owns(self, worker: str, run: Run) -> None:
        """A worker was given a fence."""
        self.owners[run.id, run.fence].append(worker)

    def repeated(self, first: Done, again: Done) -> None:
        """A verb that was called twice has told the same; only announcing may have found more to tell meanwhile."""
        known = len(first.events)
        assert again.events[:known] == first.events
        more = again.events[known:]
        assert all(isinstance(event, InputQueued) for event in more)
        assert again.numbers is not None
        assert first.numbers is not None
        assert again.numbers.next == first.numbers.next + len(more)
        self.committed(replace(again, events=more))
        self.counts["repeated"] += 1

    def committed(self, done: Done) -> None:
        """A verb has told these events, in the transaction that gave the run this revision."""
        by_stream: dict[str, list[StreamEvent]] = defaultdict(list)
        for event in done.events:
            by_stream[event.stream_id].append(event)
        for stream_id, events in by_stream.items():
            self.told[stream_id].append((done.run.revision, events))


async def check(desk: Desk, record: Record) -> None:
    """Check every run; raises AssertionError."""
    _check_record(record)
    run_ids = sorted(await desk.database.read(matching_run_ids, RunQuery()))
    assert set(record.accepted.values()) <= set(run_ids)
    for run_id in run_ids:
        run, messages = await desk.run(run_id), await desk.messages(run_id)
        calls = await desk.database.read(_calls, run_id)
        _check_run(run)
        _check_transcript(run, messages)
        _check_pairs(run, messages, calls)
        if run_id not in record.forked:
            _check_inputs(record, run, messages)
        events = await _check_streams(desk, record, run)
        await _check_usage(desk, run, events)


def _check_record(record: Record) -> None:
    """One writer a fence, one run a key, one beginning a call and attempt."""
    assert {key: owners for key, owners in record.owners.items() if len(owners) > 1} == {}
    assert {key: runs for key, runs in record.keyed.items() if len(runs) > 1} == {}
    assert {call: times for call, times in record.starts.items() if times > 1} == {}


def _check_run(run: Run) -> None:
    """It has ended, and nothing waits."""
    assert run.status is not RunStatus.RUNNING
    assert run.pending == ()
    assert not run.cancel_requested
    assert (run.error is not None) == (run.status is RunStatus.FAILED) or run.status is RunStatus.CANCELLED


def _check_transcript(run: Run, messages: list[Message]) -> None:
    """Seqs without a gap; fences, steps and owners only rise."""
    assert [message.seq for message in messages] == list(range(1, run.seq + 1))
    fences = [message.fence for message in messages]
    assert fences == sorted(fences)
    steps = [message.step for message in messages if message.role is Role.ASSISTANT]
    assert steps == sorted(set(steps))
    assert run.steps == (steps[-1] if steps else 0)


def _check_pairs(run: Run, messages: list[Message], calls: list[ToolCall]) -> None:
    """Each tool_use has one result, directly behind it; only the last answer's may still be missing."""
    assert all(not call.is_open for call in calls)
    for message, following in zip(messages, [*messages[1:], None], strict=True):
        if message.role is Role.USER:
            continue
        used = [block["id"] for block in message.content if block["type"] == "tool_use"]
        if following is None:
            assert not used or run.finish is not FinishReason.ABORTED
            continue
        if following.role is Role.ASSISTANT:  # a retry went on behind an answer that was cut
            assert not used
            assert message.stop_reason is None
            continue
        given = [block for block in following.content if isinstance(block, dict)]
        assert [block["tool_use_id"] for block in given[: len(used)]] == used
        assert all(block["type"] == "text" for block in given[len(used) :])


def _check_inputs(record: Record, run: Run, messages: list[Message]) -> None:
    """Each accepted input is in the transcript once, or was withdrawn; nothing else is."""
    found: Counter[str] = Counter()
    for message in messages:
        if message.role is Role.USER:
            blocks: list[Any] = [message.content] if isinstance(message.content, str) else message.content
            found.update(_text(block) for block in blocks if _text(block) is not None)
    expected = {text for text, run_id in record.accepted.items() if run_id == run.id} - record.withdrawn
    assert found == Counter(expected)


def _text(block: Any) -> Any:
    return block if isinstance(block, str) else block.get("text")


async def _check_streams(desk: Desk, record: Record, run: Run) -> list[StreamEvent]:
    """Numbers rise in the order of commit, within what was reserved; one RunResult a stream, and it is the last."""
    everything: list[StreamEvent] = []
    streams = await desk.database.read(streams_of_run, run.id)
    assert [stream.generation for stream in streams] == list(range(1, run.generation + 1))
    for stream in streams:
        rows = await desk.database.read(read_stream, stream.id, 0)
        events, stored = rows.lasting, {event.seq: event for event in rows.lasting}
        assert rows.ended
        assert [isinstance(event, RunResult) for event in events] == [False] * (len(events) - 1) + [True]
        assert all(0 < event.seq <= stream.reserved for event in events)
        told = [event for _, batch in sorted(record.told[stream.id], key=lambda one: one[0]) for event in batch]
        numbers = [event.seq for event in told]
        assert numbers == sorted(set(numbers))
        assert numbers == [event.seq for event in events]
        assert all(type(stored[event.seq]) is type(event) for event in told)
        everything += events
    return everything


async def _check_usage(desk: Desk, run: Run, events: list[StreamEvent]) -> None:
    """Every answer's usage is counted once, and no model call is left open."""
    answered = sum(event.usage.input_tokens for event in events if isinstance(event, StepFinished))
    used = (await desk.database.read(usage_of_runs, [run.id]))[run.id]
    assert used.input_tokens == answered
    assert await desk.database.read(_open_model_calls, run.id) == []


def _calls(c: Connection, run_id: str) -> list[ToolCall]:
    rows = c.execute(select(tool_calls).where(tool_calls.c.run_id == run_id).order_by(tool_calls.c.position))
    return [call_from_row(row) for row in rows]


def _open_model_calls(c: Connection, run_id: str) -> list[str]:
    query = select(model_calls.c.id).where(model_calls.c.run_id == run_id, model_calls.c.finished_at.is_(None))
    return list(c.execute(query).scalars())
