"""Events of the Messages API in, deltas and the answer out. Pure, and surprised by nothing that a server may send."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

from engine.providers.blocks import Block, holdable, plain
from engine.providers.provider import Answer, Delta
from models.text import clean
from models.usage import Usage

CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})  # the last block may be only half there
_MOST_TOKENS = 2**53  # beyond this a count is nonsense, and more than a JSON reader can hold
_COUNTS = {
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
    "cache_read_input_tokens": "cache_read_tokens",
    "cache_creation_input_tokens": "cache_write_tokens",
}

CostOf = Callable[[str, Usage], Decimal | None]


def no_cost(model: str, usage: Usage) -> Decimal | None:
    """The cost of a model that has no price."""
    return None


class Accumulator:
    """Puts one response together.

    Feed it the events as they come, then take the rest from `close`. Events are dicts or objects with attributes;
    they are told apart by their `type` alone. What is unknown is kept: a block as it came, a delta merged into its
    block. Positions are given in the order in which blocks begin, which is their index wherever a server counts as
    the API does; a second block under an index is a block of its own. What comes for a block after its end is ignored.
    """

    def __init__(self, model: str, cost: CostOf = no_cost) -> None:
        self.model = model
        self.stop_reason: str | None = None
        self.started = False
        self.stopped = False
        self._cost = cost
        self._counts: dict[str, int] = {}
        self._blocks: list[Block] = []
        self._by_index: dict[Any, Block] = {}

    def feed(self, event: Any) -> Delta | None:
        """Take one event; the delta that it brought, if any."""
        match _get(event, "type"):
            case "content_block_delta":
                return self._continue_block(_key(_get(event, "index")), _get(event, "delta"))
            case "content_block_start":
                return self._start_block(_key(_get(event, "index")), _get(event, "content_block"))
            case "content_block_stop":
                block = self._by_index.get(_key(_get(event, "index")))
                return None if block is None else block.stop()
            case "message_start":
                self._start_message(_get(event, "message"))
            case "message_delta":
                self._end_message(_get(event, "delta"), _get(event, "usage"))
            case "message_stop":
                self.stopped = True
        return None

    def close(self) -> Iterator[Delta]:
        """End the blocks that are still open, each as its delta is taken; call it after the last event."""
        for block in self._blocks:
            delta = block.stop()
            if delta is not None:
                yield delta

    @property
    def whole(self) -> bool:
        """Whether the answer was ended by its server: message_stop came, and a reason why."""
        return self.stopped and self.stop_reason is not None

    @property
    def usage(self) -> Usage:
        """What was reported until now, with its cost."""
        counted = Usage(**self._counts, cost=None)
        return replace(counted, cost=self._cost(self.model, counted))

    def answer(self, request_id: str | None = None) -> Answer:
        """The whole answer; right once `close` has been drained."""
        blocks = [block.stored() for block in self._blocks]
        broken = {block.position: block.broken for block in self._blocks if block.broken is not None}
        last = self._blocks[-1] if self._blocks else None
        if last is not None and last.type == "tool_use" and self.stop_reason in CUT_SHORT:
            # JSON that parses may still be cut: a number that lacks its last digits. Never to be executed.
            broken.setdefault(last.position, last.raw_input())
            blocks[last.position]["input"] = {}
        return Answer(blocks, self.stop_reason, self.usage, self.model, request_id, broken)

    def partial(self, request_id: str | None = None) -> Answer:
        """What was shown until now; see Response.partial."""
        kept = [block.stored() if block.worth_keeping else None for block in self._blocks]
        showing = [block.position for block in self._blocks if block.worth_keeping and block.shows]
        length = showing[-1] + 1 if showing else 0
        blocks = [{"type": "text", "text": ""} if block is None else block for block in kept[:length]]
        broken = {b.position: b.broken for b in self._blocks[:length] if b.worth_keeping and b.broken is not None}
        return Answer(blocks, None, self.usage, self.model, request_id, broken)

    def _start_message(self, message: Any) -> None:
        self.started = True
        model = _get(message, "model")
        if isinstance(model, str) and model:
            self.model = clean(model)
        self._count(_get(message, "usage"))

    def _end_message(self, delta: Any, usage: Any) -> None:
        reason = _get(delta, "stop_reason")
        if reason is not None:
            self.stop_reason = clean(str(reason))
        self._count(usage)

    def _count(self, usage: Any) -> None:
        """The provider's newest figures: they are sums, so they replace the earlier ones; a missing one stands."""
        for theirs, ours in _COUNTS.items():
            figure = _get(usage, theirs)
            if type(figure) is int and 0 <= figure < _MOST_TOKENS:
                self._counts[ours] = figure

    def _start_block(self, index: Any, content: Any) -> Delta | None:
        data = plain(content)
        block = Block(len(self._blocks), data if isinstance(data, dict) else {"type": "unknown", "content": data})
        self._blocks.append(block)
        self._by_index[index] = block
        return block.first_delta()

    def _continue_block(self, index: Any, delta: Any) -> Delta | None:
        block = self._by_index.get(index)
        if block is None:
            implied = _IMPLIED.get(str(_get(delta, "type")))
            if implied is None:
                return None
            self._start_block(index, implied)
            block = self._by_index[index]
        return None if block.stopped else _grow(block, delta)


_IMPLIED: dict[str, dict[str, Any]] = {  # what a delta is of, where its block was never announced
    "text_delta": {"type": "text", "text": ""},
    "thinking_delta": {"type": "thinking", "thinking": "", "signature": ""},
}
_KNOWN = frozenset({"text_delta", "thinking_delta", "input_json_delta", "signature_delta", "citations_delta"})
_FITTING = {  # which of the known deltas a known block takes; another would give it a field that replay refuses
    "text": {"text_delta", "citations_delta"},
    "thinking": {"thinking_delta", "signature_delta"},
    "redacted_thinking": set(),
    "tool_use": {"input_json_delta"},
}


def _grow(block: Block, delta: Any) -> Delta | None:
    kind = _get(delta, "type")
    if isinstance(kind, str) and kind in _KNOWN and kind not in _FITTING.get(block.type, _KNOWN):
        return None
    match kind, block.type:
        case "text_delta", "text":
            return block.show(_get(delta, "text"))
        case "thinking_delta", "thinking":
            return block.show(_get(delta, "thinking"))
        case "input_json_delta", _:
            block.add_input(_get(delta, "partial_json"))
        case "signature_delta", _:
            block.put("signature", _get(delta, "signature"))
        case "citations_delta", _:
            block.append("citations", holdable(plain(_get(delta, "citation"))))
        case _:
            return block.merge(plain(delta))
    return None


def _get(holder: Any, name: str) -> Any:
    return holder.get(name) if isinstance(holder, dict) else getattr(holder, name, None)


def _key(index: Any) -> int | str:
    return index if isinstance(index, int) else repr(index)
