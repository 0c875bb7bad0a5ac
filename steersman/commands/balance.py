"""`steersman balance`."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeVar

import click

from engine.budget import MOST_USD, pico
from models.database import open_database
from models.migrate import newest_revision
from models.model_call import decimal_of
from models.purse import BALANCE, Purse, get_purses
from models.verbs.spending import add_to_balance, end_balance
from steersman.commands.complaints import Complaint
from steersman.process import revision_in
from steersman.settings import Settings, read_settings

T = TypeVar("T")
_OFF = "off: what the workspace spends is not limited by a balance"


@click.group("balance", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show what the workspace may still spend, and add to it.

    A balance is off until the first `add`, and counts what is spent from then on. Where nothing is left, turns end as
    FAILED with BALANCE_SPENT, and what was done is kept. It may be changed while servers run.
    """
    if ctx.invoked_subcommand is None:
        click.echo(told(asyncio.run(balance_in(read_settings(os.environ)))))


@command.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("amount")
def add(*, amount: str) -> None:
    """Put an AMOUNT of USD into the balance, such as 25 or 12.50; a negative one takes some out again.

    The first time turns the balance on.
    """
    given = _amount(amount)
    click.echo(told(asyncio.run(_asked(read_settings(os.environ), add_to_balance, pico(given)))))


@command.command("off")
def off() -> None:
    """Have no balance any more; the next `add` begins a new one."""
    asyncio.run(_asked(read_settings(os.environ), end_balance))
    click.echo(told(None))


async def balance_in(settings: Settings) -> Purse | None:
    """The workspace's balance; None where it is off. Raises DatabaseUnreachable, and Complaint without a schema."""
    return (await _asked(settings, get_purses, [BALANCE])).get(BALANCE)


def told(balance: Purse | None) -> str:
    """A balance as a sentence."""
    if balance is None:
        return _OFF
    left = balance.left(balance.bounds).cost_pico or 0
    reserved = balance.reserved.cost_pico or 0
    under_way = f", {_usd(reserved)} reserved for calls under way" if reserved else ""
    return (
        f"{_usd(left)} USD left: {_usd(balance.bounds.cost_pico or 0)} put in, "
        f"{_usd(balance.spent.cost_pico or 0)} spent{under_way}"
    )


async def _asked(settings: Settings, verb: Callable[..., T], *arguments: Any) -> T:
    revision = await revision_in(settings)
    if revision != newest_revision():
        raise Complaint(
            f"The database is at {revision or 'no schema'}, not {newest_revision()}: run `steersman migrate`."
        )
    async with open_database(settings.database_url) as database:
        return await database.write(verb, *arguments)


def _amount(text: str) -> Decimal:
    if re.fullmatch(r"[+-]?[0-9]{1,7}(\.[0-9]{1,12})?", text) and 0 < abs(Decimal(text)) <= MOST_USD:
        return Decimal(text)
    raise click.UsageError(f"AMOUNT is a sum in USD such as 25 or 12.50, at most {MOST_USD}; not {text!r}.")


def _usd(amount: int) -> str:
    return f"{decimal_of(amount):f}"
