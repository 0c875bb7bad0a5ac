"""Kinds: agents that code defines, as what stored agents are of. With a configuration one is an agent that runs."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.agent import Agent
from engine.bad_config import BadConfig
from engine.settlements import forbidden_words

_log = logging.getLogger("steersman.kinds")
NEVER_CHANGED = frozenset({"name", "config", "fields", "configure", "auth", "description", "examples"})
"""What a configuration does not reach: who may run the kind, and what it is."""
OPTIONS = frozenset(one.name for one in dataclasses.fields(Agent) if one.init) - NEVER_CHANGED
PARAMETERS = ("temperature", "repetition_penalty")
"""Options that not every provider takes."""


def configured(kind: Agent, given: Any) -> Agent:
    """The agent that a kind is with this configuration; None is one in which nothing is given. Raises BadConfig."""
    config = kind.config_type.check({} if given is None else given)
    if kind.fields is None:
        return kind
    try:
        told = dict(kind.configure(config)) if kind.configure is not None else {}
    except (ValueError, TypeError) as error:
        raise BadConfig(f"The configuration does not fit: {str(error)[:300]}") from error
    except Exception as error:
        _log.warning("the kind %s could not be configured", kind.name, exc_info=error)
        raise BadConfig(f"The configuration could not be used ({type(error).__name__}).") from error
    return _changed(kind, told, config)


def _changed(agent: Agent, told: Mapping[str, Any], config: Any) -> Agent:
    strays = sorted(map(str, told.keys() - OPTIONS))
    if strays:
        raise BadConfig(f"The kind's code sets {', '.join(strays)}, which is no option that it may set.")
    try:
        return dataclasses.replace(agent, config=config, **told)
    except (ValueError, TypeError) as error:
        place = next((name for name in told if str(error).startswith(f"{name} ")), None)
        known = place in agent.config_type.schema["properties"]
        raise BadConfig(f"The configuration does not fit: {error}.", (place,) if known and place else ()) from error


def check_model(
    agent: Agent, models_of: Callable[[Agent], Sequence[str]], refusal_of: Callable[[str], str | None]
) -> None:
    """Raise BadConfig where no model of the agent may be asked here, or its provider does not take what it sets."""
    if not models_of(agent):
        raise BadConfig(f"{forbidden_words(agent)}.", ("model",))
    for name in PARAMETERS:
        if getattr(agent, name) is not None and (why := refusal_of(name)) is not None:
            raise BadConfig(f"{name} can't be set here: {why}", (name,))
