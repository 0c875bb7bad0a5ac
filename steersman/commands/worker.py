"""`steersman worker`."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import replace

import click

from engine.loading import Agents
from steersman import log
from steersman.commands.loop import leave_at_once, on_signal, run_on_fast_loop
from steersman.commands.serve import load_and_tell
from steersman.process import opened
from steersman.provider import Choice, choose_provider
from steersman.settings import Settings, read_settings, secrets_of

logger = logging.getLogger("steersman.worker")


@click.command("worker")
def command() -> None:
    """Run agents, and serve nothing.

    For machines beside those that serve, on one PostgreSQL database. It needs a database that is migrated and a
    provider (ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL). A SQLite file lets one process in: there `serve` runs the
    agents itself. SIGTERM or Ctrl-C drains as `serve` does, a second one leaves at once.
    """
    settings = replace(read_settings(os.environ), worker=True)
    log.configure(settings.log_format, settings.log_level, secrets=secrets_of(settings))
    choice = choose_provider(os.environ)
    run_on_fast_loop(_work(settings, choice, load_and_tell(settings)))
    logger.info("stopped")


async def _work(settings: Settings, choice: Choice, agents: Agents) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        if stopped.is_set():
            leave_at_once("left at once; what was under way goes on when a worker takes it over")
        loop.call_soon_threadsafe(stopped.set)

    with on_signal(stop):
        async with opened(settings, choice, agents):
            logger.info("working; answers come from %s", choice.why)
            await stopped.wait()
            logger.info("draining")
