"""`steersman dev`."""

from __future__ import annotations

import asyncio
import os
import socket
from dataclasses import replace

import click

from steersman import reading
from steersman.auth import is_loopback
from steersman.commands.complaints import Complaint
from steersman.commands.listening import listen
from steersman.commands.supervising import CHILD_OPTION, supervise
from steersman.settings import Settings, read_settings

USER = "dev"
_PATIENCE = 1.5  # seconds for a process that was killed just now to let go of the port, and of the SQLite file


@click.command("dev")
@click.option("--host", metavar="ADDRESS", help="Listen on this loopback address instead of STEERSMAN_HOST.")
@click.option("--port", metavar="N", help="Listen on this port instead of STEERSMAN_PORT; 0 takes any free one.")
@click.option("--local-model", is_flag=True, help="Let a small real model on this machine answer; needs no key.")
@click.option("--scripted", is_flag=True, help="Let the scripted demo model answer, even where there is a key.")
@click.option("--no-reload", is_flag=True, help="Do not start anew when a file changes.")
@click.option(CHILD_OPTION, "child", hidden=True)
@click.pass_context
def command(
    ctx: click.Context,
    *,
    host: str | None,
    port: str | None,
    local_model: bool,
    scripted: bool,
    no_reload: bool,
    child: str | None,
) -> None:
    """Serve and run agents on this machine, and start anew when a file changes.

    It brings the database up to date (a SQLite file, unless STEERSMAN_DATABASE_URL says otherwise), serves the API with
    GraphiQL, and signs in whoever asks from this machine without a token as the user `dev`. Without ANTHROPIC_API_KEY
    the agents run on a scripted demo model, which plays turns with their tools. A file of the agents folder that does
    not load is told, and the other agents go on.

    Ctrl-C stops at once. Runs that were under way go on at the next start.
    """
    settings = _settings(host, port)
    if local_model and scripted:
        raise click.UsageError("Give --local-model or --scripted, not both.")
    if child is not None:
        listening_fd, parent, first = (int(part) for part in child.split(","))
        listening = socket.socket(fileno=listening_fd)
        _serve(settings, listening, local=local_model, scripted=scripted, parent=parent, again=not first)
        return
    with listen(settings.host, settings.port, patience=_PATIENCE) as listening:
        if no_reload:
            _serve(settings, listening, local=local_model, scripted=scripted)
            return
        if not settings.agents.is_dir():
            raise Complaint(f"There is no folder {settings.agents}: create it, or set STEERSMAN_AGENTS to another.")
        ctx.exit(asyncio.run(supervise(listening, settings.agents)))


def _settings(host: str | None, port: str | None) -> Settings:
    settings = replace(read_settings(os.environ), worker=True, drain_seconds=0.0)
    if host is not None:
        settings = replace(settings, host=host)
    if port is not None:
        try:
            settings = replace(settings, port=reading.whole(0, 65535)(port))
        except reading.Unreadable as error:
            raise click.UsageError(f"--port {error}") from error
    if not is_loopback(settings.host):
        raise Complaint(
            f"`steersman dev` signs in whoever asks, so it listens on this machine alone, not on {settings.host}: "
            "use 127.0.0.1, or `steersman serve` with tokens."
        )
    return settings


def _serve(
    settings: Settings,
    listening: socket.socket,
    *,
    local: bool,
    scripted: bool,
    parent: int | None = None,
    again: bool = False,
) -> None:
    # The supervisor needs none of this, and starts the faster without.
    from steersman.commands.developing import develop  # noqa: PLC0415 - see above

    develop(
        settings,
        listening,
        local=local,
        scripted=scripted,
        parent=parent,
        again=again,
        user=USER,
        patience=_PATIENCE,
    )
