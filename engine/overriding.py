"""What clients may say of a run's own: overrides, history, tools, options; checked before anything is stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engine.bad_config import BadConfig
from engine.errors import InvalidConfig, InvalidInput
from engine.inputs import checked_object, checked_size
from engine.roster import NOTHING, Roster
from engine.run_overrides import RunOverrides
from engine.tool import NAME
from models.enums import Role
from models.overrides import Overrides, RunTool
from models.text import clean, clean_json
from models.verbs.opening import Said

MAX_SYSTEM = 262_144  # characters
MAX_HISTORY = 1_048_576  # bytes as JSON
MAX_SAID = 1_000
MAX_TOOLS = 100
MAX_REMOTES = 20
MAX_OPTIONS = 65_536  # bytes as JSON
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}


def checked_overrides(roster: Roster, given: RunOverrides | None) -> tuple[Overrides, tuple[Said, ...]]:
    """What a run has in its agent's place, and what was said before it. Raises InvalidInput, InvalidConfig."""
    if given is None:
        return NOTHING, ()
    system, tools, remotes = given.system, given.tools, given.remotes
    if system is not None and not (system.strip() and len(system) <= MAX_SYSTEM):
        message = f"A system prompt has 1 to {MAX_SYSTEM:,} characters."
        raise InvalidInput(message, field=("overrides", "system"))
    if remotes is not None and len(remotes) > MAX_REMOTES:
        raise InvalidInput(f"A run uses at most {MAX_REMOTES} remotes.", field=("overrides", "remotes"))
    checked = Overrides(
        system=None if system is None else clean(system),
        tools=None if tools is None else checked_tools(roster, tools, ("overrides", "tools")),
        remotes=None if remotes is None else tuple(dict.fromkeys(map(clean, remotes))),
    )
    return checked, _checked_history(given.history)


def checked_tools(roster: Roster, given: Sequence[RunTool], field: tuple[str, ...]) -> tuple[RunTool, ...]:
    """Tools that can be made, each under a name of its own. Raises InvalidInput, InvalidConfig."""
    if len(given) > MAX_TOOLS:
        raise InvalidInput(f"A run has at most {MAX_TOOLS} tools of its own.", field=field)
    checked: dict[str, RunTool] = {}
    for place, one in enumerate(given):
        here = (*field, str(place))
        if not NAME.fullmatch(one.name):
            raise InvalidInput("A tool's name is 1 to 64 letters, digits, _ or -.", field=(*here, "name"))
        if one.name in checked:
            raise InvalidInput(f"Two tools are named {one.name!r}.", field=(*here, "name"))
        config = None if one.config is None else checked_object("config", one.config, MAX_OPTIONS)
        made = RunTool(one.name, clean(one.type), config)
        try:
            roster.check_tool(made.name, made.value)
        except BadConfig as error:
            raise InvalidConfig(str(error), field=(*here, *error.place)) from error
        checked[made.name] = made
    return tuple(checked.values())


def _checked_history(given: Any) -> tuple[Said, ...]:
    """What was said before the run: objects with a role and a content, text or text blocks. Raises InvalidInput."""
    field = ("overrides", "history")
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > MAX_SAID:
        message = f"history is a list of at most {MAX_SAID:,} messages, each an object with a role and a content."
        raise InvalidInput(message, field=field)
    cleaned = checked_size("history", given, MAX_HISTORY, field)
    said = tuple(_said(one, (*field, str(place))) for place, one in enumerate(cleaned))
    if said and said[0].role is not Role.USER:
        raise InvalidInput("history begins with what a user said.", field=(*field, "0", "role"))
    return said


def _said(given: Any, field: tuple[str, ...]) -> Said:
    if not isinstance(given, Mapping) or given.keys() - {"role", "content"}:
        raise InvalidInput("A message of the history has a role and a content alone.", field=field)
    named = given.get("role")
    role = _ROLES.get(named.lower()) if isinstance(named, str) else None
    if role is None:
        raise InvalidInput('A role is "user" or "assistant".', field=(*field, "role"))
    content = given.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list) or not blocks or not all(map(_is_text, blocks)):
        message = "A content is text with something in it, or a list of blocks {type: text, text}."
        raise InvalidInput(message, field=(*field, "content"))
    return Said(role, content if role is Role.USER and isinstance(content, str) else blocks)


def _is_text(block: Any) -> bool:
    if not isinstance(block, Mapping) or set(block) != {"type", "text"} or block["type"] != "text":
        return False
    return isinstance(block["text"], str) and bool(block["text"].strip())


def checked_options(given: Any) -> dict[str, Any] | None:
    """Fields of an agent's kind, for one run; None where none are given. Raises InvalidInput."""
    return None if given is None else checked_object("options", given, MAX_OPTIONS) or None


def prompt_of(instruction: str, given: Any) -> str:
    """What the model reads of a prompt: the instruction, and the structured input as JSON. Raises InvalidInput."""
    if given is None:
        return instruction
    try:
        text = json.dumps(clean_json(given), ensure_ascii=False, indent=2, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("input can't be written as JSON.", field=("input",)) from error
    return f"{instruction.rstrip()}\n\n<input>\n{text}\n</input>"
