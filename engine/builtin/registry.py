"""The tool types that there are."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from engine.builtin.calculator import CALCULATOR
from engine.builtin.clock import CLOCK
from engine.builtin.fetch import FETCH
from engine.builtin.handing_on import AGENT
from engine.builtin.knowledge import KNOWLEDGE
from engine.builtin.tool_type import ToolType

BUILTIN: Mapping[str, ToolType] = MappingProxyType(
    {one.identifier: one for one in (CALCULATOR, CLOCK, FETCH, KNOWLEDGE, AGENT)}
)
"""Each by its identifier."""
