"""What `steersman run` is asked to do."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """One input for an agent; `run_id` goes on with a run instead of starting one."""

    agent: str
    text: str
    run_id: str | None = None
