"""`steersman serve`."""

from __future__ import annotations

import logging
import os

import click

from steersman import log
from steersman.commands.announcing import load_and_tell, tell_of_missing_redis
from steersman.commands.complaints import Complaint
from steersman.commands.listening import address_of, listen
from steersman.commands.loop import run_on_fast_loop
from steersman.commands.serving import serve_until_stopped
from steersman.provider import Kind, choose_provider
from steersman.settings import Settings, read_settings, secrets_of

logger = logging.getLogger("steersman.serve")


@click.command("serve")
def command() -> None:
    """Serve the API by the settings, and run agents too.

    It needs a database that is migrated, a key to check tokens with (STEERSMAN_JWT_SECRET or STEERSMAN_JWKS_URL), and a
    provider (ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL) unless STEERSMAN_WORKER is off. SIGTERM or Ctrl-C drains:
    readiness fails, no new work is taken, runs go on for up to STEERSMAN_DRAIN_SECONDS and are then handed back. A
    second Ctrl-C leaves at once.

    Any number of them, and of `steersman worker`, may share one PostgreSQL database and one Redis
    (STEERSMAN_REDIS_URL), behind any load balancer.
    """
    settings = read_settings(os.environ)
    log.configure(settings.log_format, settings.log_level, secrets=secrets_of(settings))
    check_sign_in(settings)
    choice = choose_provider(os.environ, fallback=None if settings.worker else Kind.NOBODY)
    agents = load_and_tell(settings)
    tell_of_missing_redis(settings, served_here=True)
    with listen(settings.host, settings.port) as listening:

        def ready() -> None:
            logger.info("serving at %s; answers come from %s", address_of(listening), choice.why)

        run_on_fast_loop(serve_until_stopped(settings, choice, agents, listening, ready=ready))
    logger.info("stopped")


def check_sign_in(settings: Settings) -> None:
    """Raises Complaint where nothing could check who asks."""
    if settings.jwt_secret is None and settings.jwks_url is None:
        raise Complaint(
            "Set STEERSMAN_JWT_SECRET (tokens that you sign yourself, with `steersman token`) or STEERSMAN_JWKS_URL "
            "(those of your sign-in service): without one nobody could sign in. For trying things out there is "
            "`steersman dev`."
        )
