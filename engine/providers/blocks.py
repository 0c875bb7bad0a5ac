"""One block of a response while it grows: its text as it was shown, its tool input parsed once, at its end."""

from __future__ import annotations

import json
import math
from typing import Any, Literal, NoReturn

from engine.providers.provider import Delta
from models.text import REPLACEMENT, clean

SHOWN: dict[str, tuple[str, Literal["text", "reasoning"]]] = {  # block type -> the field that is shown, and as what
    "text": ("text", "text"),
    "thinking": ("thinking", "reasoning"),
}
_IDENTITY = frozenset({"type", "id", "name"})  # never grown by a delta
_DEEPEST = 100  # levels of nesting that a tool input may have: more than JSON writers and databases all take is useless


class Block:
    """A block from its start to its end; `position` is its place in the answer.

    `broken` is the raw text of a tool call's input that was no JSON object; None while all is well.
    """

    def __init__(self, position: int, start: dict[str, Any]) -> None:
        self.position = position
        kind = start.get("type")
        self.type = clean(kind) if isinstance(kind, str) else "unknown"
        self.stopped = False
        self.broken: str | None = None
        self._field: str | None
        self._kind: Literal["text", "reasoning"] | None
        self._field, self._kind = SHOWN.get(self.type, (None, None))
        self._initial = start.get(self._field) if self._field else None
        self._data: dict[str, Any] = {**holdable(start), "type": self.type}
        self._shown: list[str] = []
        self._held = ""  # the first half of a surrogate pair whose second half is still to come
        self._texts: dict[str, list[str]] = {}
        self._input: list[str] = []
        if self._field:
            self._data[self._field] = ""
        if self.type == "tool_use":
            for name in ("id", "name"):
                self._data[name] = _word(self._data.get(name))

    def first_delta(self) -> Delta | None:
        """The text that the block began with, if any; to be taken once."""
        initial, self._initial = self._initial, None
        return self.show(initial)

    def show(self, piece: Any) -> Delta | None:
        """Add to the text that is shown; the delta of it. What is no text, or goes to a block without, is dropped."""
        if not isinstance(piece, str) or self._kind is None:
            return None
        text = self._held + piece
        self._held = ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            self._held, text = text[-1], text[:-1]
        return self._delta(clean(text))

    def add_input(self, piece: Any) -> None:
        """Add to the JSON of the input. What is no text makes it broken rather than empty."""
        if piece is not None:
            self._input.append(piece if isinstance(piece, str) else repr(piece))

    def put(self, name: str, value: Any) -> None:
        """Set a field that comes as one text."""
        if isinstance(value, str):
            self._data[name] = clean(value)

    def append(self, name: str, value: Any) -> None:
        """Add to a field that is a list."""
        if value is not None:
            held = self._data.get(name)
            self._data[name] = [*held, value] if isinstance(held, list) else [value]

    def merge(self, delta: Any) -> Delta | None:
        """Keep a delta of an unknown type: texts and lists grow, objects are laid over, anything else replaces."""
        shown = None
        for name, value in delta.items() if isinstance(delta, dict) else ():
            if name == self._field:
                shown = self.show(value)
            elif name in _IDENTITY:
                if name != "type":
                    self._data.setdefault(name, holdable(value))
            elif isinstance(value, str) and not isinstance(self._data.get(name), list | dict):
                self._texts.setdefault(name, []).append(value)
            else:
                self._data[name] = _merged(self._data.get(name), holdable(value))
        return shown

    def stop(self) -> Delta | None:
        """End the block: a half character that was held back is shown as U+FFFD, the tool input is parsed."""
        if self.stopped:
            return None
        self.stopped = True
        if self._input or self.type == "tool_use":
            self._parse_input()
        held, self._held = self._held, ""
        return self._delta(REPLACEMENT) if held else None

    def stored(self) -> dict[str, Any]:
        """The block as it is to be stored: as far as it has come, and a copy."""
        data = dict(self._data)
        for name, pieces in self._texts.items():
            held = data.get(name)
            data[name] = (held if isinstance(held, str) else "") + clean("".join(pieces))
        if self._field:
            data[self._field] = "".join(self._shown)
        return data

    def raw_input(self) -> str:
        """The tool input as text, as it came."""
        return clean("".join(self._input)) or json.dumps(self._data.get("input"), ensure_ascii=False)

    @property
    def shows(self) -> bool:
        """Whether there is anything of it to see."""
        return bool(self._shown) if self._field else self.stopped and self.type != "redacted_thinking"

    @property
    def worth_keeping(self) -> bool:
        """Whether what there is of it can stand in a transcript: any text, and anything else that is whole."""
        return self.stopped or bool(self._shown)

    def _delta(self, text: str) -> Delta | None:
        if not text or self._kind is None:
            return None
        self._shown.append(text)
        return Delta(self._kind, self.position, text)

    def _parse_input(self) -> None:
        raw = "".join(self._input)
        given = self._data.get("input")
        if raw.strip():
            value = parse_object(raw)
        elif given is None or given == "":
            value = {}
        else:
            value = given if isinstance(given, dict) else None
        if value is None and self.type == "tool_use":
            self.broken = self.raw_input()
        self._data["input"] = {} if value is None else value


def parse_object(raw: str) -> dict[str, Any] | None:
    """A JSON object, clean; None where the text is none, holds NaN or an infinity, or nests beyond all use."""
    try:
        value = json.loads(raw, parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or _nests_deeper(value, _DEEPEST):
        return None
    return holdable(value)  # type: ignore[no-any-return]  # an object stays one


def plain(value: Any) -> Any:
    """What an SDK's object holds, as it came: dicts, lists and scalars. Anything else is handed back."""
    dump = getattr(value, "model_dump", None)
    if dump is not None:
        return dump(exclude_unset=True, by_alias=True, warnings=False)
    return value


def holdable(value: Any) -> Any:
    """A copy of a JSON value that every database and JSON reader can hold: clean texts, no NaN, no infinity."""
    match value:
        case str():
            return clean(value)
        case dict():
            return {clean(str(key)): holdable(item) for key, item in value.items()}
        case list() | tuple():
            return [holdable(item) for item in value]
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int():
            return value
        case _:
            return clean(str(value))


def _merged(held: Any, value: Any) -> Any:
    if isinstance(held, list):
        return [*held, *value] if isinstance(value, list) else [*held, value]
    if isinstance(held, dict) and isinstance(value, dict):
        return {**held, **value}
    return value


def _word(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _nests_deeper(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels):
        layer = [item for held in layer for item in (held.values() if isinstance(held, dict) else held)]
        layer = [item for item in layer if isinstance(item, dict | list)]
        if not layer:
            return False
    return True
