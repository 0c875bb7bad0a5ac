"""What clients do with runs: each method checks its input, calls one verb, and tells the worker and the bell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from engine.agent import Agent
from engine.errors import (
    AgentInputQueueFull,
    AgentInputRequired,
    AgentMismatch,
    AgentNotFound,
    Forbidden,
    InvalidInput,
    KeyReused,
    ModelNotAllowed,
    RunBusy,
    RunNotFound,
)
from engine.inputs import checked_input, checked_metadata, checked_reason, checked_title, key_of
from engine.loading import Agents
from engine.runner import Workshop
from engine.transcript import title_of
from engine.user import User
from engine.worker import Worker
from models.enums import RunStatus, SteerMode
from models.ids import prefix_of
from models.key import KeyUsedOtherwise
from models.run import Run, get_run
from models.uninterrupted import uninterrupted
from models.verbs.errors import Busy, NoSuchMessage, NothingToAnswer, QueueFull, RunMissing
from models.verbs.forking import fork
from models.verbs.opening import NewRun, open_run
from models.verbs.row import Done, Holder
from models.verbs.sending import retry, send, withdraw
from models.verbs.settling import request_cancel


@dataclass(frozen=True, slots=True)
class Accepted:
    """An input that was taken: it began a turn, or waits in the queue as `input_id`."""

    run: Run
    queued: bool
    input_id: str | None


class Runs:
    """Starts, steers and stops runs. Methods raise engine.errors.Refused; what they have begun, they finish.

    `worker` is None in a process that only serves: then runs are opened free to claim.
    """

    def __init__(self, shop: Workshop, agents: Agents, worker: Worker | None) -> None:
        self._shop = shop
        self._agents = agents
        self._worker = worker

    async def start(
        self,
        user: User,
        *,
        agent: str,
        input: str,  # noqa: A002 - the contract's name
        run_id: str | None = None,
        title: str | None = None,
        metadata: Any = None,
        key: str | None = None,
        context: dict[str, Any] | None = None,
    ) -> Accepted:
        """Start a run of an agent, or, with `run_id`, say something to one: then as `steer` does.

        `context` holds trusted values for tools; only server code gives it.
        """
        text, title, tags = checked_input(input), checked_title(title), checked_metadata(metadata)
        kept = key_of(user, "startRun", key, agent=agent, input=text, runId=run_id, title=title, metadata=tags)
        if run_id is not None:
            run = await self._own(user, run_id)
            if run.agent != agent:
                raise AgentMismatch(f"The run belongs to the agent {run.agent!r}.", field=("agent",))
            given = {"title": title, "metadata": tags}
            changes = {name: value for name, value in given.items() if value is not None}
            return await self._send(user, run, text, SteerMode.QUEUE, kept, changes)
        self._usable(user, agent)
        new = NewRun(user.id, agent, text, title or title_of(text), tags or {}, context or {}, sorted(user.roles))
        return await self._begin(open_run, new=new, key=kept)

    async def steer(
        self,
        user: User,
        *,
        run_id: str,
        input: str,  # noqa: A002 - the contract's name
        mode: SteerMode = SteerMode.QUEUE,
        key: str | None = None,
    ) -> Accepted:
        """Say something to a run: queued where it is generating or waiting, else its next turn."""
        text = checked_input(input)
        kept = key_of(user, "steerRun", key, runId=run_id, input=text, mode=mode)
        return await self._send(user, await self._own(user, run_id), text, mode, kept, {})

    async def withdraw(self, user: User, *, run_id: str, input_id: str) -> tuple[Run, bool]:
        """Take a queued input back; False where it does not wait any more, or interrupts."""
        await self._own(user, run_id)
        done, withdrawn = await self._shop.database.write(
            withdraw, run_id=run_id, input_id=input_id, at=self._shop.clock()
        )
        self._ring(done.run)
        return done.run, withdrawn

    async def cancel(self, user: User, *, run_id: str, reason: str | None = None) -> Run:
        """Stop a run: at once where nothing generates, else as soon as its loop hears of it."""
        why = checked_reason(reason)
        await self._own(user, run_id)
        return await uninterrupted(self._cancel(run_id, why))

    async def _cancel(self, run_id: str, reason: str | None) -> Run:
        done, flagged = await self._shop.database.write(
            request_cancel, run_id=run_id, reason=reason, ids=self._shop.ids, at=self._shop.clock()
        )
        self._shop.streams.publish(done.events)
        if flagged and self._worker is not None:
            self._worker.cancelled(run_id, done.run.fence)
        self._ring(done.run)
        return done.run

    async def retry(self, user: User, *, run_id: str, key: str | None = None) -> Run:
        """Go on with a FAILED or CANCELLED run from its last completed step."""
        run = await self._own(user, run_id)
        self._usable(user, run.agent)
        return (await self._begin(retry, run_id=run_id, key=key_of(user, "retryRun", key, runId=run_id))).run

    async def fork(
        self,
        user: User,
        *,
        run_id: str,
        seq: int,
        input: str | None = None,  # noqa: A002 - the contract's name
        key: str | None = None,
    ) -> Run:
        """A new run with a copy of the transcript up to `seq`; IDLE where no input is given."""
        text = None if input is None else checked_input(input)
        run = await self._own(user, run_id)
        if text is not None:
            self._usable(user, run.agent)
        kept = key_of(user, "forkRun", key, runId=run_id, seq=seq, input=text)
        return (await self._begin(fork, run_id=run_id, seq=seq, text=text, key=kept)).run

    # ------------------------------------------------------------------ what they share

    async def _send(
        self, user: User, run: Run, text: str, mode: SteerMode, key: Any, changes: dict[str, Any]
    ) -> Accepted:
        if run.status not in (RunStatus.RUNNING, RunStatus.WAITING):
            self._usable(user, run.agent)
            changes = changes | {"roles": sorted(user.roles)}
        return await self._begin(send, run_id=run.id, text=text, mode=mode, key=key, changes=changes)

    async def _begin(self, verb: Callable[..., tuple[Done, dict[str, Any]]], **arguments: Any) -> Accepted:
        """Call a verb that may begin a generation; a caller that goes away meanwhile stops none of it."""
        return await uninterrupted(self._begin_now(verb, arguments))

    async def _begin_now(self, verb: Callable[..., tuple[Done, dict[str, Any]]], arguments: dict[str, Any]) -> Accepted:
        holder = self._worker.holder if self._worker is not None else Holder()
        try:
            done, answer = await self._shop.database.write(
                verb, **arguments, holder=holder, ids=self._shop.ids, at=self._shop.clock()
            )
        except KeyUsedOtherwise:
            raise KeyReused(field=("key",)) from None
        except QueueFull:
            raise AgentInputQueueFull(field=("input",)) from None
        except Busy:
            raise RunBusy(field=("runId",)) from None
        except NothingToAnswer:
            message = "There is nothing to go on with: the last answer is whole. Send an input instead."
            raise AgentInputRequired(message, field=("runId",)) from None
        except NoSuchMessage:
            raise InvalidInput("The run has no message of that seq.", field=("seq",)) from None
        except RunMissing:
            raise RunNotFound(field=("runId",)) from None
        if self._worker is not None:
            if done.numbers is not None:
                self._worker.begin(done)
            elif answer["queued"]:
                self._worker.sent(done.run.id, done.run.fence, done.run.interrupting)
        self._ring(done.run)
        return Accepted(done.run, answer["queued"], answer["input_id"])

    async def _own(self, user: User, run_id: str) -> Run:
        """The user's run. Raises RunNotFound: missing and someone else's look the same."""
        known = prefix_of(run_id) == "run"
        run = await self._shop.database.read(get_run, run_id) if known else None
        if run is None or run.user_id != user.id:
            raise RunNotFound(field=("runId",))
        return run

    def _usable(self, user: User, name: str) -> Agent:
        """The agent, where this user may run it here. Raises AgentNotFound, Forbidden, ModelNotAllowed."""
        agent = self._agents.get(name)
        if agent is None:
            raise AgentNotFound(f"There is no agent {name[:64]!r}.", field=("agent",))
        if agent.auth != "user" and agent.auth not in user.roles:
            raise Forbidden(f"The agent {name!r} takes the role {agent.auth!r}.", field=("agent",))
        allowed, model = self._shop.allowed_models, agent.models[0]
        if allowed is not None and model not in allowed:
            raise ModelNotAllowed(f"The model {model!r} of this agent is not among the allowed ones.", field=("agent",))
        return agent

    def _ring(self, run: Run) -> None:
        self._shop.bell.ring(run.id, run.user_id)
