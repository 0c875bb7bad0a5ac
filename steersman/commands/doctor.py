"""`steersman doctor`."""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import click

from engine.loading import LoadError, load_agents
from engine.providers.prices import PricesInvalid, load_prices
from engine.providers.reaching import problem_of_provider
from models.migrate import history, newest_revision
from steersman import pages
from steersman.commands.version import own_version
from steersman.process import DatabaseUnreachable, revision_in
from steersman.provider import Choice, NoProvider, choose_provider
from steersman.settings import BadSettings, Settings, read_settings, shown


class Mark(StrEnum):
    """How a check went: a note is worth knowing, and wrong for some uses only."""

    OK = "ok"
    NOTE = "note"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report."""

    mark: Mark
    about: str
    words: str


@click.command("doctor")
@click.option("--offline", is_flag=True, help="Do not ask whether the provider answers.")
@click.pass_context
def command(ctx: click.Context, *, offline: bool) -> None:
    """Check settings, database, agents and provider.

    Secrets are redacted. Each line says ok, note (what some uses need) or problem, and what to do. The provider is
    asked for its list of models at most, never for an answer. The exit code is 1 where there is a problem.
    """
    wrong = False
    for finding in asyncio.run(_findings(offline=offline)):
        colour = {Mark.OK: "green", Mark.NOTE: "yellow", Mark.PROBLEM: "red"}[finding.mark]
        click.echo(f"{click.style(f'{finding.mark:<8}', fg=colour)} {finding.about:<10} {finding.words}")
        wrong = wrong or finding.mark is Mark.PROBLEM
    ctx.exit(1 if wrong else 0)


async def _findings(*, offline: bool) -> list[Finding]:
    found = [Finding(Mark.OK, "version", f"Steersman {own_version()}, Python {platform.python_version()}")]
    try:
        settings = read_settings(os.environ)
    except BadSettings as error:
        return found + [Finding(Mark.PROBLEM, "settings", problem) for problem in error.problems]
    changed = [f"{name}={value}" for name, value in shown(settings).items() if value != shown(Settings())[name]]
    found.append(Finding(Mark.OK, "settings", ", ".join(changed) or "all as they come"))
    found += [_sign_in(settings), *await _database(settings), *_agents(settings), *_prices(settings)]
    found.append(await _provider(offline=offline))
    return [*found, _pages(settings)]


def _sign_in(settings: Settings) -> Finding:
    if settings.jwt_secret is not None:
        return Finding(Mark.OK, "sign-in", "tokens are checked with STEERSMAN_JWT_SECRET")
    if settings.jwks_url is not None:
        return Finding(Mark.OK, "sign-in", "tokens are checked with the keys at STEERSMAN_JWKS_URL")
    words = "none: `dev` needs none, `serve` needs STEERSMAN_JWT_SECRET or STEERSMAN_JWKS_URL"
    return Finding(Mark.NOTE, "sign-in", words)


async def _database(settings: Settings) -> list[Finding]:
    address = shown(settings)["STEERSMAN_DATABASE_URL"]
    try:
        revision = await revision_in(settings)
    except DatabaseUnreachable as error:
        return [Finding(Mark.PROBLEM, "database", f"{error} Start it, or set STEERSMAN_DATABASE_URL.")]
    reached = Finding(Mark.OK, "database", address)
    newest, known = newest_revision(), [name for name, _ in history()]
    if revision is None:
        words = "no schema yet: run `steersman migrate` (`dev` and `run` do it by themselves)"
        return [reached, Finding(Mark.PROBLEM, "schema", words)]
    if revision not in known:
        words = f"at revision {revision} of a newer version of Steersman: update this one"
        return [reached, Finding(Mark.PROBLEM, "schema", words)]
    if revision != newest:
        words = f"at revision {revision}, needs {newest}: run `steersman migrate`"
        return [reached, Finding(Mark.PROBLEM, "schema", words)]
    return [reached, Finding(Mark.OK, "schema", f"at revision {revision}, the newest")]


def _agents(settings: Settings) -> Iterator[Finding]:
    try:
        agents = load_agents(settings.agents)
    except LoadError as error:
        yield Finding(Mark.PROBLEM, "agents", str(error))
        return
    if agents or not agents.errors:
        words = ", ".join(agents) or f"none in {settings.agents}: an agent is one Python file there"
        yield Finding(Mark.OK if agents else Mark.NOTE, "agents", words)
    for failed in agents.errors:
        yield Finding(Mark.PROBLEM, "agents", str(failed))
    for warning in agents.warnings:
        yield Finding(Mark.NOTE, "agents", warning)
    allowed = settings.allowed_models
    for name, agent in agents.items():
        if allowed is not None and agent.models[0] not in allowed:
            yield Finding(Mark.PROBLEM, "agents", f"{name} asks {agent.models[0]}, not in STEERSMAN_ALLOWED_MODELS")


def _prices(settings: Settings) -> Iterator[Finding]:
    try:
        load_prices(settings.prices)
    except PricesInvalid as error:
        yield Finding(Mark.PROBLEM, "prices", f"{error} (STEERSMAN_PRICES)")


async def _provider(*, offline: bool) -> Finding:
    try:
        choice: Choice = choose_provider(os.environ)
    except NoProvider:
        words = "none: `dev` and `run` play the scripted demo model, `serve` needs ANTHROPIC_API_KEY"
        return Finding(Mark.NOTE, "provider", words)
    if offline:
        return Finding(Mark.OK, "provider", f"{choice.why}, not asked")
    problem = await problem_of_provider(choice.api_key, choice.base_url)
    if problem is None:
        return Finding(Mark.OK, "provider", f"{choice.why} answers")
    return Finding(Mark.PROBLEM, "provider", f"{choice.why}: {problem}")


def _pages(settings: Settings) -> Finding:
    if not settings.console:
        return Finding(Mark.OK, "pages", "off (STEERSMAN_CONSOLE)")
    if pages.are_built():
        return Finding(Mark.OK, "pages", "GraphiQL is built")
    return Finding(Mark.NOTE, "pages", "GraphiQL is not built: Node 20.19 or newer and `make setup` build it")
