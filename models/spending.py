"""What a call of a model may take at most, and how far what is left goes: arithmetic alone, exact, without I/O.

Money is whole numbers of 10**-12 USD ("pico"). Tokens, where they are limited, are input, output and cache writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from models.json_codec import dump_json

PICO = Decimal("1e-12")
LEAST_TOKENS = 128
"""An answer for which less than this is left is not asked for: it would be cut before it has said anything."""
BYTES_A_TOKEN = 2
"""Prose has about four bytes a token, code three, digits and other scripts down to two: rather too much than too
little."""
IMAGE_TOKENS = 5_000  # what an image of the largest size takes
DOCUMENT_TOKENS = 20_000  # some ten pages; how many there are is known to the provider alone


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much may be taken: of money, of tokens, or of both; None where that is not limited."""

    cost_pico: int | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Tariff:
    """The most that one token of a model costs, as input and as output; dearer where the input is a long one."""

    input_pico: int
    output_pico: int
    over_tokens: int | None = None
    long_input_pico: int = 0
    long_output_pico: int = 0

    def rates(self, input_tokens: int) -> tuple[int, int]:
        """What a token of input and one of output cost, with so much input."""
        if self.over_tokens is not None and input_tokens > self.over_tokens:
            return self.long_input_pico, self.long_output_pico
        return self.input_pico, self.output_pico

    def cost(self, input_tokens: int, output_tokens: int = 0) -> int:
        """The most that a call costs."""
        of_input, of_output = self.rates(input_tokens)
        return input_tokens * of_input + output_tokens * of_output


@dataclass(frozen=True, slots=True)
class Caps:
    """What a deployment lets a user take in a day, and everybody together in a month."""

    day: Bounds = field(default_factory=Bounds)
    month: Bounds = field(default_factory=Bounds)


@dataclass(frozen=True, slots=True)
class Ask:
    """What a call of a model would like: its input as estimated, and `max_tokens` of an answer.

    `tariff` is None where the model has no known price.
    """

    input_tokens: int
    max_tokens: int
    tariff: Tariff | None = None
    caps: Caps = field(default_factory=Caps)


def affordable(ask: Ask, left: Bounds) -> int:
    """How many tokens of the answer can be paid for with what is left; below 0 where even its input can't.

    Where money is limited the ask must have a tariff.
    """
    most = ask.max_tokens
    if left.tokens is not None:
        most = min(most, left.tokens - ask.input_tokens)
    if left.cost_pico is not None and ask.tariff is not None:
        rest = left.cost_pico - ask.tariff.cost(ask.input_tokens)
        _, of_output = ask.tariff.rates(ask.input_tokens)
        if rest < 0:
            return -1
        most = min(most, rest // of_output if of_output else most)
    return most


def least_of(ask: Ask) -> int:
    """The shortest answer that is worth asking for."""
    return min(ask.max_tokens, LEAST_TOKENS)


def tokens_of(value: Any) -> int:
    """At most how many tokens a piece of a request is, by the bytes of its JSON; images and documents by their kind."""
    lean, of_media = _lean(value)
    return of_media - len(dump_json(lean).encode()) // -BYTES_A_TOKEN


def _lean(value: Any) -> tuple[Any, int]:
    """The value without the data of its images and documents, and the tokens of those."""
    if isinstance(value, list):
        parts = [_lean(item) for item in value]
        return [part for part, _ in parts], sum(tokens for _, tokens in parts)
    if not isinstance(value, dict):
        return value, 0
    source = value.get("source")
    is_media = isinstance(source, dict) and source.get("type") != "text"
    if is_media and value.get("type") == "image":
        return {}, IMAGE_TOKENS
    if is_media and value.get("type") == "document":
        return {}, DOCUMENT_TOKENS
    if "content" in value:  # a message, or the result of a tool
        content, tokens = _lean(value["content"])
        return {**value, "content": content}, tokens
    return value, 0
