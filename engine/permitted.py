"""Which agents somebody may run here."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from engine.agent import Agent
from engine.errors import Forbidden, InvalidConfig, ModelNotAllowed
from engine.kinds import PARAMETERS
from engine.settlements import forbidden_words


def permitted(
    agent: Agent,
    name: str,
    roles: Collection[str],
    models_of: Callable[[Agent], Sequence[str]],
    refusal_of: Callable[[str], str | None],
) -> Agent:
    """The agent that was asked for by this name, where one with these roles may run it.

    `models_of` gives those of its models that are allowed here, `refusal_of` says why the provider does not take a
    parameter. Raises Forbidden, ModelNotAllowed, InvalidConfig.
    """
    if agent.auth != "user" and agent.auth not in roles:
        raise Forbidden(f"The agent {name!r} takes the role {agent.auth!r}.", field=("agent",))
    if not models_of(agent):
        raise ModelNotAllowed(f"{forbidden_words(agent)}.", field=("agent",))
    for parameter in PARAMETERS:
        if getattr(agent, parameter) is not None and (why := refusal_of(parameter)) is not None:
            raise InvalidConfig(f"{parameter} can't be set here: {why}", field=("agent",))
    return agent
