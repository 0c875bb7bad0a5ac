"""draw, give_back: what a call of a model reserves before it is made, and what becomes of that.

Both belong to the transaction of another verb, which holds the run's row. Purses are locked last, all that a
transaction needs in one statement and in the order of their ids, so that no two of them wait for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from models.model_call import ModelCall, open_calls_of_streams, spent_since
from models.purse import (
    BALANCE,
    Purse,
    PurseKind,
    day_purse,
    day_start,
    get_purses,
    is_own,
    month_purse,
    month_start,
    new_purse,
    purse_from_row,
    purses,
    turn_purse,
)
from models.run import Run
from models.spending import PICO, Ask, Bounds, Caps, affordable, least_of
from models.usage import Usage
from models.verbs.errors import NoPrice, Spent

_ORDER = list(PurseKind)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a call has reserved: the columns of its row, without the ask where there was none."""

    columns: dict[str, Any]
    max_tokens: int | None = None


def open_purse(c: Connection, run_id: str, generation: int, budget: Bounds | None) -> list[str] | None:
    """Write the purse of a turn that begins, where it has a budget; the purses that it draws from."""
    if budget is None:
        return None
    purse_id = turn_purse(run_id, generation)
    c.execute(insert(purses).values(new_purse(purse_id, budget)))
    return [purse_id]


def budget_of(c: Connection, run: Run) -> Bounds | None:
    """The budget that the run's current or last turn has of its own."""
    own = [purse_id for purse_id in run.purses or () if is_own(purse_id, run.id)]
    return next((purse.bounds for purse in get_purses(c, own).values()), None) if own else None


def draw(c: Connection, run: Run, model: str, ask: Ask | None, at: int) -> Drawn:
    """Reserve what a call may take at most, its answer shortened to what is left, in every purse that bounds it.

    Raises Spent where that is too little for an answer, and NoPrice where money is limited and the model has no price.
    """
    if ask is None:
        return Drawn({})
    _make_periods(c, run.user_id, ask.caps, at)
    held = _hold(c, _names(run, at))
    granted = _grant(held, model, ask)
    cost = None if ask.tariff is None else ask.tariff.cost(ask.input_tokens, granted)
    names = [purse.id for purse in held]
    _change(c, names, reserved_cost_pico=cost or 0, reserved_tokens=ask.input_tokens + granted)
    columns = {
        "estimated_tokens": ask.input_tokens,
        "estimated_cost_pico": None if ask.tariff is None else ask.tariff.cost(ask.input_tokens),
        "max_tokens": granted,
        "reserved_cost_pico": cost,
        "purses": names or None,
    }
    return Drawn(columns, granted)


def _names(run: Run, at: int) -> list[str]:
    """The purses that a call of this run would draw from, were they all there."""
    return [BALANCE, day_purse(run.user_id, at), month_purse(at), *(run.purses or ())]


def hold_together(c: Connection, run: Run, ask: Ask | None, at: int) -> None:
    """Lock at once all that a transaction needs which closes calls of a run and then draws for the next.

    What the two draw from may differ, as at midnight; locked one after the other they would not be in order.
    """
    names = {name for call in open_calls_of_streams(c, [str(run.stream_id)]) for name in call.purses or ()}
    if ask is not None:
        _make_periods(c, run.user_id, ask.caps, at)
        names |= set(_names(run, at))
    if names:
        _hold(c, names)


def _make_periods(c: Connection, user_id: str, caps: Caps, at: int) -> None:
    """Write the purses of this day and this month that are limited and not there yet, with what is spent already.

    They are kept from then on by all who draw, whatever limits those have.
    """
    wanted = [
        (name, whose, since)
        for name, whose, since, bounds in (
            (day_purse(user_id, at), user_id, day_start(at), caps.day),
            (month_purse(at), None, month_start(at), caps.month),
        )
        if bounds != Bounds()
    ]
    if not wanted:
        return
    known = set(c.execute(select(purses.c.id).where(purses.c.id.in_([name for name, *_ in wanted]))).scalars())
    make = postgresql.insert if c.dialect.name == "postgresql" else sqlite.insert
    for name, whose, since in wanted:  # in the order of their ids: who comes second waits here for the first
        if name not in known:
            row = new_purse(name, Bounds(), spent_since(c, whose, since))
            c.execute(make(purses).values(row).on_conflict_do_nothing())


def _hold(c: Connection, names: Iterable[str]) -> list[Purse]:
    """Lock those of the purses that exist."""
    rows = c.execute(select(purses).where(purses.c.id.in_(list(names))).order_by(purses.c.id).with_for_update())
    return [purse_from_row(row) for row in rows]


def _grant(held: Sequence[Purse], model: str, ask: Ask) -> int:
    """How long the answer may be by the narrowest of these purses."""
    granted = ask.max_tokens
    narrowest: tuple[Purse, Bounds] | None = None
    for purse in sorted(held, key=lambda one: _ORDER.index(one.kind)):
        bounds = _bounds(purse, ask.caps)
        if bounds.cost_pico is not None and ask.tariff is None:
            raise NoPrice(model)
        most = affordable(ask, purse.left(bounds))
        if most < granted:
            granted, narrowest = most, (purse, bounds)
    if narrowest is not None and granted < least_of(ask):
        purse, bounds = narrowest
        by_tokens = affordable(ask, replace(purse.left(bounds), cost_pico=None))
        left = purse.left(Bounds(0, 0))
        taken = Bounds(-(left.cost_pico or 0), -(left.tokens or 0))
        raise Spent(purse.kind, bounds, taken, of_tokens=by_tokens <= granted)
    return granted


def _bounds(purse: Purse, caps: Caps) -> Bounds:
    """What bounds a purse: its row, or the deployment's settings."""
    return {PurseKind.DAY: caps.day, PurseKind.MONTH: caps.month}.get(purse.kind, purse.bounds)


def give_back(c: Connection, closed: Sequence[ModelCall]) -> None:
    """Let the reservations of calls that have just been closed give way to what these calls have used."""
    drawing = [call for call in closed if call.purses]
    names = {name for call in drawing for name in call.purses or ()}
    if len(names) > 1:
        _hold(c, names)
    for call in drawing:
        used = used_by(call, call.usage)
        _change(
            c,
            call.purses or (),
            reserved_cost_pico=-(call.reserved_cost_pico or 0),
            reserved_tokens=-(call.estimated_tokens or 0) - (call.max_tokens or 0),
            spent_cost_pico=used.cost_pico or 0,
            spent_tokens=used.tokens or 0,
        )


def correct(c: Connection, before: ModelCall, usage: Usage) -> None:
    """Count what a call has really used that was closed before by an estimate."""
    counted, used = used_by(before, before.usage), used_by(before, usage)
    names = before.purses or ()
    if len(names) > 1:
        _hold(c, names)
    _change(
        c,
        names,
        spent_cost_pico=(used.cost_pico or 0) - (counted.cost_pico or 0),
        spent_tokens=(used.tokens or 0) - (counted.tokens or 0),
    )


def used_by(call: ModelCall, usage: Usage) -> Bounds:
    """What a call has taken from its purses; all of its reservation where what it used has no known price."""
    tokens = usage.input_tokens + usage.output_tokens + usage.cache_write_tokens
    if usage.cost is not None:
        return Bounds(int(usage.cost / PICO), tokens)
    return Bounds(call.reserved_cost_pico if tokens + usage.cache_read_tokens else 0, tokens)


def hold_open_calls(c: Connection, calls: Iterable[ModelCall]) -> None:
    """Lock the purses of several runs' calls, for one who is about to close them run by run."""
    if names := {name for call in calls for name in call.purses or ()}:
        _hold(c, names)


def _change(c: Connection, names: Sequence[str], **by: int) -> None:
    """Add to columns of locked purses."""
    changes = {name: purses.c[name] + amount for name, amount in by.items() if amount}
    if names and changes:
        c.execute(update(purses).where(purses.c.id.in_(names)).values(**changes))


def add_to_balance(c: Connection, amount_pico: int) -> Purse:
    """Put money into the workspace's balance, or take some out; the first time, it begins to count."""
    make = postgresql.insert if c.dialect.name == "postgresql" else sqlite.insert
    c.execute(make(purses).values(new_purse(BALANCE, Bounds(0))).on_conflict_do_nothing())
    _change(c, [BALANCE], cost_pico=amount_pico)
    return get_purses(c, [BALANCE])[BALANCE]


def end_balance(c: Connection) -> bool:
    """Let the workspace have no balance any more; whether it had one."""
    return c.execute(purses.delete().where(purses.c.id == BALANCE)).rowcount > 0
