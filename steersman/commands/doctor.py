"""`steersman doctor`."""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

import click

from engine.budgets import unpriced
from engine.files.opening import folder_beside, open_files
from engine.loading import Agents, LoadError, load_agents
from engine.providers.prices import PricesInvalid, load_prices
from engine.providers.reaching import problem_of_provider
from engine.remotes.configured import McpServersInvalid, read_servers
from engine.streams.redis_client import problem_of_redis
from models.migrate import history, newest_revision
from steersman import pages
from steersman.commands.balance import balance_in, told
from steersman.commands.complaints import Complaint
from steersman.commands.version import own_version
from steersman.log import Redaction
from steersman.process import DatabaseUnreachable, files_not_shared, limits_of, revision_in
from steersman.provider import Choice, NoProvider, choose_provider
from steersman.reading import without_password
from steersman.settings import BadSettings, Settings, read_settings, secrets_of, shown


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
    """Check settings, database, Redis, files, agents and provider.

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
    found += [_sign_in(settings), *await _database(settings), *await _redis(settings), *await _files(settings)]
    balance = await _balance(settings)
    found += _servers(settings)
    found += [*_agents(settings), *_prices(settings, has_balance=balance != []), *balance]
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


async def _redis(settings: Settings) -> list[Finding]:
    if settings.redis_url is None:
        if settings.database_url.startswith("sqlite:"):
            return []  # one process shares nothing
        words = "none: tokens are seen live in the process that runs the agent alone; several need STEERSMAN_REDIS_URL"
        return [Finding(Mark.NOTE, "redis", words)]
    address = shown(settings)["STEERSMAN_REDIS_URL"]
    problem = await problem_of_redis(settings.redis_url)
    if problem is None:
        return [Finding(Mark.OK, "redis", f"{address} answers")]
    words = Redaction(secrets_of(settings))(problem).rstrip(".")
    return [Finding(Mark.PROBLEM, "redis", f"{address} can't be used: {words}. Start it, or set STEERSMAN_REDIS_URL.")]


async def _files(settings: Settings) -> list[Finding]:
    store = open_files(
        settings.database_url, folder=settings.files, url=settings.files_url, endpoint=settings.files_endpoint
    )
    where = settings.files_url or str(settings.files or folder_beside(settings.database_url))
    problem = await store.problem()
    if problem is not None:
        setting = "STEERSMAN_FILES_URL" if settings.files_url else "STEERSMAN_FILES"
        return [Finding(Mark.PROBLEM, "files", f"{problem.rstrip('.')}. Attachments need it; see {setting}.")]
    warning = files_not_shared(settings)
    if warning is not None:
        return [Finding(Mark.NOTE, "files", warning)]
    return [Finding(Mark.OK, "files", f"attachments go to {where}")]


def _servers(settings: Settings) -> Iterator[Finding]:
    """The MCP servers that are configured, and whether their commands are there."""
    if settings.mcp_servers is None:
        return
    try:
        servers = read_servers(settings.mcp_servers)
    except McpServersInvalid as error:
        yield Finding(Mark.PROBLEM, "mcp", f"{error} (STEERSMAN_MCP_SERVERS)")
        return
    for name, spec in servers.items():
        if spec.command is not None and shutil.which(spec.command) is None:
            yield Finding(Mark.PROBLEM, "mcp", f"{name}: there is no command {spec.command!r}; install it")
        else:
            where = spec.command if spec.url is None else without_password(spec.url)
            yield Finding(Mark.OK, "mcp", f"{name}: {where}, not asked")


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
    yield from _forbidden(agents, settings.allowed_models)


def _forbidden(agents: Agents, allowed: Collection[str] | None) -> Iterator[Finding]:
    """The agents that name models which are not allowed: those are left out, and where no other is left, all fails."""
    for name, agent in agents.items():
        names = [model for model in agent.models if allowed is not None and model not in allowed]
        if not names:
            continue
        words = f"{name} asks {', '.join(names)}, not in STEERSMAN_ALLOWED_MODELS"
        if len(names) == len(agent.models):
            yield Finding(Mark.PROBLEM, "agents", words)
        else:
            yield Finding(Mark.NOTE, "agents", f"{words}: left out, its other models are used")


def _prices(settings: Settings, *, has_balance: bool) -> Iterator[Finding]:
    try:
        prices = load_prices(settings.prices)
    except PricesInvalid as error:
        yield Finding(Mark.PROBLEM, "prices", f"{error} (STEERSMAN_PRICES)")
        return
    try:
        agents = load_agents(settings.agents)
    except LoadError:  # told among the agents
        return
    allowed = settings.allowed_models
    for words in unpriced(agents, prices, limits_of(settings), has_balance=has_balance, allowed=allowed):
        yield Finding(Mark.PROBLEM, "prices", f"{words}. Add its price to the file that STEERSMAN_PRICES names")


async def _balance(settings: Settings) -> list[Finding]:
    try:
        kept = await balance_in(settings)
    except (Complaint, DatabaseUnreachable):  # told of the database
        return []
    return [] if kept is None else [Finding(Mark.OK, "balance", told(kept))]


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
        return Finding(Mark.OK, "pages", "the console and GraphiQL are built")
    return Finding(Mark.NOTE, "pages", "the console is not built: Node 20.19 or newer and `make setup` build it")
