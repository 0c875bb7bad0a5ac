"""`steersman migrate`."""

from __future__ import annotations

import asyncio
import os

import click

from models.database import Database, open_database
from models.migrate import downgrade, history, migrate, newest_revision, revision_of
from models.single_process import hold_file
from steersman.commands.complaints import Complaint
from steersman.process import revision_in
from steersman.settings import Settings, read_settings, shown

HEAD, BASE = "head", "base"
NOTHING = "no schema"


@click.group("migrate", invoke_without_command=True)
@click.option("--to", metavar="REVISION", help="Up to this revision instead of the newest.")
@click.option("--down", metavar="REVISION", help="Back to this revision, `base` for nothing at all. Drops data.")
@click.pass_context
def command(ctx: click.Context, *, to: str | None, down: str | None) -> None:
    """Bring the database's schema up to date, or back.

    The whole way is one transaction: where a step fails, the database is left as it was. Stop the servers first where
    it says so; a SQLite file that a process works on is refused.
    """
    if ctx.invoked_subcommand is not None:
        if to or down:
            raise click.UsageError("--to and --down are for `steersman migrate` itself.")
        return
    if to and down:
        raise click.UsageError("Give --to or --down, not both.")
    settings = read_settings(os.environ)
    click.echo(asyncio.run(_move(settings, to or HEAD, down)))


@command.command("current")
def current() -> None:
    """Print the revision that the database is at, and the one that this version needs."""
    revision, newest = asyncio.run(revision_in(read_settings(os.environ))), newest_revision()
    click.echo(f"{revision or NOTHING}{' (the newest)' if revision == newest else f' (this version needs {newest})'}")


@command.command("history")
def show_history() -> None:
    """Print all revisions, the first one first, and what each does."""
    for revision, words in history():
        click.echo(f"{revision}  {' '.join(words.split())}")


async def _move(settings: Settings, to: str, down: str | None) -> str:
    where = shown(settings)["STEERSMAN_DATABASE_URL"]
    await revision_in(settings)
    async with open_database(settings.database_url) as database:
        with hold_file(database.url):
            before, after = await (_up(database, to) if down is None else _down(database, down))
    if before == after:
        return f"{where}: at {after or NOTHING} already, nothing to do"
    return f"{where}: {before or NOTHING} → {after or NOTHING}"


async def _up(database: Database, to: str) -> tuple[str | None, str | None]:
    now, wanted = await _places(database, newest_revision() if to == HEAD else to)
    if wanted < now:
        raise Complaint(f"The database is beyond {to} already: use --down {to} to go back.")
    return await database.write(migrate, to)


async def _down(database: Database, to: str) -> tuple[str | None, str | None]:
    now, wanted = await _places(database, None if to == BASE else to)
    if wanted > now:
        raise Complaint(f"The database is not as far as {to}: use --to {to}.")
    return await database.write(downgrade, to)


async def _places(database: Database, wanted: str | None) -> tuple[int, int]:
    """Where the database is, and where it should go, counted along the history; 0 is no schema."""
    known = [None, *(revision for revision, _ in history())]
    now = await database.read(revision_of)
    if wanted not in known:
        raise Complaint(f"There is no revision {wanted!r}; `steersman migrate history` lists them.")
    if now not in known:
        raise Complaint(f"The database is at revision {now!r}, of a newer version of Steersman than this one.")
    return known.index(now), known.index(wanted)
