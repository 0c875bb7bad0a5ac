"""Runs that calls of other runs have begun: how they are found from above."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, and_, func, literal, or_, select

from models.call import CALLS_A_STEP, ToolCall, call_from_row, tool_calls
from models.enums import RunStatus, ToolCallState
from models.run import Run, agent_runs, get_run
from models.stream import result_of, streams_of_run

MAX_DEPTH = 5
"""How many runs may stand above one another in a tree, the first one left away."""
MAX_CHILDREN = 50
"""How many runs one turn may begin."""
_ACTIVE = (RunStatus.RUNNING, RunStatus.WAITING)


def child_key(call_id: str, agent: str, said: str, count: int) -> str:
    """What names the child that a tool begins in its call: the same for each attempt of the call.

    `count` tells apart those that are begun with the same words, from 0. A call that is itself the hand-over to an
    agent begins one child alone, which its own id names.
    """
    words = f"{agent}\0{said}".encode(errors="surrogatepass")  # whatever the tool has said
    digest = hashlib.sha256(words).hexdigest()[:32]
    return f"{call_id}/{digest}/{count}"


def as_begun(c: Connection, run_id: str) -> Run | None:
    """A child as the call sees it that has begun it: at the end of the turn that was handed on, where that is there.

    Its owner may have gone on with it since. None where there is no such run.
    """
    run = get_run(c, run_id)
    if run is None or run.generation == 1:
        return run
    ends = (result_of(c, stream.id) for stream in streams_of_run(c, run_id))
    for end in ends:
        if end is not None and end.status is not RunStatus.WAITING:
            return replace(
                run,
                stream_id=end.stream_id,
                status=end.status,
                finish=end.finish,
                output=end.output,
                error=end.error,
                cancel_requested=False,
            )
    return run


def depth_of(c: Connection, run: Run) -> int:
    """How many runs stand above this one, counted up to MAX_DEPTH."""
    depth, parent_id = 0, run.parent_id
    while parent_id is not None and depth < MAX_DEPTH:
        depth += 1
        parent_id = c.execute(select(agent_runs.c.parent_id).where(agent_runs.c.id == parent_id)).scalar()
    return depth


def children_of_turn(c: Connection, run: Run) -> int:
    """How many runs the run's current turn has begun."""
    begun = agent_runs.c.parent_id == run.id, agent_runs.c.created_at >= (run.turn_started_at or 0)
    return int(c.execute(select(func.count(agent_runs.c.id)).where(*begun)).scalar_one())


def active_children(c: Connection, run_id: str, call_id: str | None = None) -> list[str]:
    """The ids of those runs that this one, or this call of it, has begun and that are generating or waiting."""
    found = select(agent_runs.c.id).where(agent_runs.c.parent_id == run_id, agent_runs.c.status.in_(_ACTIVE))
    if call_id is not None:
        key = agent_runs.c.parent_call
        found = found.where(or_(key == call_id, key.startswith(f"{call_id}/", autoescape=True)))
    return list(c.execute(found.order_by(agent_runs.c.id)).scalars())


def pending_calls(c: Connection, run_ids: Sequence[str]) -> dict[str, list[ToolCall]]:
    """The calls that wait in each of these runs and in the runs below it: its own first, in their order."""
    tree = (
        select(agent_runs.c.id.label("root"), agent_runs.c.id, agent_runs.c.steps, literal(0).label("depth"))
        .where(agent_runs.c.id.in_(list(run_ids)), agent_runs.c.status.in_(_ACTIVE))
        .cte("tree", recursive=True)
    )
    child = agent_runs.alias("child")
    of_last_step = and_(tool_calls.c.run_id == tree.c.id, tool_calls.c.position >= tree.c.steps * CALLS_A_STEP)
    below = (
        select(tree.c.root, child.c.id, child.c.steps, tree.c.depth + 1)
        .join(tool_calls, of_last_step)
        .join(child, child.c.id == tool_calls.c.child_run_id)
        .where(tool_calls.c.state == ToolCallState.RUNNING, tree.c.depth <= MAX_DEPTH)
    )
    tree = tree.union_all(below)
    waits = (
        select(tree.c.root, *tool_calls.c)
        .join(
            tool_calls,
            and_(tool_calls.c.run_id == tree.c.id, tool_calls.c.position >= tree.c.steps * CALLS_A_STEP),
        )
        .where(tool_calls.c.state == ToolCallState.WAITING)
        .order_by(tree.c.depth, tool_calls.c.run_id, tool_calls.c.position)
    )
    found: dict[str, list[ToolCall]] = {run_id: [] for run_id in run_ids}
    for row in c.execute(waits):
        found[row.root].append(call_from_row(row))
    return found
