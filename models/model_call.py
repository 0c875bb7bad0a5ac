"""The model call: begun before the model is asked and finished after it; what usage is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    Row,
    Select,
    String,
    Table,
    and_,
    case,
    func,
    literal,
    select,
)

from models.page import Slice, Window
from models.paging import by_column
from models.spending import PICO, Bounds
from models.tables import Json, metadata
from models.usage import Usage

model_calls = Table(
    "model_calls",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("run_id", String(64), ForeignKey("agent_runs.id"), nullable=False),
    Column("user_id", String(255), nullable=False),
    Column("stream_id", String(64), nullable=False),
    Column("tool_call_id", String(64)),  # a call that a tool made, by ctx.llm
    Column("summed_to", Integer),  # a call that sums the transcript up, to the message of this seq
    Column("step", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("model", String(255), nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("cache_write_tokens", BigInteger, nullable=False),
    Column("cost_pico", BigInteger),  # 10**-12 USD, so that sums are exact on every database; null: no known price
    Column("stop_reason", String(255)),
    Column("started_at", BigInteger, nullable=False),
    Column("first_token_at", BigInteger),  # null where nothing came, or tools were asked for without a word
    Column("finished_at", BigInteger),
    Column("request_id", String(255)),
    # what it may take at most, as it was reserved before the call
    Column("estimated_tokens", BigInteger),  # of input
    Column("estimated_cost_pico", BigInteger),
    Column("max_tokens", Integer),
    Column("reserved_cost_pico", BigInteger),
    Column("purses", Json),
    Index("ix_model_calls_run_id_id", "run_id", "id"),
    Index("ix_model_calls_user_id_started_at", "user_id", "started_at"),
    Index("ix_model_calls_started_at", "started_at"),
    Index("ix_model_calls_stream_id", "stream_id"),
)


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of the model; `finished_at` is None while it is under way.

    `estimated_tokens` are those of its input, `max_tokens` the longest answer that it may have: the two are what it has
    reserved of tokens, `reserved_cost_pico` what of money, in each of `purses`.
    """

    id: str
    run_id: str
    user_id: str
    stream_id: str
    step: int
    attempt: int
    model: str
    usage: Usage
    started_at: int
    stop_reason: str | None = None
    first_token_at: int | None = None
    finished_at: int | None = None
    request_id: str | None = None
    tool_call_id: str | None = None
    estimated_tokens: int | None = None
    estimated_cost_pico: int | None = None
    max_tokens: int | None = None
    reserved_cost_pico: int | None = None
    purses: list[str] | None = None
    summed_to: int | None = None

    @property
    def estimate(self) -> Usage:
        """What a call counts of which nothing was reported: its input, as it was estimated."""
        cost = self.estimated_cost_pico
        return Usage(self.estimated_tokens or 0, cost=None if cost is None else decimal_of(cost))


def usage_columns(usage: Usage) -> dict[str, Any]:
    """Usage as columns of model_calls."""
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cost_pico": None if usage.cost is None else int(usage.cost / PICO),
    }


def model_call_to_row(call: ModelCall) -> dict[str, Any]:
    """The row's columns."""
    values = {name: getattr(call, name) for name in ModelCall.__slots__ if name != "usage"}
    return values | usage_columns(call.usage)


def model_call_from_row(row: Row[Any]) -> ModelCall:
    """A ModelCall from a row of all of model_calls' columns."""
    values = row._mapping
    plain = {name: values[name] for name in ModelCall.__slots__ if name != "usage"}
    return ModelCall(**plain, usage=_usage(values, values["cost_pico"]))


def find_model_calls(c: Connection, run_id: str, window: Window) -> Slice[ModelCall]:
    """The model calls of a window of a run, in the order they were begun. Raises BadCursor."""
    of_run = select(model_calls).where(model_calls.c.run_id == run_id)
    return by_column(c, of_run, model_calls.c.id, window, model_call_from_row)


def get_model_calls(c: Connection, ids: Sequence[str]) -> dict[str, ModelCall]:
    """Those of the model calls that exist, by id."""
    rows = c.execute(select(model_calls).where(model_calls.c.id.in_(ids)))
    return {row.id: model_call_from_row(row) for row in rows}


def count_model_calls(c: Connection, run_id: str) -> int:
    """How many calls of a model the run has made."""
    return c.execute(select(func.count()).where(model_calls.c.run_id == run_id)).scalar_one()


IS_STEP = and_(model_calls.c.tool_call_id.is_(None), model_calls.c.summed_to.is_(None))
"""Whether a call is an attempt at a step: neither a tool's own, nor one that sums the transcript up."""


def model_of_step(c: Connection, stream_id: str, step: int) -> str | None:
    """The model that the newest attempt at a step under way has asked, by the name that it was asked by."""
    columns = model_calls.c
    own = select(columns.model).where(columns.stream_id == stream_id, columns.step == step, IS_STEP)
    return c.execute(own.order_by(columns.attempt.desc()).limit(1)).scalar()


def usage_of_runs(c: Connection, run_ids: Sequence[str]) -> dict[str, Usage]:
    """What each run has used, all generations together."""
    query = _sums(model_calls.c.run_id).where(model_calls.c.run_id.in_(run_ids)).group_by(model_calls.c.run_id)
    found = {row.run_id: _sum_of(row) for row in c.execute(query)}
    return {run_id: found.get(run_id, Usage(cost=Decimal(0))) for run_id in run_ids}


def usage_of_stream(c: Connection, stream_id: str) -> Usage:
    """What one generation has used."""
    return _sum_of(c.execute(_sums().where(model_calls.c.stream_id == stream_id)).one())


def open_calls_of_streams(c: Connection, stream_ids: Sequence[str]) -> list[ModelCall]:
    """The calls under way of some generations."""
    columns = model_calls.c
    query = select(model_calls).where(columns.stream_id.in_(stream_ids), columns.finished_at.is_(None))
    return [model_call_from_row(row) for row in c.execute(query)] if stream_ids else []


def spent_since(c: Connection, user_id: str | None, since: int) -> Bounds:
    """What a user's runs, or everybody's, have spent since a moment, with what their calls under way have reserved."""
    columns = model_calls.c
    is_open = columns.finished_at.is_(None)
    used = columns.input_tokens + columns.output_tokens + columns.cache_write_tokens
    reserved = func.coalesce(columns.estimated_tokens, 0) + func.coalesce(columns.max_tokens, 0)
    query = select(
        func.sum(case((is_open, columns.reserved_cost_pico), else_=columns.cost_pico)),
        func.sum(case((is_open, reserved), else_=used)),
    ).where(columns.started_at >= since)
    if user_id is not None:
        query = query.where(columns.user_id == user_id)
    cost, tokens = c.execute(query).one()
    return Bounds(int(cost or 0), int(tokens or 0))


def usage_since(c: Connection, user_id: str, since: int) -> Usage:
    """What a user's runs have used since a moment (ms since the epoch)."""
    query = _sums().where(model_calls.c.user_id == user_id, model_calls.c.started_at >= since)
    return _sum_of(c.execute(query).one())


def _sums(*group: Any) -> Select[Any]:
    columns = model_calls.c
    tokens = (columns.input_tokens, columns.output_tokens, columns.cache_read_tokens, columns.cache_write_tokens)
    return select(
        *group,
        *(func.coalesce(func.sum(column), 0).label(column.name) for column in tokens),
        func.sum(columns.cost_pico).label("cost"),
        func.count(case((and_(columns.cost_pico.is_(None), sum(tokens, literal(0)) > 0), 1))).label("unpriced"),
    )


def _sum_of(row: Row[Any]) -> Usage:
    """A sum's cost is known where that of every call is that has used anything; what used nothing costs nothing."""
    return _usage(row._mapping, None if row.unpriced else int(row.cost or 0))


def _usage(values: Any, cost_pico: int | None) -> Usage:
    return Usage(
        int(values["input_tokens"]),
        int(values["output_tokens"]),
        int(values["cache_read_tokens"]),
        int(values["cache_write_tokens"]),
        None if cost_pico is None else decimal_of(cost_pico),
    )


def decimal_of(pico: int) -> Decimal:
    """An amount in USD, in its shortest form and without an exponent."""
    return (pico * PICO).normalize() + 0
