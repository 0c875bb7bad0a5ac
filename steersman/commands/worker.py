"""`steersman worker`."""

from __future__ import annotations

import asyncio
import logging
import os
from dataclasses import replace

import click

from engine.loading import Agents
from steersman import log
from steersman.commands.announcing import load_and_tell, tell_of_missing_redis
from steersman.commands.loop import leave_at_once, on_signal, run_on_fast_loop
from steersman.commands.probing import Duty, probed
from steersman.process import opened
from steersman.provider import Choice, choose_provider
from steersman.settings import Settings, read_settings, secrets_of

logger = logging.getLogger("steersman.worker")


@click.command("worker")
def command() -> None:
    """Run agents, and serve nothing.

    For machines beside those that serve, on one PostgreSQL database. It needs a database that is migrated and a
    provider (ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL). A SQLite file lets one process in: there `serve` runs the
    agents itself. What clients see live of its runs goes through STEERSMAN_REDIS_URL, the same for all processes.

    It answers /healthz and /readyz at STEERSMAN_WORKER_PORT. SIGTERM or Ctrl-C drains as `serve` does, a second one
    leaves at once.
    """
    settings = replace(read_settings(os.environ), worker=True)
    log.configure(settings.log_format, settings.log_level, secrets=secrets_of(settings))
    choice = choose_provider(os.environ)
    tell_of_missing_redis(settings, served_here=False)
    run_on_fast_loop(_work(settings, choice, load_and_tell(settings)))
    logger.info("stopped")


async def _work(settings: Settings, choice: Choice, agents: Agents) -> None:
    duty, stopped, loop = Duty(), asyncio.Event(), asyncio.get_running_loop()

    def stop() -> None:
        if stopped.is_set():
            leave_at_once("left at once; what was under way goes on when a worker takes it over")
        duty.stopping = True
        loop.call_soon_threadsafe(stopped.set)

    with on_signal(stop):
        async with probed(settings, duty), opened(settings, choice, agents) as duty.engine:
            logger.info("working; answers come from %s", choice.why)
            await stopped.wait()
            logger.info("draining")
