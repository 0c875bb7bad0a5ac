"""What subscribers find wrong with what they are told."""

from __future__ import annotations

from typing import Any

from tests.cluster.viewers import Final, Reader, Watcher

FINAL = Final("COMPLETED", "STOP", "str_1", 2)


def event(
    kind: str, seq: int, *, stream: str = "str_1", step: int = 1, attempt: int = 1, **more: Any
) -> dict[str, Any]:
    """An event as a client is told it."""
    return {"__typename": kind, "streamId": stream, "seq": seq, "step": step, "attempt": attempt, "at": "", **more}


def text(seq: int, offset: int, words: str, **more: Any) -> dict[str, Any]:
    """A piece of text."""
    return event("TextDelta", seq, block=0, offset=offset, text=words, **more)


def watching(*events: dict[str, Any], all_generations: bool = False) -> Watcher:
    """A watcher that was told these events."""
    watcher = Watcher("run_1", "str_1", all_generations=all_generations, heard=lambda item, now: None)
    for item in events:
        watcher.take(item)
    return watcher


def faults_of(watcher: Watcher) -> list[str]:
    """All that it found wrong."""
    return [*watcher.problems, *watcher.page.problems]


def test_what_is_told_again_changes_nothing() -> None:
    """Text that comes whole after a reconnect replaces what was shown; offsets count as browsers do."""
    watcher = watching(
        text(1, 0, "a\U0001f600"), text(2, 3, "b"), text(5, 0, "a\U0001f600bc"), event("StepFinished", 6)
    )
    assert watcher.text() == {(1, 0, "text"): "a\U0001f600bc"}
    assert watcher.lasting == {"str_1": [(6, "StepFinished")]}
    assert faults_of(watcher) == []


def test_a_restarted_step_is_dropped() -> None:
    """What was shown of a step that begins again is gone."""
    watcher = watching(text(1, 0, "old"), event("StepRestarted", 9, attempt=2), text(10, 0, "new", attempt=2))
    assert watcher.text() == {(1, 0, "text"): "new"}
    assert faults_of(watcher) == []


def test_a_gap_is_found() -> None:
    """Text beyond what was shown has lost something before it."""
    assert faults_of(watching(text(1, 0, "ab"), text(2, 3, "d")))


def test_numbers_that_do_not_rise_are_found() -> None:
    """No event comes twice, and none late."""
    assert faults_of(watching(text(2, 0, "a"), text(2, 1, "b")))
    assert faults_of(watching(text(2, 0, "a"), text(1, 1, "b")))


def test_text_of_what_is_over_is_found() -> None:
    """A step that has finished, or an attempt that was given up, says nothing more."""
    assert faults_of(watching(event("StepFinished", 1), text(2, 0, "late")))
    assert faults_of(watching(event("StepRestarted", 1, attempt=2), text(2, 0, "late", attempt=1)))
    assert faults_of(watching(event("RunResult", 1), event("StepFinished", 2)))


def test_it_follows_from_generation_to_generation() -> None:
    """A stream that begins before the last one has ended is wrong; one after it is followed from its beginning."""
    end, new = event("RunResult", 5), text(1, 0, "more", stream="str_2", step=2)
    assert faults_of(watching(new, all_generations=True))
    watcher = watching(end, new, all_generations=True)
    assert faults_of(watcher) == []
    assert watcher.variables() == {"runId": "run_1", "streamId": "str_2", "after": 1}


def test_it_ends_where_the_run_has_ended() -> None:
    """`stream` ends by itself after RunResult; runStream goes on until its client has seen the last of them."""
    one, whole = watching(event("RunResult", 5)), watching(event("RunResult", 5), all_generations=True)
    before = (one.finished, whole.finished)
    one.completed()
    whole.end_at(FINAL)
    assert (before, one.finished, whole.finished) == ((False, False), True, True)
    assert faults_of(one) == []
    early = watching(text(1, 0, "a"))
    early.completed()
    assert faults_of(early)


def test_a_reader_wants_each_message_once() -> None:
    """Messages come in order, without a gap, each once; the reader asks for what follows the last."""
    reader = Reader("run_1")
    reader.end_at(FINAL)
    reader.take({"seq": 1})
    before = reader.finished
    assert reader.variables() == {"runId": "run_1", "afterSeq": 1}
    reader.take({"seq": 2})
    assert (before, reader.finished, reader.problems) == (False, True, [])
    reader.take({"seq": 2})
    reader.take({"seq": 4})
    assert len(reader.problems) == 2
