"""A run's events as people read them in a terminal, or as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from models.text import utf16_length
from steersman.commands.event_json import Event
from steersman.commands.screen import Screen

MOST_VALUE = 60  # characters of one argument that are shown
MOST_ARGUMENTS = 160
MOST_RESULT = 160


class Show(Protocol):
    """Takes each event as it comes."""

    def __call__(self, event: Event) -> None:
        """Show one event."""


class JsonLines:
    """Each event as one line of JSON, as the API gives it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def __call__(self, event: Event) -> None:
        """Write one line."""
        self._screen.line(json.dumps(event, ensure_ascii=False))


class AnswerAlone:
    """Nothing but the answer, at the end: its text, or the checked value as JSON where the agent has an output type."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def __call__(self, event: Event) -> None:
        """Write the answer where this is the end."""
        if event["__typename"] == "RunResult":
            output = event["output"]
            self._screen.answer(event["text"] if output is None else json.dumps(output, ensure_ascii=False))
            self._screen.end_answer()
            if event["error"]:
                self._screen.note(f"{event['error']['message']} ({event['error']['code']})", "bad")


class Transcript:
    """The run as it goes: text word by word, thoughts dim, tool calls with their results, the outcome."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._step = (0, 0)
        self._shown: dict[tuple[str, int], int] = {}  # of each block of the step, in UTF-16 units
        self._began: dict[str, datetime] = {}
        self._kinds: dict[str, Callable[[Event], None]] = {
            "TextDelta": lambda event: self._more(event, screen.answer),
            "ReasoningDelta": lambda event: self._more(event, screen.aside),
            "ToolCallStarted": self._call_started,
            "ToolCallProgress": self._call_progress,
            "ToolCallFinished": self._call_finished,
            "SubagentStarted": lambda event: screen.note(f"  {event['agent']} works on it: {event['runId']}", "dim"),
            "InputQueued": lambda event: screen.note("An input waits for the next step.", "dim"),
            "InputApplied": lambda event: screen.note("What was said meanwhile is taken up.", "dim"),
            "StepRestarted": self._restarted,
            "ModelFellBack": lambda event: screen.note(f"From {event['from']} to {event['to']}.", "dim"),
            "ContextCompacted": self._compacted,
            "RunResult": self._result,
        }

    def __call__(self, event: Event) -> None:
        """Show one event; kinds that are not known are left out."""
        show = self._kinds.get(event["__typename"])
        if show is not None:
            show(event)

    def _more(self, event: Event, write: Callable[[str], None]) -> None:
        """What is new of a block: a replay may give a step's text once more."""
        if (event["step"], event["attempt"]) != self._step:
            self._step, self._shown = (event["step"], event["attempt"]), {}
        block = (event["__typename"], event["block"])
        if block not in self._shown and self._shown:
            self._screen.end_answer()
        shown, text = self._shown.get(block, 0), event["text"]
        end = event["offset"] + utf16_length(text)
        if end > shown:
            write(_from_unit(text, shown - event["offset"]))
            self._shown[block] = end

    def _restarted(self, event: Event) -> None:
        self._screen.end_answer()
        self._screen.note(f"The step begins again: {event['reason']}", "dim")

    def _compacted(self, event: Event) -> None:
        before, after = f"{event['tokensBefore']:,}", f"{event['tokensAfter']:,}"
        self._screen.note(f"What was said before is shortened for the model: {before} tokens to {after}.", "dim")

    def _call_started(self, event: Event) -> None:
        self._screen.end_answer()
        self._began[event["toolCallId"]] = _moment(event)
        self._screen.note(f"→ {event['name']}({arguments_in_short(event['input'])})", "call")

    def _call_progress(self, event: Event) -> None:
        share = "" if event["fraction"] is None else f" ({event['fraction']:.0%})"
        self._screen.note(f"  {event['message']}{share}", "dim")

    def _call_finished(self, event: Event) -> None:
        began = self._began.pop(event["toolCallId"], None)
        took = "" if began is None else f" {_duration((_moment(event) - began).total_seconds())}"
        words = "failed: " if event["isError"] else ""
        style = "bad" if event["isError"] else "good"
        self._screen.note(f"← {event['name']}{took}  {words}{in_short(event['result'], MOST_RESULT)}", style)

    def _result(self, event: Event) -> None:
        self._screen.end_answer()
        outcome = {"COMPLETED": "completed", "FAILED": "failed", "CANCELLED": "stopped"}.get(event["status"])
        outcome = outcome or event["status"].lower()
        if event["error"]:
            outcome += f": {event['error']['message']} ({event['error']['code']})"
        elif event["status"] == "WAITING":
            outcome += f" ({event['finish']}): {_WAITS[event['finish']]}"
        elif event["finish"] not in ("STOP", "ABORTED"):
            outcome += f" ({event['finish']})"
        style = "good" if event["status"] in ("COMPLETED", "WAITING") else "bad"
        self._screen.note(outcome, style)
        self._screen.note(" · ".join([*_figures(event), event["runId"]]), "dim")


_WAITS = {
    "APPROVAL": "a person must decide its calls: see `approvals` and `decideToolCalls` of the API",
    "CLIENT_TOOL": "a client must answer its calls: see `pendingCalls` and `completeToolCall` of the API",
}


def arguments_in_short(given: Any) -> str:
    """A call's arguments on one line: `query="pelicans", limit=5`."""
    if not isinstance(given, dict):
        return in_short(given, MOST_ARGUMENTS)
    parts = (f"{name}={_cut(json.dumps(value, ensure_ascii=False), MOST_VALUE)}" for name, value in given.items())
    return _cut(", ".join(parts), MOST_ARGUMENTS)


def in_short(value: Any, most: int) -> str:
    """A value on one line, cut where it is long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return _cut(" ".join(text.split()), most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _figures(event: Event) -> list[str]:
    usage = event["usage"]
    taken = usage["inputTokens"] + usage["cacheReadTokens"] + usage["cacheWriteTokens"]
    steps = "1 step" if event["steps"] == 1 else f"{event['steps']} steps"
    cost = "cost unknown" if usage["cost"] is None else f"${float(usage['cost']):.6g}"
    return [steps, f"{taken:,} tokens in, {usage['outputTokens']:,} out", cost]


def _moment(event: Event) -> datetime:
    return datetime.fromisoformat(event["at"])


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


def _from_unit(text: str, start: int) -> str:
    """The text from a UTF-16 code unit on."""
    if start <= 0 or text.isascii():
        return text[max(start, 0) :]
    return text.encode("utf-16-le", "surrogatepass")[start * 2 :].decode("utf-16-le", "replace")
