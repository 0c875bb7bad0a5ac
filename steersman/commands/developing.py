"""The development server itself: migrate, load, serve, and say what to open."""

from __future__ import annotations

import os
import socket

import click

from engine.loading import Agents, load_agents
from steersman import log, pages
from steersman.commands.listening import address_of
from steersman.commands.loop import run_on_fast_loop
from steersman.commands.serving import serve_until_stopped
from steersman.commands.version import own_version
from steersman.process import bring_up_to_date
from steersman.provider import Choice, Kind, choose_provider
from steersman.settings import Settings, secrets_of, shown

_INDENT = 11


def develop(
    settings: Settings,
    listening: socket.socket,
    *,
    local: bool,
    scripted: bool,
    parent: int | None,
    again: bool,
    user: str,
    patience: float,
) -> None:
    """Serve until stopped. `again` says that it was started anew after a change; then it says less.

    Raises what can't be helped: FileInUse after `patience` seconds, LoadError where there is no agents folder, …
    """
    log.configure(settings.log_format, settings.log_level, secrets=secrets_of(settings))
    choice = choose_provider(os.environ, local=local, scripted=scripted, fallback=Kind.SCRIPTED)
    agents = load_agents(settings.agents)

    def ready() -> None:
        if not again:
            _introduce(settings, listening, choice, user)
        _tell_agents(agents, settings)
        click.echo("" if not again else f"Serving again at {address_of(listening)}/graphql.")

    async def work() -> None:
        if local and not again:
            click.echo("Starting the local model…")
        await bring_up_to_date(settings, patience=patience)
        await serve_until_stopped(
            settings, choice, agents, listening, ready=ready, dev_user=user, parent=parent, patience=2
        )

    run_on_fast_loop(work())


def _introduce(settings: Settings, listening: socket.socket, choice: Choice, user: str) -> None:
    address = address_of(listening)
    click.echo(f"\nSteersman {own_version()}, for development\n")
    if settings.console and pages.are_built():
        _line("Open", f"{address}/console")
        _line("GraphiQL", f"{address}/graphql")
    else:
        _line("API", f"{address}/graphql")
        why = "its pages are not built; Node 20.19 or newer and `make setup` build them"
        _line("Console", why if settings.console else "off (STEERSMAN_CONSOLE)")
    _line("You are", f"the user {user!r}, signed in from this machine without a token")
    _line("Answers", f"come from {choice.why}")
    _line("Data", shown(settings)["STEERSMAN_DATABASE_URL"])


def _tell_agents(agents: Agents, settings: Settings) -> None:
    _line("Agents", ", ".join(agents) or f"none loaded from {settings.agents}")
    for error in agents.errors:
        click.secho(f"{'Not loaded':<{_INDENT}}{error}", fg="red")
    for warning in agents.warnings:
        click.secho(f"{'Warning':<{_INDENT}}{warning}", fg="yellow")


def _line(name: str, words: str) -> None:
    click.echo(f"{name:<{_INDENT}}{words}")
