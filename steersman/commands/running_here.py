"""A turn that this very process works on, on the database of the settings."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import AsyncGenerator
from contextlib import aclosing

from engine.engine import Engine
from engine.errors import AgentNotFound, Refused
from engine.loading import Agents, load_agents
from engine.runs import Accepted
from engine.user import User
from models.single_process import FileInUse
from steersman import log
from steersman.commands.asked import Asked
from steersman.commands.complaints import Complaint
from steersman.commands.event_json import Event, event_json
from steersman.commands.following import follow
from steersman.commands.screen import Screen
from steersman.commands.showing import Show
from steersman.inprocess import events_of_turn
from steersman.process import bring_up_to_date, opened, without_drain
from steersman.provider import Kind, choose_provider
from steersman.settings import Settings, read_settings, secrets_of

SERVER = "http://127.0.0.1:8000"


class Here:
    """A turn on an engine of this process; see following.Source."""

    def __init__(self, engine: Engine, user: User, accepted: Accepted) -> None:
        self._engine = engine
        self._user = user
        self._accepted = accepted

    async def events(self) -> AsyncGenerator[Event]:
        """The turn's events."""
        async with aclosing(events_of_turn(self._engine, self._accepted)) as events:
            async for event in events:
                yield event_json(event)

    async def cancel(self) -> bool:
        """Stop the run; True once that is in the database."""
        await self._engine.runs.cancel(self._user, run_id=self._accepted.run.id, reason="Ctrl-C in the terminal")
        return True


async def run_here(
    asked: Asked, user_id: str, roles: tuple[str, ...], show: Show, screen: Screen, *, scripted: bool, local: bool
) -> int:
    """Run it in this process; the exit code. Raises Complaint, and what else is meant for people."""
    settings = _settings()
    choice = choose_provider(os.environ, scripted=scripted, local=local, fallback=Kind.SCRIPTED)
    agents = load_agents(settings.agents)
    if choice.kind is not Kind.API:
        screen.note(f"Answers come from {choice.why}.", "dim")
    try:
        await bring_up_to_date(settings, only_fresh=True)
        async with opened(settings, choice, agents, takes=False) as engine:
            user = User(user_id, frozenset(roles))
            accepted = await _start(engine, agents, user, asked)
            if accepted.queued:
                screen.note("The run is at work: what you said waits for its next step.", "dim")
            return await follow(Here(engine, user, accepted), show, screen)
    except FileInUse as error:
        raise Complaint(
            f"{error} To run it through the server that works there, add --url {SERVER} (or wherever it listens)."
        ) from error


def _settings() -> Settings:
    settings = without_drain(dataclasses.replace(read_settings(os.environ), worker=True))
    # The terminal is the run's: what others log as information would be between its lines.
    level = settings.log_level if settings.log_level in ("debug", "error") else "error"
    log.configure(settings.log_format, level, secrets=secrets_of(settings))
    return settings


async def _start(engine: Engine, agents: Agents, user: User, asked: Asked) -> Accepted:
    try:
        return await engine.runs.start(user, agent=asked.agent, input=asked.text, run_id=asked.run_id)
    except AgentNotFound as error:
        raise Complaint(_not_found(asked.agent, agents)) from error
    except Refused as error:
        raise Complaint(f"{error.message} ({error.code})") from error


def _not_found(name: str, agents: Agents) -> str:
    failed = [error for error in agents.errors if error.file.stem == name]
    if failed:
        return f"The agent {name!r} did not load. {failed[0]}"
    return f"There is no agent {name!r}; there are: {', '.join(agents) or 'none'}."
