"""queue_deliveries: the end of a turn is told to its owner's webhooks, by rows of the transaction that ends it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, or_, select
from sqlalchemy.dialects import postgresql, sqlite

from models.content import text_of
from models.enums import Role, RunStatus
from models.json_codec import dump_json
from models.message import agent_messages
from models.model_call import usage_of_runs
from models.run import Run
from models.stream import streams
from models.webhook import Delivery, delivery_to_row, webhook_deliveries, webhooks

GENERATING = (RunStatus.RUNNING, RunStatus.WAITING)
ENDED = (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED)
MAX_TEXT = 16_384


def queue_deliveries(c: Connection, before: Run, run: Run, at: int) -> None:
    """Write the deliveries of a change that ends a turn: one for each webhook, whoever repeats it.

    A run that another one has begun ends within that one's turn, and is not told of.
    """
    if before.status not in GENERATING or run.status not in ENDED or run.parent_id is not None:
        return
    hooks: list[str] = list(c.execute(_listening(run)).scalars())
    if not hooks:
        return
    body = dump_json(_body(c, run, at))
    rows = [Delivery(f"{hook}_{run.stream_id}", hook, run.id, body, created_at=at, due_at=at) for hook in hooks]
    make = postgresql.insert if c.dialect.name == "postgresql" else sqlite.insert
    c.execute(make(webhook_deliveries).on_conflict_do_nothing(), [delivery_to_row(row) for row in rows])


def _listening(run: Run) -> Select[Any]:
    """The webhooks that hear of this run."""
    code = and_(webhooks.c.agent == run.agent, webhooks.c.agent_id.is_(None))
    named = code if run.agent_id is None else webhooks.c.agent_id == run.agent_id
    mine = webhooks.c.user_id == run.user_id, webhooks.c.enabled
    return select(webhooks.c.id).where(*mine, or_(webhooks.c.agent.is_(None), named)).order_by(webhooks.c.id)


def _body(c: Connection, run: Run, at: int) -> dict[str, Any]:
    """What is posted, the same at every attempt."""
    text = _last_text(c, run)
    used = usage_of_runs(c, [run.id])[run.id].to_json()
    return {
        "type": "run.finished",
        "at": datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "runId": run.id,
        "streamId": run.stream_id,
        "agent": run.agent,
        "userId": run.user_id,
        "title": run.title,
        "metadata": run.metadata,
        "status": run.status,
        "finish": run.finish,
        "error": None if run.error is None else {"code": run.error.code, "message": run.error.message},
        "text": text[:MAX_TEXT],
        "textLength": len(text),
        "output": run.output,
        "steps": run.steps,
        "usage": {
            "inputTokens": used["input_tokens"],
            "outputTokens": used["output_tokens"],
            "cacheReadTokens": used["cache_read_tokens"],
            "cacheWriteTokens": used["cache_write_tokens"],
            "cost": used["cost"],
        },
    }


def _last_text(c: Connection, run: Run) -> str:
    """The text of the generation's last answer."""
    before = select(streams.c.seq_before).where(streams.c.id == run.stream_id).scalar_subquery()
    answers = select(agent_messages.c.content).where(
        agent_messages.c.run_id == run.id, agent_messages.c.role == Role.ASSISTANT, agent_messages.c.seq > before
    )
    row = c.execute(answers.order_by(agent_messages.c.seq.desc()).limit(1)).first()
    return "" if row is None else text_of(row.content)
