"""All that is known of one run, for whoever wants to learn why a promise was broken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tests.cluster.judge import Evidence
from tests.cluster.logs import Line
from tests.cluster.viewers import Watcher


def dossier(evidence: Evidence) -> Iterator[str]:
    """The rows, what clients saw and did, what tools noted, and who took it."""
    story, play = evidence.story, evidence.play
    yield f"\n{play.story}"
    yield f"its clients: stream {play.stream_id}, inputs {play.inputs}, cancelled {play.cancelled}, {play.final}"
    for subscriber in play.subscribers:
        seen = subscriber.lasting if isinstance(subscriber, Watcher) else [item["seq"] for item in subscriber.messages]
        yield f"  {subscriber.kind}, {subscriber.reconnects} reconnects: {seen} {subscriber.problems}"
    yield f"\n{story.run}"
    for message in story.messages:
        about = f"{message.seq} {message.role} fence {message.fence}"
        yield f"  {clock(message.created_at)} {about} {message.content!r:.300}"
    for stream in story.streams:
        yield f"\n{stream}"
        for event in story.events[stream.id]:
            more = {name: getattr(event, name, None) for name in ("reason", "stop_reason", "status", "tool_call_id")}
            told = {name: value for name, value in more.items() if value is not None}
            yield f"  {clock(event.at)} {event.seq} {type(event).__name__} step {event.step}.{event.attempt} {told}"
    yield ""
    for call in story.calls:
        yield f"{call}"
        for note in evidence.notes.get(call.id, []):
            yield f"  {clock(note.at)} {note.what} attempt {note.attempt} in {note.pid}"
    yield ""
    for taking in evidence.taken:
        yield f"{clock(taking.at)} {taking.node} took it: {taking.why}"


def lines_of(run_id: str, lines: Sequence[Line]) -> Iterator[str]:
    """What the nodes' logs say of the run."""
    for line in lines:
        if line.values.get("run_id") == run_id:
            error = line.values.get("error", "").strip().rpartition("\n")[2]
            yield f"{clock(line.at)} {line.node}: {line.message} {error}"


def clock(at: int) -> str:
    """A moment in ms since the epoch, as the logs write it."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]
