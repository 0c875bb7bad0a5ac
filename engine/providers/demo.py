"""The demo model: no model at all, but turns that use the tools they are offered, so that the rest can be seen."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from engine.providers.arguments import sample_arguments, sample_value
from engine.providers.provider import ModelRequest
from engine.providers.scripted import Call, ScriptedResponse, Sleep, Turn
from models.ids import Ids
from models.json_codec import dump_json

NAME = "steersman-demo"
INTRODUCTION = (
    "I am Steersman's scripted demo model, no real model: what I say is made from your words and your tools' results. "
    "Set ANTHROPIC_API_KEY for a real one. "
)
REMINDER = "(Still the scripted demo model.) "
DELAY = 0.025
"""Seconds before each word."""

_CALLS_A_TURN = 4
_QUOTED = 600  # characters of a result that an answer repeats
_ASKING = ("query", "q", "question", "text", "topic", "search", "prompt", "task")
_READING = ("path", "page", "file")
_COUNTING = ("seconds", "minutes", "steps", "count", "n")
_ARITHMETIC = re.compile(r"[\d(][\d\s.()]*[-+*/%^][\d\s.+\-*/%()^]*[\d)]")
_CONVERSION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zA-Z°]+)\s+(?:to|in|into)\s+([a-zA-Z°]+)")
_PATH = re.compile(r"[\w/-][\w./-]*\.(?:md|txt|html)\b")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_ORDER = re.compile(r"\b[A-Z]{1,3}-\d+\b")


class DemoModel:
    """A provider for trying out agents without a key; in process, word by word, at no cost."""

    def __init__(self, *, delay: float = DELAY, sleep: Sleep = asyncio.sleep) -> None:
        self._delay = delay
        self._sleep = sleep
        self._ids = Ids()

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[ScriptedResponse]:
        """Play the turn that `demo_turn` makes of the request."""
        turn = demo_turn(request)
        yield ScriptedResponse(request, turn, name=NAME, ids=self._ids, delay=self._delay, sleep=self._sleep)


@dataclass(slots=True)
class _Situation:
    """What a request says: the last input, what came after it, and what was called since."""

    first: bool
    asked: str
    also_asked: list[str] = field(default_factory=list)
    called: list[str] = field(default_factory=list)
    results: list[tuple[str, str, bool]] = field(default_factory=list)
    """Of each call since the input: the tool's name, its result as text, whether it is an error."""


def demo_turn(request: ModelRequest) -> Turn:
    """What the demo model answers: a call of a tool that fits, or something made of what the tools have said.

    Where the agent has an output type, that is the smallest value that fits its schema.
    """
    now = _read(request.messages)
    opening = INTRODUCTION if now.first else "" if now.called else REMINDER
    opening += "".join(f"You also asked: “{text}”. " for text in now.also_asked)
    call = _next_call(request.tools, now)
    if call is None and request.output is not None:
        return Turn((dump_json(sample_value(request.output, _words(now.asked, now.results))),))
    if call is None:
        return Turn((opening + _conclusion(now),))
    return Turn((f"{opening}{'Now let' if now.called else 'Let'} me use {call.name}.", call))


def _read(messages: list[dict[str, Any]]) -> _Situation:
    """The situation since the last message of the user that holds no results."""
    inputs = [place for place, message in enumerate(messages) if message["role"] == "user" and not _has_result(message)]
    start = inputs[-1] if inputs else 0
    now = _Situation(
        first=not any(message["role"] == "assistant" for message in messages),
        asked=_text(_blocks(messages[start])) if messages else "",
    )
    names: dict[str, str] = {}
    for message in messages[start + 1 :]:
        now.also_asked = []
        for block in _blocks(message):
            match block:
                case {"type": "tool_use", "id": identifier, "name": name}:
                    names[identifier] = name
                    now.called.append(name)
                case {"type": "tool_result", "tool_use_id": identifier}:
                    told = _text(_blocks(block)), bool(block.get("is_error"))
                    now.results.append((names.get(identifier, "a tool"), *told))
                case {"type": "text", "text": text} if message["role"] == "user":
                    now.also_asked.append(text)
    return now


def _next_call(tools: list[dict[str, Any]], now: _Situation) -> Call | None:
    """A tool not called yet: one that the newest words name, else the first, then one that reads what was found."""
    left = {tool["name"]: tool["input_schema"] for tool in tools if tool["name"] not in now.called}
    if not left or len(now.called) >= _CALLS_A_TURN:
        return None
    newest = now.also_asked[-1] if now.also_asked else "" if now.called else now.asked
    words = _words(newest or now.asked, now.results)
    named = next((name for name, schema in left.items() if _fits(name, schema, newest)), None)
    if named is None and not now.called:
        named = next(iter(left))
    if named is None and _PATH.search(_told(now)):
        named = next((name for name, schema in left.items() if set(_READING) & set(schema.get("required", ()))), None)
    return None if named is None else Call(named, sample_arguments(left[named], words))


def _fits(name: str, schema: dict[str, Any], text: str) -> bool:
    """Whether the words name the tool, or hold a sum for one that takes an expression."""
    verb, _, _ = name.partition("_")
    if re.search(rf"\b{re.escape(verb)}\b", text, re.IGNORECASE):
        return True
    return "expression" in schema.get("properties", {}) and _ARITHMETIC.search(text) is not None


def _words(asked: str, results: list[tuple[str, str, bool]]) -> dict[str, Any]:
    """What to put into arguments of common names: the user's words, sums and numbers in them, pages found before."""
    words: dict[str, Any] = dict.fromkeys(_ASKING, asked[:200])
    words["expression"] = found[0].strip() if (found := _ARITHMETIC.search(asked)) else "6 * 7"
    path = _PATH.search("\n".join(text for _, text, _ in results)) or _PATH.search(asked)
    words |= dict.fromkeys(_READING, path[0] if path else "index.md")
    if order := _ORDER.search(asked):
        words["order"] = order[0]
    if number := _NUMBER.search(_ORDER.sub("", asked)):
        words |= {"amount": _as_number(number[0]), **dict.fromkeys(_COUNTING, _as_number(number[0], 60))}
    if conversion := _CONVERSION.search(asked):
        words |= {"value": _as_number(conversion[1]), "from_unit": conversion[2], "to_unit": conversion[3]}
    return words


def _as_number(text: str, most: float = 1e15) -> float:
    value = float(min(float(text), most))
    return int(value) if value.is_integer() else value


def _conclusion(now: _Situation) -> str:
    asked = " ".join(now.asked.split())[:200]
    if not now.results:
        return (
            f"You said: “{asked}”. I was offered no tool, so this is all there is to it: each of these words travelled "
            "from the provider's seam through the run's log to your subscription, and is stored with the run. "
            "Say more, steer me while I speak, or stop me."
        )
    told = "\n\n".join(
        f"{name} {'failed' if is_error else 'says'}: {_shortened(text)}" for name, text, is_error in now.results
    )
    return f"You asked: “{asked}”.\n\n{told}"


def _shortened(text: str) -> str:
    text = text.strip() or "nothing"
    return text if len(text) <= _QUOTED else f"{text[:_QUOTED]}…"


def _told(now: _Situation) -> str:
    return "\n".join(text for _, text, _ in now.results)


def _has_result(message: dict[str, Any]) -> bool:
    return any(block.get("type") == "tool_result" for block in _blocks(message))


def _blocks(holder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    content = holder.get("content")
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from content or ()


def _text(blocks: Iterable[dict[str, Any]]) -> str:
    return "\n".join(block["text"] for block in blocks if block.get("type") == "text")
