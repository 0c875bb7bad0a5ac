"""The compaction of an agent: when older turns give way to a summary in what its model reads, and to which."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """When a conversation has come near its model's context limit, and what the model reads of it from then on.

    - `at`: the share of the context that a request may fill before something is done; 0 turns compaction off.
    - `keep`: the share that recent turns may fill and stay as they are when older ones are summed up.
    - `trim`: characters that are left of an old tool result that is longer.
    - `model`: who writes the summary; None: the deployment's choice, STEERSMAN_SUMMARY_MODEL.
    - `context_tokens`: the context in tokens, where it should be less than the model's own.

    The transcript itself is never changed. Raises ValueError for what does not fit.
    """

    at: float = 0.8
    keep: float = 0.25
    trim: int = 4_000
    model: str | None = None
    context_tokens: int | None = None

    def __post_init__(self) -> None:
        if not _is_share(self.at) or not _is_share(self.keep) or (self.at and self.keep >= self.at):
            words = f"{self.at!r} and {self.keep!r}"
            raise ValueError(f"compaction: at and keep are shares from 0 to 1, keep the smaller one, not {words}")
        if self.model is not None and not self.model.strip():
            raise ValueError(f"compaction: model is a model's name, not {self.model!r}")
        for name, of in (("trim", "characters"), ("context_tokens", "tokens")):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise ValueError(f"compaction: {name} is a whole number of {of} from 1, not {value!r}")


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and 0 <= value <= 1


OFF = Compaction(at=0)
