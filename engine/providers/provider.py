"""The seam between the loop and whatever makes answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from models.usage import Usage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model.

    `messages` are `{"role": "user" | "assistant", "content": str | [blocks]}`, already fit for a provider (see
    engine/transcript.py); `tools` are `{"name", "description", "input_schema"}`. `reasoning` asks to be shown a summary
    of what the model thinks, where the model can give one.
    """

    model: str
    messages: list[dict[str, Any]]
    system: str | None = None
    tools: list[dict[str, Any]] = field(default_factory=list)
    max_tokens: int = 8_192
    reasoning: bool = False


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


class Provider(Protocol):
    """Makes answers. Raises ProviderFailure and nothing else of its own; leaving the context closes the connection."""

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[Response]:
        """Ask the model; the answer is taken within the context."""
        ...


class FailureKind(StrEnum):
    """The kinds of a provider's failure."""

    ERROR = "error"
    OVERLOADED = "overloaded"
    TIMEOUT = "timeout"


class ProviderFailure(Exception):
    """A provider failed.

    `retryable` tells whether asking again may help; `retry_after` is in seconds, where the provider named it. The
    exception's own text is for the log alone; `shown` is what a run's owner may read: no raw words, keys or addresses.
    """

    def __init__(
        self,
        kind: FailureKind,
        detail: str,
        *,
        shown: str,
        retryable: bool,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.shown = shown
        self.retryable = retryable
        self.retry_after = retry_after
        self.usage = usage
