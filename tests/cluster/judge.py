"""The judgement: what was promised of every run, subscriber and tool call, held against rows, notes and refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from engine.transcript import replay
from models.call import ToolCall
from models.enums import FinishReason, Role, RunStatus, ToolCallState
from models.events import StepFinished
from models.message import Message
from models.purse import Purse
from models.verbs.claiming import MAX_TAKEOVERS
from tests.cluster.executions import Note, judge_call
from tests.cluster.logs import Taking
from tests.cluster.playing import Play
from tests.cluster.stories import APPRENTICE, ASKED, NoStory, spoken
from tests.cluster.viewers import Reader, Watcher
from tests.support.messages_rules import blocks_of
from tests.support.truths import MODEL, Story, untruths

PROMISES = {
    "status": "every run has its right status and finish",
    "rows": "rows and events agree, and the provider takes every transcript",
    "words": "every answer is what the model said, no more and no less",
    "messages": "no message is lost or doubled",
    "ran after its end": "no finished call ran again",
    "ran twice": "no call ran twice without its author's leave",
    "results": "every result is what its tool gave",
    "decisions": "no decision was applied twice, and nothing ran that was not allowed",
    "budgets": "no budget was exceeded, and nothing stays reserved",
    "children": "no run was handed on twice, and none was left behind by the one above it",
    "watchers": "every subscriber to events ended with exactly the transcript's text",
    "events": "every subscriber to events got each lasting event once, in order",
    "readers": "every subscriber to messages got each message once, in order",
    "runs": "every start made one run",
    "refusals": "the provider refused no request",
    "fences": "no worker wrote to a run that it did not hold",
    "nodes": "every node ended when it was told to, and only then",
    "defects": "no node logged a defect",
    "answers": "no operation failed without cause",
}
"""By short name, what is promised."""


@dataclass
class Judgement:
    """How often each promise was looked at, and each time it was broken: by promise, whose, and how."""

    checked: Counter[str] = field(default_factory=Counter)
    broken: list[tuple[str, str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """What happened on the way, and is no fault."""

    def check(self, promise: str, whose: str, problems: Sequence[str], *, count: int = 1) -> None:
        """The promise was looked at so many times, and these problems were found."""
        self.checked[promise] += count
        self.broken += [(promise, whose, problem) for problem in problems]


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one run is judged by: its rows, what its clients know, what its tools noted, who took it."""

    story: Story
    play: Play
    notes: dict[str, list[Note]]
    taken: Sequence[Taking]
    words: int
    below: Sequence[Story] = ()
    """The runs that it handed stories to."""
    purses: Sequence[Purse] = ()


def judge_run(judgement: Judgement, evidence: Evidence) -> None:
    """Judge one run by all of it."""
    story, play, run_id = evidence.story, evidence.play, evidence.story.run.id
    judgement.check("status", run_id, [*_of_status(evidence), *play.problems])
    judgement.check("rows", run_id, untruths(story))
    answers = [message for message in story.messages if message.role is Role.ASSISTANT]
    judgement.check("words", run_id, list(_of_words(story, evidence.words)), count=len(answers))
    judgement.check("messages", run_id, list(_of_inputs(evidence)), count=len(story.messages))
    judgement.counts[f"runs {story.run.status} {story.run.finish}"] += 1
    judgement.counts["takeovers"] += sum(taking.why == "takeover" for taking in evidence.taken)
    judgement.counts["hand-backs"] += sum(taking.why == "hand_back" for taking in evidence.taken)
    for one in (story, *evidence.below):
        for call in one.calls:
            _judge_call(judgement, run_id, call, evidence.notes.get(call.id, []))
    judgement.check("budgets", run_id, list(_of_purses(evidence)), count=len(evidence.purses))
    if evidence.below or any(call.name == APPRENTICE for call in story.calls):
        judgement.check("children", run_id, list(_of_children(evidence)), count=len(evidence.below))
    for one in evidence.below:
        judgement.check("rows", run_id, untruths(one))
        judgement.check("words", run_id, list(_of_words(one, evidence.words)), count=len(one.messages))
        judgement.counts[f"runs below {one.run.status} {one.run.finish}"] += 1
    for subscriber in play.subscribers:
        judgement.counts["reconnects"] += subscriber.reconnects
        if isinstance(subscriber, Watcher):
            judgement.check("watchers", run_id, [*subscriber.problems, *_of_text(story, subscriber)])
            judgement.check("events", run_id, list(_of_events(story, subscriber)), count=subscriber.events)
        else:
            problems = [*subscriber.problems, *_of_read(story, subscriber)]
            judgement.check("readers", run_id, problems, count=len(subscriber.messages))


# ---------------------------------------------------------------- the run


def _of_status(evidence: Evidence) -> Iterator[str]:
    run, play = evidence.story.run, evidence.play
    gave_up = _gave_up(evidence)
    if play.cancelled:
        finishes = (FinishReason.ABORTED, FinishReason.STOP, *((FinishReason.ERROR,) if gave_up else ()))
        fits = run.status is RunStatus.CANCELLED and run.finish in finishes
    else:
        fits = (run.status, run.finish) == (RunStatus.COMPLETED, FinishReason.STOP)
        fits = fits or (gave_up and run.status is RunStatus.FAILED)
        fits = fits or (play.story.budget is not None and run.finish is FinishReason.BUDGET)
    if not fits:
        yield f"it is {run.status} {run.finish} {run.error or ''} of {play.story}"
    if play.final is None:
        yield "its clients never saw how it ended"
    elif (play.final.status, play.final.finish) != (run.status, run.finish):
        yield f"its clients saw {play.final}, and it is {run.status} {run.finish}"


def _gave_up(evidence: Evidence) -> bool:
    """Whether it failed as a run must whose workers have died too often under one step."""
    run = evidence.story.run
    finished = [event.at for event in evidence.story.told if isinstance(event, StepFinished)]
    since = max(finished, default=0)
    deaths = sum(taking.why == "takeover" and taking.at > since for taking in evidence.taken)
    return run.error is not None and run.error.code == "RUN_INTERRUPTED" and deaths >= MAX_TAKEOVERS


def _of_purses(evidence: Evidence) -> Iterator[str]:
    for purse in evidence.purses:
        if (purse.spent.tokens or 0) > (purse.bounds.tokens or 0):
            yield f"{purse.id}: {purse.spent.tokens} tokens of {purse.bounds.tokens}"
        if purse.reserved.tokens or purse.reserved.cost_pico:
            yield f"{purse.id}: {purse.reserved} stays reserved"


def _of_children(evidence: Evidence) -> Iterator[str]:
    calls = {call.id: call for call in evidence.story.calls if call.name == APPRENTICE}
    begun = Counter(one.run.parent_call for one in evidence.below)
    yield from (f"{key} began {count} runs" for key, count in begun.items() if count > 1 or key not in calls)
    for one in evidence.below:
        call = calls.get(str(one.run.parent_call))
        if one.run.status in (RunStatus.RUNNING, RunStatus.WAITING):
            yield f"{one.run.id} is still {one.run.status} below {evidence.story.run.status}"
        last = one.messages[-1]
        if call is not None and call.state is ToolCallState.SUCCEEDED and call.result != _text_of(last):
            yield f"{call.id} was told {call.result!r}, and {one.run.id} said {_text_of(last)!r}"


def _of_words(story: Story, words: int) -> Iterator[str]:
    """Every answer, held against what the model says to the transcript before it."""
    messages = story.messages
    for place, message in enumerate(messages):
        if message.role is not Role.ASSISTANT:
            continue
        try:
            expected = spoken(replay(messages[:place], MODEL), words)
        except NoStory as error:
            yield f"message {message.seq}: no story: {error}"
            continue
        text = _text_of(message)
        calls = [block["name"] for block in blocks_of({"content": message.content}) if block["type"] == "tool_use"]
        if message.stop_reason is None:
            if not expected.text.startswith(text):
                yield f"message {message.seq} was cut, and is not the beginning of what was said: {text!r}"
        elif text != expected.text or calls != ([expected.call[0]] if expected.call else []):
            yield f"message {message.seq} is {text!r} with {calls}, not {expected}"


def _text_of(message: Message) -> str:
    return "".join(block.get("text", "") for block in blocks_of({"content": message.content}))


def _of_inputs(evidence: Evidence) -> Iterator[str]:
    """Every accepted input stands in the transcript once, and nothing else does."""
    said = [
        block["text"]
        for message in evidence.story.messages
        if message.role is Role.USER
        for block in blocks_of({"content": message.content})
        if block["type"] == "text"
    ]
    expected = [evidence.play.story.opening, *evidence.play.inputs.values()]
    if said != expected:
        yield f"the user said {said}, and {expected} was accepted"


def _judge_call(judgement: Judgement, run_id: str, call: ToolCall, notes: Sequence[Note]) -> None:
    verdict = judge_call(call, notes)
    judgement.check("ran after its end", run_id, verdict.ran_after_its_end)
    judgement.check("ran twice", run_id, verdict.ran_twice)
    judgement.check("results", run_id, verdict.untrue)
    judgement.counts[f"calls {call.state}"] += 1
    if call.name == ASKED:
        ran = call.state in (ToolCallState.SUCCEEDED, ToolCallState.INTERRUPTED) or bool(notes)
        unasked = [f"{call.id} ran, and nobody allowed it"] if ran and call.decided_by is None else []
        judgement.check("decisions", run_id, unasked)
    judgement.counts["calls that ran again, with leave"] += verdict.again
    judgement.counts["calls that a frozen worker began late"] += verdict.late


# ---------------------------------------------------------------- its subscribers


def _of_text(story: Story, watcher: Watcher) -> Iterator[str]:
    """What a watcher shows, held against the messages of the generations that it saw."""
    expected = {}
    messages = {message.seq: message for message in story.messages}
    for stream_id in watcher.lasting:
        for event in story.events.get(stream_id, []):
            if isinstance(event, StepFinished) and event.message_seq in messages:
                for place, block in enumerate(blocks_of({"content": messages[event.message_seq].content})):
                    if block["type"] in ("text", "thinking") and block[block["type"]]:
                        expected[event.step, place, block["type"]] = block[block["type"]]
    shown = watcher.text()
    if shown != expected:
        odd = sorted(key for key in shown.keys() | expected.keys() if shown.get(key) != expected.get(key))
        told = [f"{key}: {shown.get(key)!r} for {expected.get(key)!r}" for key in odd]
        yield f"{watcher.kind} shows {'; '.join(told)}"
    yield from watcher.page.problems


def _of_events(story: Story, watcher: Watcher) -> Iterator[str]:
    for stream_id, told in watcher.lasting.items():
        stored = [(event.seq, type(event).__name__) for event in story.events.get(stream_id, [])]
        if told != stored:
            missing, odd = sorted(set(stored) - set(told)), sorted(set(told) - set(stored))
            yield f"{watcher.kind} of {stream_id} lacks {missing} and has {odd} of {len(stored)} events"
    streams = [stream.id for stream in story.streams]
    if watcher.all_generations and list(watcher.lasting) != streams:
        yield f"{watcher.kind} saw {list(watcher.lasting)} of {streams}"


def _of_read(story: Story, reader: Reader) -> Iterator[str]:
    stored = [(message.id, message.seq, message.role, message.content) for message in story.messages]
    told = [(item["id"], item["seq"], item["role"], item["content"]) for item in reader.messages]
    if told != stored:
        odd = [one[1] for one in (*stored, *told) if one not in told or one not in stored]
        yield f"messages {sorted(set(odd))} of {len(stored)} are not as they were told"


# ---------------------------------------------------------------- all of them


def judge_runs_made(judgement: Judgement, plays: Sequence[Play], run_ids: Sequence[str]) -> None:
    """Every run belongs to one story, and every story that was begun has at most one run; those below are left away."""
    known = Counter(play.run_id for play in plays if play.run_id)
    unknown = sorted(set(run_ids) - set(known))
    begun = sum(not play.run_id for play in plays)  # its start may have been accepted, unheard
    problems = [f"{count} stories have the run {run_id}" for run_id, count in known.items() if count > 1]
    if len(unknown) > begun:
        problems += [f"nobody started {run_id}" for run_id in unknown]
    problems += [f"{run_id} was lost" for run_id in known if run_id not in set(run_ids)]
    judgement.check("runs", "", problems, count=len(plays))
