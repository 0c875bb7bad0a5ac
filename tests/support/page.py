"""What a browser shows of a run's events: text by UTF-16 code units, as JavaScript counts and cuts it."""

from __future__ import annotations

from typing import Any


class Page:
    """Applies events as the contract has it: `text = text.slice(0, offset) + delta.text`, block by block."""

    def __init__(self) -> None:
        self.last: dict[str, int] = {}
        self.blocks: dict[tuple[int, int, str], bytes] = {}
        self.problems: list[str] = []

    def show(self, event: dict[str, Any]) -> None:
        """Take one event; what is no event changes nothing."""
        kind = event.get("__typename")
        if "seq" not in event or "streamId" not in event:
            return
        if event["seq"] <= self.last.get(event["streamId"], 0):
            self.problems.append(f"{event} does not rise above {self.last}")
        self.last[event["streamId"]] = event["seq"]
        if kind == "StepRestarted":
            self.blocks = {key: units for key, units in self.blocks.items() if key[0] != event["step"]}
        elif kind in ("TextDelta", "ReasoningDelta"):
            self.apply(event)

    def apply(self, delta: dict[str, Any]) -> None:
        """Apply one delta, whatever was applied before."""
        key = delta["step"], delta["block"], delta["__typename"]
        units = self.blocks.get(key, b"")
        if delta["offset"] > len(units) // 2:
            self.problems.append(f"{delta} leaves a gap behind {len(units) // 2} units")
        self.blocks[key] = units[: delta["offset"] * 2] + delta["text"].encode("utf-16-le", "surrogatepass")

    @property
    def text(self) -> str:
        """The text of the answers, block after block; half a character is a replacement character."""
        return self._joined("TextDelta")

    @property
    def reasoning(self) -> str:
        """The text of the thoughts."""
        return self._joined("ReasoningDelta")

    def _joined(self, kind: str) -> str:
        shown = (units.decode("utf-16-le", "replace") for key, units in sorted(self.blocks.items()) if key[2] == kind)
        return "".join(shown)
