"""register_remote, delete_remote, configure_remotes, renew_remotes, note_contact, forsake: how remotes come and go."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from models.call import tool_calls, waiting_calls
from models.content import REMOTE_LEFT
from models.enums import RemoteKind, RunStatus, ToolCallState
from models.remote import CONFIGURED, Remote, RemoteTool, remote_calls, remote_from_row, remote_to_row, remotes
from models.run import Run, agent_runs, run_from_row
from models.verbs.errors import RemoteMissing, TooMany
from models.verbs.row import Done, Holder, NewId, change_call
from models.verbs.waiting import go_on

MAX_REMOTES = 200
"""How many remotes a user may have."""


@dataclass(frozen=True, slots=True)
class NewRemote:
    """What a remote is registered with. `connected_until` is that of a server that has just answered, else 0."""

    user_id: str
    name: str
    kind: RemoteKind
    url: str | None
    tools: tuple[RemoteTool, ...]
    connected_until: int = 0


# ---------------------------------------------------------------- register, delete


def register_remote(c: Connection, *, new: NewRemote, ids: NewId, at: int, most: int = MAX_REMOTES) -> Remote:
    """Write the remote, in the place of the one of this name: that keeps its id, and who listens for it stays.

    Raises TooMany beyond `most`.
    """
    known = _named(c, new.user_id, new.name)
    if known is None:
        held = select(func.count(remotes.c.id)).where(remotes.c.user_id == new.user_id)
        if int(c.execute(held).scalar_one()) >= most:
            raise TooMany(new.user_id)
        values = {name: getattr(new, name) for name in NewRemote.__slots__}
        remote = Remote(id=ids("rmt"), created_at=at, updated_at=at, **values)
        try:
            with c.begin_nested():
                c.execute(insert(remotes).values(remote_to_row(remote)))
        except IntegrityError:  # another has just registered it
            known = _named(c, new.user_id, new.name)
            if known is None:
                raise
        else:
            return remote
    stays = new.kind is RemoteKind.CLIENT and known.kind is RemoteKind.CLIENT
    changed = replace(
        known,
        kind=new.kind,
        url=new.url,
        tools=new.tools,
        connected_until=known.connected_until if stays else new.connected_until,
        updated_at=max(at, known.updated_at),
    )
    c.execute(update(remotes).where(remotes.c.id == known.id).values(remote_to_row(changed)))
    return changed


def _named(c: Connection, user_id: str, name: str) -> Remote | None:
    found = select(remotes).where(remotes.c.user_id == user_id, remotes.c.name == name).with_for_update()
    row = c.execute(found).first()
    return None if row is None else remote_from_row(row)


def delete_remote(c: Connection, *, user_id: str, remote_id: str) -> None:
    """Remove a remote; calls that wait for it are closed by `forsake`. Raises RemoteMissing."""
    mine = remotes.c.id == remote_id, remotes.c.user_id == user_id
    if not c.execute(delete(remotes).where(*mine)).rowcount:
        raise RemoteMissing(remote_id)


def configure_remotes(c: Connection, *, urls: Mapping[str, str | None], ids: NewId, at: int) -> list[Remote]:
    """Make the configured remotes those of these names, and give them; one that is there keeps its id and its tools."""
    gone = select(remotes.c.id).where(remotes.c.user_id == CONFIGURED, remotes.c.name.not_in(list(urls)))
    c.execute(delete(remotes).where(remotes.c.id.in_(gone)))
    kept = []
    for name in sorted(urls):
        known = _named(c, CONFIGURED, name)
        if known is not None and known.url == urls[name]:
            kept.append(known)
            continue
        new = NewRemote(CONFIGURED, name, RemoteKind.MCP, urls[name], ())
        kept.append(register_remote(c, new=new, ids=ids, at=at, most=len(urls)))
    return kept


# ---------------------------------------------------------------- being there


def renew_remotes(c: Connection, *, remote_ids: Collection[str], until: int) -> None:
    """Let these clients count as connected up to a moment (ms since the epoch), or for as long as they do already."""
    earlier = remotes.c.connected_until < until, remotes.c.kind == RemoteKind.CLIENT
    # Locked in order first: two processes that renew the same ones never wait for each other in a circle.
    behind = select(remotes.c.id).where(remotes.c.id.in_(list(remote_ids)), *earlier)
    locked = list(c.execute(behind.order_by(remotes.c.id).with_for_update()).scalars())
    if locked:
        c.execute(update(remotes).where(remotes.c.id.in_(locked), *earlier).values(connected_until=until))


def note_contact(
    c: Connection, *, remote: Remote, connected_until: int, tools: Sequence[RemoteTool] | None, at: int
) -> None:
    """Keep whether a server answered, and what it offers; nothing where it was registered anew meanwhile."""
    changes: dict[str, Any] = {"connected_until": connected_until}
    if tools is not None:
        changes["tools"] = [one.to_json() for one in tools]
        changes["updated_at"] = max(at, remote.updated_at)
    same = remotes.c.url == remote.url if remote.url is not None else remotes.c.url.is_(None)
    c.execute(update(remotes).where(remotes.c.id == remote.id, same).values(changes))


# ---------------------------------------------------------------- leaving


def forsake(c: Connection, *, limit: int, ids: NewId, at: int) -> list[Done]:
    """Close the calls of up to `limit` runs that wait for remotes which have left, and let those runs go on.

    What another transaction holds locked is left to it.
    """
    run_ids = list(c.execute(_left(at).with_only_columns(tool_calls.c.run_id).distinct().limit(limit)).scalars())
    if not run_ids:
        return []
    locked = (
        select(agent_runs)
        .where(agent_runs.c.id.in_(run_ids), agent_runs.c.status == RunStatus.WAITING)
        .order_by(agent_runs.c.id)
        .with_for_update(skip_locked=True)
    )
    runs = [run_from_row(row) for row in c.execute(locked).all()]
    done = [_forsake_of(c, run, ids, at) for run in runs]
    return [one for one in done if one is not None]


def _left(at: int) -> Any:
    """The calls that wait for a remote which is not connected any more, or not there."""
    return (
        select(remote_calls.c.call_id, remote_calls.c.remote)
        .join(tool_calls, tool_calls.c.id == remote_calls.c.call_id)
        .outerjoin(remotes, remotes.c.id == remote_calls.c.remote_id)
        .where(
            tool_calls.c.state == ToolCallState.WAITING,
            or_(remotes.c.id.is_(None), remotes.c.connected_until <= at),
        )
    )


def _forsake_of(c: Connection, run: Run, ids: NewId, at: int) -> Done | None:
    left = {row.call_id: row.remote for row in c.execute(_left(at).where(tool_calls.c.run_id == run.id))}
    waiting = [call for call in waiting_calls(c, [run.id])[run.id] if call.id in left]
    for call in waiting:
        told: dict[str, Any] = {"state": ToolCallState.FAILED, "is_error": True, "expires_at": None, "finished_at": at}
        change_call(c, call, result=REMOTE_LEFT.format(left[call.id]), **told)
    return go_on(c, "expire", run, Holder(), ids, at) if waiting else None
