"""The seam between the loop and whatever makes answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol, runtime_checkable

from models.usage import Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model.

    `messages` are `{"role": "user" | "assistant", "content": str | [blocks]}`, already fit for a provider (see
    engine/transcript.py); `tools` are `{"name", "description", "input_schema"}`. `reasoning` asks to be shown a summary
    of what the model thinks, where the model can give one. `output` is the JSON schema of the final answer, which
    `system` tells the model of: for providers that make answers themselves. `temperature` and `repetition_penalty` are
    left to the provider where they are None; `tool_choice` "any" wants a call of some tool, "none" none.
    """

    model: str
    messages: list[dict[str, Any]]
    system: str | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)
    max_tokens: int = 8_192
    reasoning: bool = False
    output: dict[str, Any] | None = None
    temperature: float | None = None
    repetition_penalty: float | None = None
    tool_choice: Literal["auto", "any", "none"] = "auto"


@dataclass(frozen=True, slots=True)
class Delta:
    """More of one block of the answer; `text` is never empty and already clean (models/text.py).

    `block` is the position that the block will have in `Answer.blocks`; the deltas of a block, joined, are its text.
    """

    kind: Literal["text", "reasoning"]
    block: int
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a call: the blocks as they came, in the order in which they began.

    Nothing in them is unfit for a database: NUL and lone surrogates are U+FFFD, numbers that JSON lacks are null.
    `broken` maps the position of a tool_use block whose input was no JSON object, or was cut, to the raw text that
    came; such a block's `input` is {} in `blocks`, and it is never executed. `stop_reason` is None where the answer was
    cut. `usage` carries the cost where the model has a price.
    """

    blocks: list[dict[str, Any]]
    stop_reason: str | None
    usage: Usage
    model: str
    request_id: str | None = None
    broken: dict[int, str] = field(default_factory=dict)


class Response(Protocol):
    """An answer on its way: iterate the deltas, then take `answer`."""

    def __aiter__(self) -> AsyncIterator[Delta]: ...

    @property
    def answer(self) -> Answer:
        """The whole answer, once the iteration has ended by itself."""
        ...

    def partial(self) -> Answer:
        """What was shown until now, stop_reason None: text and thinking as far as it came, and whole tool calls.

        Blocks keep the positions that their deltas named: in the place of one that is not kept stands an empty text
        block, and the list ends with the last block that shows something. Nothing shown: no blocks.
        """
        ...


def known_usage(response: Response) -> Usage | None:
    """What was reported of a response until now; None where its input has not been counted yet."""
    usage = response.partial().usage
    counted = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return usage if counted else None


class Provider(Protocol):
    """Makes answers. Raises ProviderFailure and nothing else of its own; leaving the context closes the connection."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[Response]:
        """Ask the model; the answer is taken within the context."""
        ...


@runtime_checkable
class KnowsContexts(Protocol):
    """A provider that can tell how much its models read."""

    async def context_of(self, model: str) -> int | None:
        """The most tokens of a request to the model; None where that can't be told."""
        ...


@runtime_checkable
class KnowsParameters(Protocol):
    """A provider that does not take every parameter of a request."""

    def refusal_of(self, parameter: str) -> str | None:
        """Why it does not take this parameter of a request, as a sentence; None where it does."""
        ...


class FailureKind(StrEnum):
    """The kinds of a provider's failure."""

    ERROR = "error"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"
    TOO_LONG = "too_long"
    """The request has more tokens than the model reads."""


class ProviderFailure(Exception):
    """A provider failed.

    `retryable` tells whether asking again may help, `elsewhere` whether asking another model may (as `retryable` where
    that is not said); `retry_after` is in seconds, where the provider named it. The exception's own text is for the log
    alone; `shown` is what a run's owner may read: no raw words, keys or addresses.
    """

    def __init__(
        self,
        kind: FailureKind,
        detail: str,
        *,
        shown: str,
        retryable: bool,
        elsewhere: bool | None = None,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.shown = shown
        self.retryable = retryable
        self.elsewhere = retryable if elsewhere is None else elsewhere
        self.retry_after = retry_after
        self.usage = usage
