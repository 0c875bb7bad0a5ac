"""The transcript as a provider takes it, and small questions about it: pure functions, list to list.

What is stored is what came. `replay` makes of it what the Messages API accepts, whatever is stored: nothing here
changes its input, and no stored block, however odd, can make a run unusable.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from models.content import INTERRUPTED, input_block, result_block
from models.enums import Role
from models.message import Message
from models.text import clean

Block = dict[str, Any]

FAILED = "tool failed"
"""What the model reads of a failed call that said nothing: the API refuses an error without content."""
FILLER = "Continue."
"""The user's turn where the API wants one and the transcript has none: before a first answer and after a last one."""
TITLE_LENGTH = 80

_BAD_CHARACTERS = re.compile(r"[^a-zA-Z0-9_-]")
_SNAPSHOT = re.compile(r"-(\d{8}|latest)$")
# control characters, and those that turn the direction of text
_UNTITLED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_ID_LENGTH = 64
_NAME_LENGTH = 128
_THINKING = ("thinking", "redacted_thinking")


@dataclass(slots=True)
class _Turn:
    """Consecutive messages of one role, on their way to a provider; `stop_reason` is the last one's."""

    role: Role
    blocks: list[Block]
    stop_reason: str | None = None


def replay(messages: Sequence[Message], model: str) -> list[dict[str, Any]]:
    """The transcript as the `messages` of a request to `model`: `{"role", "content": [blocks]}`.

    Roles alternate and the user's comes first. Every tool_use has exactly one tool_result at the beginning of the next
    turn, in the order of the calls. Empty text, thinking that `model` did not sign, and blocks that make no sense are
    left out; blocks of unknown types are handed on as they are. An answer that was cut is left out where it is the last
    turn, or where another took its place; one that paused ("pause_turn") stays last, so that the provider goes on.
    """
    turns = [_Turn(message.role, _fit_blocks(message, model), message.stop_reason) for message in messages]
    turns = [turn for turn in turns if turn.blocks]
    turns = _merged(_without_superseded(turns))
    for turn in turns:
        if turn.role is Role.ASSISTANT:
            turn.blocks = _with_whole_server_calls(turn, is_last=turn is turns[-1])
            while turn.blocks and turn.blocks[-1]["type"] in _THINKING:
                turn.blocks.pop()  # the API refuses an answer that ends with it
    turns = _merged(turns)
    turns = _merged(_paired(turns))
    return [{"role": turn.role.value.lower(), "content": turn.blocks} for turn in _between_users(turns)]


def _without_superseded(turns: list[_Turn]) -> list[_Turn]:
    """Without the answers that were cut and then asked for anew: the model would read their beginnings twice."""
    kept: list[_Turn] = []
    for turn in reversed(turns):
        cut = turn.role is Role.ASSISTANT and turn.stop_reason is None
        if not cut or (kept and kept[-1].role is Role.USER):
            kept.append(turn)
    kept.reverse()
    return kept


# What a single message is made of


def _fit_blocks(message: Message, model: str) -> list[Block]:
    """Those of the message's blocks that a provider takes, on their own; copies, one level deep."""
    content = [input_block(message.content)] if isinstance(message.content, str) else message.content
    if not isinstance(content, list):
        return []
    fit = _fit_user_block if message.role is Role.USER else _fit_assistant_block
    blocks = [fitted for block in content if isinstance(block, dict) and (fitted := fit(block)) is not None]
    if message.role is Role.USER or _same_model(message.model, model):
        return blocks
    return [block for block in blocks if block["type"] not in _THINKING]


def _same_model(one: str | None, other: str) -> bool:
    """Whether two names mean one model: a name without a date, or "-latest", may be answered with a dated one."""
    if one is None or one == other:
        return one is not None
    is_dated = one[-1:].isdigit() and other[-1:].isdigit() and _SNAPSHOT.search(one) and _SNAPSHOT.search(other)
    return not is_dated and _SNAPSHOT.sub("", one) == _SNAPSHOT.sub("", other)


def _fit_user_block(block: Block) -> Block | None:
    match block:
        case {"type": "tool_result", "tool_use_id": str()}:
            return _fit_result(block)
        case {"type": "tool_result" | "tool_use" | "thinking" | "redacted_thinking"}:
            return None
        case {"type": str(kind)} if _is_server_use(kind) or _is_server_result(kind):
            return None
    return _fit_any_block(block)


def _fit_assistant_block(block: Block) -> Block | None:
    match block:
        case {"type": "tool_use", "id": str(), "name": str(name)}:
            arguments = block.get("input")
            return block | {
                "name": _BAD_CHARACTERS.sub("_", name)[:_NAME_LENGTH] or "unknown",
                "input": arguments if isinstance(arguments, dict) else {},
            }
        case {"type": "thinking", "thinking": str(), "signature": str(signature)} if signature:
            return dict(block)
        case {"type": "redacted_thinking", "data": str(data)} if data:
            return dict(block)
        case {"type": "tool_result" | "tool_use" | "thinking" | "redacted_thinking"}:
            return None
        case {"type": str(kind)} if _is_server_use(kind):
            arguments = block.get("input")
            return block | {"input": arguments if isinstance(arguments, dict) else {}} if _has_id(block) else None
        case {"type": str(kind)} if _is_server_result(kind):
            return dict(block) if isinstance(block.get("tool_use_id"), str) else None
    return _fit_any_block(block)


def _fit_any_block(block: Block) -> Block | None:
    match block:
        case {"type": "text", "text": str(text)}:
            return dict(block) if text.strip() else None
        case {"type": "image" | "document", "source": dict()}:
            return dict(block)
        case {"type": "text" | "image" | "document" | ""}:
            return None
        case {"type": str()}:
            return dict(block)
    return None


def _fit_result(block: Block) -> Block:
    """A tool_result whose content the API takes: text, or a list of blocks; never nothing where it is an error."""
    is_error = bool(block.get("is_error"))
    content = block.get("content")
    if isinstance(content, list):
        content = [fitted for item in content if (fitted := _fit_inner_block(item)) is not None]
    elif content is None:
        content = ""
    elif not isinstance(content, str):
        content = json.dumps(content, default=str)
    if not content or (is_error and isinstance(content, str) and not content.strip()):
        content = FAILED if is_error else ""
    fitted = block | {"content": content}
    if "is_error" in block:
        fitted["is_error"] = is_error
    return fitted


def _fit_inner_block(block: Any) -> Block | None:
    """A block inside a tool_result."""
    if not isinstance(block, dict) or block.get("type") == "tool_result":
        return None
    return _fit_user_block(block)


def _is_server_use(kind: str) -> bool:
    """Whether such a block is a call that the provider runs itself (server_tool_use, mcp_tool_use, …)."""
    return kind.endswith("_tool_use")


def _is_server_result(kind: str) -> bool:
    """Whether such a block is the result of a call that the provider ran (web_search_tool_result, …)."""
    return kind.endswith("_tool_result")


def _has_id(block: Block) -> bool:
    return isinstance(block.get("id"), str) and bool(block["id"])


# How messages stand to each other


def _merged(turns: Iterable[_Turn]) -> list[_Turn]:
    """Turns that have something in them, those of one role that follow each other put together."""
    result: list[_Turn] = []
    for turn in turns:
        if not turn.blocks:
            continue
        if result and result[-1].role is turn.role:
            result[-1] = _Turn(turn.role, result[-1].blocks + turn.blocks, turn.stop_reason)
        else:
            result.append(turn)
    return result


def _with_whole_server_calls(turn: _Turn, *, is_last: bool) -> list[Block]:
    """An answer's blocks without the provider's own calls that lack their result there, and results that lack a call.

    A last answer that paused may have such a call: the provider goes on with it.
    """
    paused = is_last and turn.stop_reason == "pause_turn" and not tool_uses(turn.blocks)
    waiting: dict[str, int] = {}
    left_out: set[int] = set()
    for index, block in enumerate(turn.blocks):
        if _is_server_use(block["type"]):
            if waiting.setdefault(block["id"], index) != index:
                left_out.add(index)
        elif _is_server_result(block["type"]) and waiting.pop(block["tool_use_id"], None) is None:
            left_out.add(index)
    if not paused:
        left_out.update(waiting.values())
    return [block for index, block in enumerate(turn.blocks) if index not in left_out]


def _paired(turns: list[_Turn]) -> list[_Turn]:
    """Every call with its one result in the user's turn right after it, under ids that occur once in the transcript."""
    result: list[_Turn] = []
    taken: dict[str, int] = {}
    calls: list[Block] = []
    for turn in turns:
        if turn.role is Role.ASSISTANT:
            calls = [block for block in turn.blocks if block["type"] == "tool_use"]
            names = [_unused(call["id"], taken) for call in calls]
            fresh = iter(names)
            blocks = [block | {"id": next(fresh)} if block["type"] == "tool_use" else block for block in turn.blocks]
            result.append(_Turn(turn.role, blocks, turn.stop_reason))
            if calls:
                result.append(_Turn(Role.USER, [result_block(name, INTERRUPTED, True) for name in names]))
        else:
            if calls:
                result[-1].blocks = _results(calls, result[-1].blocks, turn.blocks)
            result.append(_Turn(turn.role, [block for block in turn.blocks if block["type"] != "tool_result"]))
            calls = []
    return result


def _results(calls: list[Block], missing: list[Block], blocks: list[Block]) -> list[Block]:
    """The results of `calls` in their order, from `blocks` where there is one, else as `missing` has it.

    Of several calls that share an id the first gets the first result.
    """
    stored: defaultdict[str, deque[Block]] = defaultdict(deque)
    for block in blocks:
        if block["type"] == "tool_result":
            stored[block["tool_use_id"]].append(block)
    return [
        stored[call["id"]].popleft() | {"tool_use_id": stand_in["tool_use_id"]} if stored[call["id"]] else stand_in
        for call, stand_in in zip(calls, missing, strict=True)
    ]


def _unused(identifier: str, taken: dict[str, int]) -> str:
    """The id itself where the API takes it and it is new, else one made from it; `taken` has how often each was met."""
    base = _BAD_CHARACTERS.sub("_", identifier)[:_ID_LENGTH] or "call"
    count = taken.get(base, 0) + 1
    unused = base
    while unused in taken:
        unused = f"{base[: _ID_LENGTH - 8]}_{count}"
        count += unused in taken
    taken[base] = count
    taken.setdefault(unused, 1)
    return unused


def _between_users(turns: list[_Turn]) -> list[_Turn]:
    """The turns with a user's one before the first answer, and after the last one unless that paused."""
    if not turns or turns[0].role is Role.ASSISTANT:
        turns = [_Turn(Role.USER, [input_block(FILLER)]), *turns]
    if turns[-1].role is Role.ASSISTANT and turns[-1].stop_reason != "pause_turn":
        turns = [*turns, _Turn(Role.USER, [input_block(FILLER)])]
    return turns


# Questions about what is stored


def tool_uses(content: Any) -> list[Block]:
    """The tool_use blocks of a message's content, in order."""
    return _of_type(content, "tool_use")


def title_of(text: str) -> str:
    """A title from a first input: one clean line of at most TITLE_LENGTH characters, cut at a word."""
    line = " ".join(_UNTITLED.sub(" ", clean(text)).split())
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[:TITLE_LENGTH]
    space = cut.rfind(" ")
    if space < TITLE_LENGTH // 2:
        space = TITLE_LENGTH - 1
    return cut[:space].rstrip() + "…"


def _of_type(content: Any, kind: str) -> list[Block]:
    blocks = content if isinstance(content, list) else []
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]


def _answer(call: Block, answered: defaultdict[object, int]) -> bool:
    """Whether the call has a result among those counted; takes it from them."""
    key = _key(call.get("id"))
    if not answered[key]:
        return False
    answered[key] -= 1
    return True


def _key(identifier: object) -> object:
    return identifier if isinstance(identifier, str) else None
