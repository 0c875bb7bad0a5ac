"""What the tools noted of themselves, and whether any ran that ought not to have."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.call import ToolCall
from models.enums import ToolCallState
from tests.cluster.stories import ASKED, ONCE

INTERRUPTED = "tool execution was interrupted"


@dataclass(frozen=True, slots=True)
class Note:
    """One line of the file: a tool began or ended, in which process, at which attempt, in ms since the epoch."""

    what: str
    run: str
    call: str
    key: str
    attempt: int
    pid: int
    at: int


def read_notes(file: Path) -> dict[str, list[Note]]:
    """By call, what was noted, in order."""
    notes: dict[str, list[Note]] = {}
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            note = Note(**json.loads(line))
            notes.setdefault(note.call, []).append(note)
    return notes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with one call, by promise; `again` and `late` are what may happen and is only counted.

    `late` is an execution that a frozen worker began after its call had been given to another: the fence keeps its
    result out, but nothing can stop its first line.
    """

    ran_after_its_end: Sequence[str] = ()
    ran_twice: Sequence[str] = ()
    untrue: Sequence[str] = ()
    again: int = 0
    late: int = 0


def judge_call(call: ToolCall, notes: Sequence[Note]) -> Verdict:
    """Compare a call's row with what its tool noted."""
    begun = Counter(note.attempt for note in notes if note.what == "begin")
    late = sum(_is_late(call, note) for note in notes)
    return Verdict(
        ran_after_its_end=[f"{call.id}: {problem}" for problem in _after_its_end(call, notes)],
        ran_twice=[f"{call.id}: {problem}" for problem in _twice(call, begun)],
        untrue=[f"{call.id}: {problem}" for problem in _untrue(call, notes)],
        again=max(0, begun.total() - 1),
        late=late,
    )


def _after_its_end(call: ToolCall, notes: Sequence[Note]) -> Iterator[str]:
    for note in notes:
        if note.what == "begin" and note.attempt > call.attempt:
            yield f"attempt {note.attempt} began, though attempt {call.attempt} had ended it"
        elif note.what == "begin" and _ended_before(call, note) and not _is_late(call, note):
            yield f"attempt {note.attempt} began {note.at - (call.finished_at or 0)} ms after its end"


def _is_late(call: ToolCall, note: Note) -> bool:
    earlier = note.attempt < call.attempt or call.state is ToolCallState.INTERRUPTED
    return note.what == "begin" and earlier and _ended_before(call, note)


def _ended_before(call: ToolCall, note: Note) -> bool:
    return call.finished_at is not None and note.at > call.finished_at


def _twice(call: ToolCall, begun: Mapping[int, int]) -> Iterator[str]:
    if call.name in (ONCE, ASKED) and sum(begun.values()) > 1:
        yield f"{call.name} ran {sum(begun.values())} times"
    yield from (f"attempt {attempt} ran {count} times" for attempt, count in begun.items() if count > 1)


def _untrue(call: ToolCall, notes: Sequence[Note]) -> Iterator[str]:
    if call.child_run_id is not None:
        return  # what the run below gave is judged by that run
    if {note.key for note in notes} - {call.id}:
        yield f"it ran under the keys {sorted({note.key for note in notes})}"
    ended = {note.attempt for note in notes if note.what == "end"}
    if call.state is ToolCallState.SUCCEEDED and call.attempt not in ended:
        yield f"it is SUCCEEDED at attempt {call.attempt}, of which the tool noted no end"
    expected = {
        ToolCallState.SUCCEEDED: f"{call.id} was done at attempt {call.attempt}",
        ToolCallState.INTERRUPTED: INTERRUPTED,
    }.get(call.state)
    if expected is not None and call.result != expected:
        yield f"it is {call.state} with {call.result!r}"
