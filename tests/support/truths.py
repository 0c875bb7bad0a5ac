"""What holds of every run, whatever was done to it: checked on the rows after each test of the loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from engine.attachments.expanding import references, replaced
from engine.compacting import view
from engine.transcript import replay
from models.call import ToolCall, get_calls, tool_calls
from models.compaction import Compacted, compactions_of
from models.content import has_tool_use, input_block
from models.enums import Role, RunStatus, ToolCallState
from models.events import (
    ContextCompacted,
    InputApplied,
    InputQueued,
    ModelFellBack,
    RunResult,
    StepFinished,
    StepRestarted,
    StreamEvent,
    SubagentStarted,
    ToolCallFinished,
    ToolCallStarted,
)
from models.message import Message, messages_after
from models.model_call import model_calls, usage_of_stream
from models.run import Run, agent_runs, get_run
from models.stream import Stream, read_stream, streams_of_run
from tests.support.messages_rules import blocks_of, problems

MODEL = "claude-sonnet-5-5"


@dataclass
class Story:
    """All rows of one run."""

    run: Run
    messages: list[Message]
    streams: list[Stream]
    events: dict[str, list[StreamEvent]]
    calls: list[ToolCall]
    unfinished_model_calls: int
    usage: dict[str, object]
    compactions: Sequence[Compacted] = ()
    found: list[str] = field(default_factory=list)

    @property
    def told(self) -> list[StreamEvent]:
        """The lasting events of all streams, in order."""
        return [event for stream in self.streams for event in self.events[stream.id]]


def all_run_ids(c: Connection) -> list[str]:
    """The ids of every run."""
    return list(c.execute(select(agent_runs.c.id).order_by(agent_runs.c.id)).scalars())


def read_story(c: Connection, run_id: str) -> Story:
    """Read one run whole."""
    run = get_run(c, run_id)
    assert run is not None
    streams = streams_of_run(c, run_id)
    open_calls = select(model_calls.c.id).where(model_calls.c.run_id == run_id, model_calls.c.finished_at.is_(None))
    ids = c.execute(select(tool_calls.c.id).where(tool_calls.c.run_id == run_id)).scalars()
    return Story(
        run,
        messages_after(c, run_id, 0),
        streams,
        {stream.id: read_stream(c, stream.id, 0).lasting for stream in streams},
        sorted(get_calls(c, list(ids)).values(), key=lambda call: (call.step, call.index)),
        len(c.execute(open_calls).all()),
        {stream.id: usage_of_stream(c, stream.id) for stream in streams},
        compactions_of(c, run_id),
    )


def untruths(story: Story) -> list[str]:
    """What does not hold of the run, one sentence each."""
    found = [*_of_transcript(story), *_of_inputs(story), *_of_compactions(story)]
    finished: int | None = None
    handed_on: set[str] = set()
    for stream in story.streams:
        events = story.events[stream.id]
        found += _of_end(story, stream, events)
        walk = _Walk(stream.steps_before, handed_on, {message.seq: message.model for message in story.messages})
        for event in events:
            walk.take(event)
        handed_on = walk.left
        found += [f"{stream.id}: {problem}" for problem in walk.problems]
        finished = walk.finished
    if finished is not None and finished != story.run.steps:
        found.append(f"the run counts {story.run.steps} steps, the events {finished}")
    if story.run.status is not RunStatus.RUNNING:
        found += _of_settled(story)
    return found


def _of_transcript(story: Story) -> Iterator[str]:
    seqs = [message.seq for message in story.messages]
    if seqs != list(range(1, story.run.seq + 1)):
        yield f"seqs are {seqs}, the run's is {story.run.seq}"
    hello = Message("msg_hi", story.run.id, story.run.user_id, 0, Role.USER, "hi", 0, 0)
    for messages in (story.messages, [*story.messages, hello]):
        if messages and story.run.status is not RunStatus.RUNNING:
            yield from problems(_without_references(replay(messages, MODEL)))


def _of_compactions(story: Story) -> Iterator[str]:
    told = sum(isinstance(event, ContextCompacted) for event in story.told)
    if story.run.forked_from is None and told != len(story.compactions):
        yield f"{len(story.compactions)} compactions, and {told} events tell of one"
    reached = (0, 0)
    for one in story.compactions:
        now = (one.summed_to, one.trimmed_to)
        if now <= reached or (one.summary is None) != (one.summed_to == 0) or one.summed_to >= story.run.seq:
            yield f"{one} reaches no further than {reached}, or has no summary, or leaves nothing"
        if one.summed_to and has_tool_use(story.messages[one.summed_to - 1].content):
            yield f"{one} parts a call from its result"
        reached = now
        shown = view(story.messages, one, 100)
        if story.run.status is not RunStatus.RUNNING:
            yield from problems(_without_references(replay(shown, MODEL)))


def _without_references(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The turns with words where files would be sent; which files, the rows do not tell."""
    return replaced(turns, {place: input_block(f"the file {name}") for place, name in references(turns).items()})


def _of_inputs(story: Story) -> Iterator[str]:
    queued: Counter[str] = Counter()
    applied: Counter[str] = Counter()
    messages = {message.seq: message for message in story.messages}
    for event in story.told:
        if isinstance(event, InputQueued):
            queued[event.input_id] += 1
        if isinstance(event, InputApplied):
            yield from (f"{one} was applied before it was queued" for one in event.input_ids if not queued[one])
            applied.update(event.input_ids)
            message = messages[event.message_seq]
            texts = [block for block in blocks_of({"content": message.content}) if block["type"] == "text"]
            if message.role is not Role.USER or len(texts) != len(event.input_ids):
                yield f"message {event.message_seq} has {len(texts)} inputs, not {len(event.input_ids)}"
    yield from (f"{one} was told {count} times" for one, count in (queued + applied).items() if count > 2)
    yield from (f"{one} was applied {count} times" for one, count in applied.items() if count > 1)


def _of_end(story: Story, stream: Stream, events: list[StreamEvent]) -> Iterator[str]:
    results = [event for event in events if isinstance(event, RunResult)]
    is_last = stream is story.streams[-1]
    should_end = not is_last or story.run.status is not RunStatus.RUNNING
    if len(results) != should_end or stream.ended != should_end or (results and events[-1] is not results[0]):
        yield f"{stream.id} has {len(results)} RunResults among {[type(event).__name__ for event in events]}"
    for result in results:
        if result.usage != story.usage[stream.id]:
            yield f"{stream.id}: RunResult counts {result.usage}, the model calls {story.usage[stream.id]}"
        agrees = (result.status, result.finish) == (story.run.status, story.run.finish)
        if is_last and not agrees and story.run.status is not RunStatus.CANCELLED:
            yield f"{stream.id}: RunResult says {result.status}, the row {story.run.status}"
        if is_last and result.output != story.run.output:
            yield f"{stream.id}: RunResult gives {result.output}, the row {story.run.output}"


def _of_settled(story: Story) -> Iterator[str]:
    run, waits = story.run, story.run.status is RunStatus.WAITING
    if (run.pending and not waits) or run.cancel_requested or run.worker or run.lease_until:
        yield f"a settled run keeps {run.pending} {run.cancel_requested} {run.worker} {run.lease_until}"
    still = [call for call in story.calls if call.is_open and not (waits and _may_wait(run, call))]
    yield from (f"{call.name} {call.id} is still {call.state}" for call in still)
    if waits != any(call.state is ToolCallState.WAITING or _is_handed_on(call) for call in story.calls):
        yield f"{run.id} is {run.status} for {[(call.id, call.state) for call in story.calls]}"
    if story.unfinished_model_calls:
        yield f"{story.unfinished_model_calls} model calls never ended"


def _may_wait(run: Run, call: ToolCall) -> bool:
    """Whether a call of a WAITING run may be open: it or its child waits, or it is to run with the others."""
    waits = call.state in (ToolCallState.WAITING, ToolCallState.READY) or _is_handed_on(call)
    return call.step == run.steps and waits


def _is_handed_on(call: ToolCall) -> bool:
    """Whether a run of another agent stands for the call, and is not over."""
    return call.state is ToolCallState.RUNNING and call.child_run_id is not None


class _Walk:
    """A stream's events in order: what a step may tell, and when.

    `handed_on` are calls that an earlier stream began: runs of other agents stand for them. `left` are those of them
    that go on in the next one. `models` are those that the messages name, by seq.
    """

    def __init__(self, finished: int, handed_on: set[str], models: dict[int, str | None]) -> None:
        self.finished = finished
        self._models = models
        self._model: str | None = None
        self.problems: list[str] = []
        self.left: set[str] = set()
        self._attempt = 1
        self._open = set(handed_on)
        self._handed_on = set(handed_on)
        self._closed: set[str] = set()

    def take(self, event: StreamEvent) -> None:
        """Look at one event."""
        match event:
            case StepFinished():
                self._expect(event.step == self.finished + 1 and event.attempt == self._attempt, event)
                self._expect(not self._open, event)
                self._expect(self._model in (None, self._models[event.message_seq]), event)
                self.finished, self._attempt = event.step, 1
            case StepRestarted():
                self._expect(event.step == self.finished + 1 and event.attempt == self._attempt + 1, event)
                self._attempt = event.attempt
            case ModelFellBack():
                self._expect(event.step == self.finished + 1 and event.attempt == self._attempt, event)
                self._expect(self._model in (None, event.from_), event)
                self._model = event.to
            case ToolCallStarted():
                self._expect(event.step == self.finished and event.tool_call_id not in self._closed, event)
                self._open.add(event.tool_call_id)
            case ToolCallFinished():
                self._expect(event.step == self.finished and event.tool_call_id in self._open, event)
                self._open.discard(event.tool_call_id)
                self._closed.add(event.tool_call_id)
            case SubagentStarted():
                self._expect(event.step == self.finished and event.tool_call_id in self._open, event)
                self._handed_on.add(event.tool_call_id)
            case RunResult(status=RunStatus.WAITING):
                self._expect(self._open <= self._handed_on, event)
                self.left = self._open
            case InputApplied() | RunResult():
                self._expect(not self._open, event)

    def _expect(self, holds: bool, event: StreamEvent) -> None:
        if not holds:
            self.problems.append(f"after step {self.finished}, attempt {self._attempt}, {self._open} open: {event}")


def shown_out_of_order(events: Iterable[StreamEvent]) -> list[str]:
    """Text that a watcher saw of a step that was over, or of an attempt that was given up."""
    over: dict[str, int] = {}
    attempts: dict[tuple[str, int], int] = {}
    found = []
    for event in events:
        if isinstance(event, StepFinished):
            over[event.stream_id] = event.step
        elif isinstance(event, StepRestarted):
            attempts[event.stream_id, event.step] = event.attempt
        elif hasattr(event, "offset"):
            current = attempts.get((event.stream_id, event.step), event.attempt)
            if event.step <= over.get(event.stream_id, 0) or event.attempt < current:
                found.append(f"{event} came too late")
    return found
