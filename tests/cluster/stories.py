"""What the runs are about: what each is asked, what its model says, and what its client does meanwhile. All of it pure.

What the model says follows from the messages that it is sent, and from nothing else: a step that is asked for again is
answered alike, and whoever judges knows of every stored answer what it ought to be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.messages_rules import blocks_of

AGENT = "teller"
ONCE = "once"
"""The tool that is never to run twice."""
AGAIN = "again"
"""The tool that may run again after a crash, under the same key."""
ASKED = "asked"
"""The tool that a person must allow, and that is never to run twice."""
APPRENTICE = "apprentice"
"""The agent that a story is handed to: a run of its own, which tells a story of its own."""
BUDGET = 2_600
"""The tokens of a run with a small budget, whose every answer takes all that it is granted."""
_BELOW = 1_000_000
"""What the numbers of handed-on stories have above those of who hands them on."""

_WORDS = ("once ", "upon a ", "time, ", "im Märchen, ", "Bär \U0001f43b ", "語 ", "\U0001f600", "e\u0301 ", "and\n")
_LONGEST_AGAIN = 1.0
_OPENING = re.compile(r"Story (\d+): (\w+), then (\w+)\.")

Messages = Sequence[Mapping[str, Any]]
"""Messages as a provider is sent them."""


@dataclass(frozen=True, slots=True)
class Steer:
    """The client says something to the run, once so many words of the step have been seen; `interrupts` cuts it."""

    step: int
    words: int
    interrupts: bool = False


@dataclass(frozen=True, slots=True)
class Cancel:
    """The client cancels the run, once so many words of the step have been seen."""

    step: int
    words: int


@dataclass(frozen=True, slots=True)
class Decide:
    """A person allows what the run, or the run below it, waits for, so many seconds after it began to wait."""

    seconds: float


Deed = Steer | Cancel | Decide


@dataclass(frozen=True, slots=True)
class Story:
    """One run: the tool of each of its first two steps, and what its client does meanwhile.

    `seed` is for what else its client decides by chance: who watches, and from where. `budget` is in tokens.
    """

    number: int
    tools: tuple[str, str]
    deeds: tuple[Deed, ...]
    seed: str
    budget: int | None = None

    @property
    def opening(self) -> str:
        """The run's first input."""
        return f"Story {self.number}: {self.tools[0]}, then {self.tools[1]}."

    def input_of(self, place: int) -> str:
        """What the deed at this place says, where it says anything; no other input of any run is the same."""
        return f"Story {self.number}, deed {place}: go on."

    @property
    def is_cancelled(self) -> bool:
        """Whether its client cancels it."""
        return any(isinstance(deed, Cancel) for deed in self.deeds)


def story_of(number: int, seed: str, words: int) -> Story:
    """The story with this number.

    Of ten, two are steered, one is interrupted, and one is cancelled; one waits for a person, one hands a story on, and
    one has a small budget. Of three that hand one on, the run below waits for a person in one, and one is cancelled.
    """
    dice = Random(f"{seed}/story/{number}")  # noqa: S311 - a test's dice, nothing secret
    tools = (ONCE, AGAIN) if dice.random() < 0.5 else (AGAIN, ONCE)
    step, word = dice.randint(1, 3), dice.randint(1, max(1, words // 2))
    deeds: tuple[Deed, ...] = ()
    match number % 10:
        case 2 | 5:
            deeds = (Steer(step, word),)
        case 7:
            deeds = (Steer(step, word, interrupts=True),)
        case 9:
            deeds = (Cancel(step, word),)
        case 4:
            tools = _instead(tools, ASKED)
            deeds = (Decide(dice.uniform(0.5, 5)),)
        case 6:
            tools = _instead(tools, APPRENTICE)
            below = (number // 10) % 3
            deeds = ((), (Decide(dice.uniform(0.5, 5)),), (Cancel(3, 1),))[below]
            if below == 2:
                deeds = (Cancel(tools.index(APPRENTICE) + 1, word),)
    return Story(number, tools, deeds, f"{seed}/{number}", BUDGET if number % 10 == 8 else None)


def _instead(tools: tuple[str, str], other: str) -> tuple[str, str]:
    """The tools with another in the place of the one that is never to run twice."""
    first, second = (other if tool == ONCE else tool for tool in tools)
    return first, second


def handed_on(number: int) -> str:
    """The first input of the run that a story's apprentice is given."""
    first = ASKED if (number // 10) % 3 == 1 else ONCE
    return f"Story {_BELOW + number}: {first}, then {AGAIN}."


# ---------------------------------------------------------------- what its model says


@dataclass(frozen=True, slots=True)
class Spoken:
    """An answer of the model: thoughts and text in pieces as they are streamed, and the call it ends with."""

    thoughts: tuple[str, ...]
    words: tuple[str, ...]
    call: tuple[str, dict[str, Any]] | None
    is_dear: bool = False
    """Whether it takes all the tokens that it is granted."""

    @property
    def text(self) -> str:
        """The text, whole."""
        return "".join(self.words)


class NoStory(ValueError):
    """The messages tell no story."""


def spoken(messages: Messages, words: int, longest: float = 1.0) -> Spoken:
    """What the model answers to these messages, in so many words. Raises NoStory.

    The first turn has three steps, of which two call a tool, which takes up to `longest` seconds; every later turn has
    a single step. The tool that may run again never takes long: a run whose tool were cut short again and again would
    never end.
    """
    opening = _OPENING.search(_text_of(messages[0]))
    if opening is None:
        raise NoStory(messages[0])
    number, tools = int(opening[1]), opening.groups()[1:]
    answers = sum(message["role"] == "assistant" for message in messages)
    inputs = sum(message["role"] == "user" and not _has_results(message) for message in messages)
    step = answers + 1
    told = [f"[{number}.{step}] "]
    told += [_WORDS[(number * 7 + step * 3 + place * place) % len(_WORDS)] for place in range(1, words)]
    thoughts = ("Let me ", "think \U0001f914") if (number + step) % 4 == 0 else ()
    is_dear = number % 10 == 8 and number < _BELOW
    if inputs > 1 or step > 2:
        return Spoken(thoughts, tuple(told), None, is_dear)
    tool, share = tools[step - 1], (number * 37 + step * 17) % 10 / 10
    if tool == APPRENTICE:
        return Spoken(thoughts, tuple(told), (tool, {"task": handed_on(number)}))
    seconds = round(0.1 + share * (longest if tool == ONCE else min(longest, _LONGEST_AGAIN)), 3)
    return Spoken(thoughts, tuple(told), (tool, {"story": number, "step": step, "seconds": seconds}), is_dear)


def _text_of(message: Mapping[str, Any]) -> str:
    return "".join(block.get("text", "") for block in blocks_of(dict(message)))


def _has_results(message: Mapping[str, Any]) -> bool:
    return any(block["type"] == "tool_result" for block in blocks_of(dict(message)))
