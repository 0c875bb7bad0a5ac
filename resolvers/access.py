"""Who may see what. Everything that finds a run for a viewer goes through here; missing and foreign look the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from engine.user import User
from models.call import ToolCall
from models.ids import prefix_of
from models.remote import Remote
from models.run import Run
from models.schedule import Schedule
from models.stream import Stream, get_stream
from models.webhook import Webhook
from schema.context import RequestContext
from schema.errors import RunIsMissing


class OfRun(Protocol):
    """A record that belongs to a run."""

    @property
    def run_id(self) -> str:
        """The run's id."""
        ...


Part = TypeVar("Part", bound=OfRun)


@dataclass(frozen=True, slots=True)
class Sight:
    """Who looks, None where nobody is signed in; one that `sees_all_runs` is an administrator (decision 29)."""

    user: User | None
    sees_all_runs: bool = False

    def may_see(self, run: Run | None) -> bool:
        """Whether the run is there, and the user's own or an administrator's to see."""
        if self.user is None or run is None:
            return False
        return self.sees_all_runs or run.user_id == self.user.id


def visible_runs(sight: Sight, runs: Mapping[str, Run]) -> dict[str, Run]:
    """Those of the runs that the user may see."""
    return {run_id: run for run_id, run in runs.items() if sight.may_see(run)}


def visible_parts(sight: Sight, parts: Mapping[str, Part], runs: Mapping[str, Run]) -> dict[str, Part]:
    """Those of the records whose run, among `runs`, the user may see."""
    return {part_id: part for part_id, part in parts.items() if sight.may_see(runs.get(part.run_id))}


def visible_calls(sight: Sight, calls: Mapping[str, ToolCall], runs: Mapping[str, Run]) -> dict[str, ToolCall]:
    """Those of the calls that the user may see: of such runs, and whatever he decides, or might have decided."""
    found, user = visible_parts(sight, calls, runs), sight.user
    for call_id, call in calls.items():
        if user is not None and call.approvers is not None and call.may_be_decided_by(user.id, user.roles):
            found[call_id] = call
    return found


def own_schedule(user: User | None, schedule: Schedule | None) -> Schedule | None:
    """The schedule, where it is there and the user's: its runs are, or the user has created it."""
    if user is None or schedule is None:
        return None
    return schedule if user.id in (schedule.user_id, schedule.created_by) else None


def own_webhook(user: User | None, webhook: Webhook | None) -> Webhook | None:
    """The webhook, where it is there and the user's own."""
    return webhook if user is not None and webhook is not None and webhook.user_id == user.id else None


def usable_remotes(user: User | None, remotes: Mapping[str, Remote]) -> dict[str, Remote]:
    """Those of the remotes that the user may use: his own, and what an administrator configured for everybody."""
    return {one: remote for one, remote in remotes.items() if user is not None and remote.is_for(user.id)}


async def require_run(context: RequestContext, run_id: str) -> Run:
    """A run that the viewer may see, for a subscription. Raises RunIsMissing."""
    run = await context.loaders.run(run_id)
    if run is None:
        raise RunIsMissing
    return run


async def require_stream(context: RequestContext, stream_id: str) -> Stream:
    """A stream of such a run. Raises RunIsMissing."""
    stream = await context.loaders.read(get_stream, stream_id) if prefix_of(stream_id) == "str" else None
    if stream is None:
        raise RunIsMissing
    await require_run(context, stream.run_id)
    return stream
