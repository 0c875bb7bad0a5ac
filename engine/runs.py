"""What clients do with runs: each method checks its input, calls one verb, and tells the worker and the bell."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from engine.above import above
from engine.agent import Agent
from engine.attachments.checking import Checked
from engine.attachments.given import Given
from engine.budget import Budget, merged
from engine.errors import (
    AgentInputQueueFull,
    AgentInputRequired,
    AgentMismatch,
    AgentNotFound,
    CallAlreadyDecided,
    CallNotFound,
    Forbidden,
    InvalidConfig,
    InvalidInput,
    KeyReused,
    NotAllowedToDecide,
    NotFound,
    PriceUnknown,
    Refused,
    RunBusy,
    RunNotFound,
)
from engine.inputs import checked_input, checked_metadata, checked_reason, checked_title, key_of
from engine.overriding import MAX_TOOLS, checked_options, checked_overrides, checked_tools, prompt_of
from engine.permitted import permitted
from engine.roster import NOTHING, Chosen
from engine.run_overrides import RunOverrides
from engine.streams.bell import tell_others
from engine.transcript import title_of
from engine.user import User
from engine.verdicts import Decision, check_given_arguments, checked_answer, checked_verdicts, decider_of
from engine.worker import Worker
from engine.workshop import Workshop
from models.agent import AgentQuery, agent_named, agents_usable
from models.call import Decider, ToolCall, get_calls
from models.enums import RunStatus, SteerMode
from models.ids import prefix_of
from models.key import Key, KeyUsedOtherwise
from models.overrides import Overrides, RunTool
from models.purse import BALANCE, get_purses
from models.remote import get_remotes
from models.run import Run, get_run
from models.spending import Bounds
from models.text import clean
from models.uninterrupted import uninterrupted
from models.verbs.arming import add_tools
from models.verbs.errors import (
    AlreadyDecided,
    Busy,
    NoSuchCall,
    NoSuchMessage,
    NotADecider,
    NothingToAnswer,
    QueueFull,
    RunMissing,
    TooMany,
)
from models.verbs.forking import fork
from models.verbs.opening import NewRun, Said, open_run
from models.verbs.row import Done, Holder
from models.verbs.sending import retry, send, withdraw
from models.verbs.settling import request_cancel
from models.verbs.waiting import complete, decide

Verb: TypeAlias = Callable[..., tuple[Done, dict[str, Any]]]
"""A verb that may begin a generation: what it did, and the answer to give."""

_log = logging.getLogger("steersman.runs")


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

    def __init__(self, shop: Workshop, worker: Worker | None, wider: Callable[[Verb], Verb] | None = None) -> None:
        self._shop = shop
        self._worker = worker
        self._wider = wider

    def within(self, wider: Callable[[Verb], Verb]) -> Runs:
        """The same, with each verb that begins something called within a wider one, in that one's transaction."""
        return Runs(self._shop, self._worker, wider)

    async def check(self, user: User, *, agent: str, run_id: str | None = None) -> Chosen:
        """What `start` would begin or go on with for this user now; raises what it would, but for the input."""
        if run_id is not None:
            run = await self._own_of(user, run_id, agent)
            chosen = Chosen(await self._usable(user, run), run.agent, run.agent_id, run.kind)
        else:
            chosen = await self._shop.roster.named(user, agent, self._shop.database.read)
            self._permitted(user, chosen)
        await self._affordable(user, chosen.agent, None)
        return chosen

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
        attachments: Sequence[Given] = (),
        budget: Budget | None = None,
        overrides: RunOverrides | None = None,
    ) -> Accepted:
        """Start a run of an agent, or, with `run_id`, say something to one: then as `steer` does.

        `context` holds trusted values for tools; only server code gives it. `budget` is that of the turn which begins,
        in the place of the agent's own; of a turn under way, which takes the input in, it changes nothing. `overrides`
        are what a run that begins has in its agent's place; whether a client may give them is the caller's to know
        (`may_override`).
        """
        own, history = checked_overrides(self._shop.roster, overrides)
        text, title, tags = checked_input(input), checked_title(title), checked_metadata(metadata)
        found = await self._shop.attachments.check(attachments)
        said = {"agent": agent, "input": text, "runId": run_id, "title": title, "metadata": tags}
        kept = key_of(user, "startRun", key, **said, **_told(budget), **_digests(found), **_of_its_own(own, history))
        if run_id is not None:
            if overrides is not None:
                raise InvalidInput("A run has its overrides from its beginning on.", field=("overrides",))
            run = await self._own_of(user, run_id, agent)
            given = {"title": title, "metadata": tags}
            changes = {name: value for name, value in given.items() if value is not None}
            return await self._send(user, run, text, SteerMode.QUEUE, kept, changes, found, budget)
        await self._check_remotes(user, own)
        what = {"title": title, "metadata": tags, "context": context, "history": history}
        return await self._open(user, agent, text, kept, found, budget, own, what)

    def may_override(self, user: User, *, field: str) -> None:
        """Raise Forbidden, about this field, unless the user may give a run what stands in its agent's place."""
        if not user.roles & self._shop.override_roles:
            raise Forbidden("This takes a role that STEERSMAN_OVERRIDE_ROLES names.", field=(field,))

    async def prompt(
        self,
        user: User,
        *,
        agent: str,
        instruction: str,
        input: Any = None,  # noqa: A002 - the contract's name
        options: Any = None,
        key: str | None = None,
        budget: Budget | None = None,
    ) -> Run:
        """Ask an agent once, outside any chat: a new run of an instruction, with an input of any structure as JSON.

        `options` are fields of the agent's kind, for this run in the place of its configuration's.
        """
        if not instruction.strip():
            raise AgentInputRequired("The instruction is empty.", field=("instruction",))
        text, fields = checked_input(prompt_of(instruction, input)), checked_options(options)
        said = {"agent": agent, "input": text, "options": fields}
        kept = key_of(user, "promptAgent", key, **said, **_told(budget))
        what = {"title": title_of(checked_input(instruction))}
        return (await self._open(user, agent, text, kept, (), budget, Overrides(options=fields), what)).run

    async def add_tools(self, user: User, *, run_id: str, tools: Sequence[RunTool]) -> Run:
        """Give a run further tools, beside its agent's; one at work has them from its next request on."""
        run = await self._own(user, run_id)
        checked = checked_tools(self._shop.roster, tools, ("tools",))
        agent = await self._agent_of(run)
        added = {one.name for one in run.overrides.added} if run.overrides else set()
        for place, one in enumerate(checked):
            if agent is not None and one.name in agent.toolbox and one.name not in added:
                message = f"The run has a tool {one.name!r} of its agent's."
                raise InvalidConfig(message, field=("tools", str(place), "name"))
        try:
            done = await self._shop.database.write(
                add_tools, run_id=run_id, tools=checked, most=MAX_TOOLS, at=self._shop.clock()
            )
        except TooMany:
            raise InvalidInput(f"A run has at most {MAX_TOOLS} tools of its own.", field=("tools",)) from None
        self._shop.bell.changed(done.run)
        return done.run

    async def steer(
        self,
        user: User,
        *,
        run_id: str,
        input: str,  # noqa: A002 - the contract's name
        mode: SteerMode = SteerMode.QUEUE,
        key: str | None = None,
        attachments: Sequence[Given] = (),
    ) -> Accepted:
        """Say something to a run: queued where it is generating or waiting, else its next turn."""
        text = checked_input(input)
        found = await self._shop.attachments.check(attachments)
        kept = key_of(user, "steerRun", key, runId=run_id, input=text, mode=mode, **_digests(found))
        return await self._send(user, await self._own(user, run_id), text, mode, kept, {}, found)

    async def decide(
        self, user: User, *, run_id: str, decisions: Sequence[Decision], key: str | None = None
    ) -> tuple[Run, bool]:
        """Decide some of the calls that wait; the run, and whether it is the user's own to see.

        All of the decisions are taken or none. With the last of them the run goes on.
        """
        verdicts = checked_verdicts(decisions)
        run = await self._shop.database.read(get_run, run_id)
        calls = await self._shop.database.read(get_calls, [one.call_id for one in verdicts])
        decider = decider_of(user)
        own = run is not None and run.user_id == user.id
        if run is None or not (own or any(_is_for(call, run_id, decider) for call in calls.values())):
            raise self._not_theirs(user, run)
        check_given_arguments(await self._agent_of(run), calls, verdicts)
        words = [[one.call_id, one.approve, one.reason, one.input] for one in verdicts]
        kept = key_of(user, "decideToolCalls", key, runId=run_id, decisions=words)
        done = await self._begin(decide, run_id=run_id, verdicts=verdicts, decider=decider, key=kept)
        return done.run, own

    async def complete(
        self, user: User, *, run_id: str, call_id: str, result: Any, is_error: bool = False, key: str | None = None
    ) -> Run:
        """Answer a call that waits for a client; with the last of what the run waits for it goes on."""
        run = await self._own(user, run_id)
        call = (await self._shop.database.read(get_calls, [call_id])).get(call_id)
        text = checked_answer(await self._agent_of(run), call, result)
        kept = key_of(user, "completeToolCall", key, runId=run_id, toolCallId=call_id, result=text, isError=is_error)
        return (
            await self._begin(complete, run_id=run_id, call_id=call_id, result=text, is_error=is_error, key=kept)
        ).run

    async def withdraw(self, user: User, *, run_id: str, input_id: str) -> tuple[Run, bool]:
        """Take a queued input back; False where it does not wait any more, or interrupts."""
        await self._own(user, run_id)
        done, withdrawn = await self._shop.database.write(
            withdraw, run_id=run_id, input_id=input_id, at=self._shop.clock()
        )
        self._shop.bell.changed(done.run)
        return done.run, withdrawn

    async def cancel(self, user: User, *, run_id: str, reason: str | None = None) -> Run:
        """Stop a run: at once where nothing generates, else as soon as its loop hears of it.

        It is the user's own, or anybody's where the user is an administrator.
        """
        why = checked_reason(reason)
        run = await self._found(run_id)
        if run is None or run.user_id != user.id:
            if run is None or not self._shop.is_admin(user):
                raise RunNotFound(field=("runId",))
            told = {"run_id": run.id, "user_id": run.user_id, "admin": user.id}
            _log.info("an administrator cancels a run of another user", extra=told)
        return await uninterrupted(self._cancel(run_id, why))

    async def _cancel(self, run_id: str, reason: str | None) -> Run:
        done, flagged = await self._shop.database.write(
            request_cancel, run_id=run_id, reason=reason, ids=self._shop.ids, at=self._shop.clock()
        )
        self._shop.streams.tell(done.events)
        if flagged and self._worker is not None:
            self._worker.cancelled(run_id, done.run.fence)
        self._shop.bell.changed(done.run)
        self._touched(done.others)
        await self._let_go_on(done.run)
        return done.run

    def _touched(self, others: Sequence[Done]) -> None:
        """Tell of what was done to other runs on the way."""
        if self._worker is not None:
            self._worker.touched(others)
        else:
            tell_others(self._shop.bell, others)

    async def _let_go_on(self, run: Run) -> None:
        """Let the runs above one go on that may have ceased to wait; the sweep does where it does not come to that."""
        async for done in above(self._shop, run, self._worker.holder if self._worker is not None else Holder()):
            self._touched([done])

    async def retry(self, user: User, *, run_id: str, key: str | None = None, budget: Budget | None = None) -> Run:
        """Go on with a FAILED or CANCELLED run from its last completed step: a turn of its own, with a new budget."""
        run = await self._own(user, run_id)
        bounds = await self._affordable(user, await self._usable(user, run), budget)
        kept = key_of(user, "retryRun", key, runId=run_id, **_told(budget))
        return (await self._begin(retry, run_id=run_id, key=kept, budget=bounds)).run

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
        bounds = None
        if text is not None:
            bounds = await self._affordable(user, await self._usable(user, run), None)
        kept = key_of(user, "forkRun", key, runId=run_id, seq=seq, input=text)
        return (await self._begin(fork, run_id=run_id, seq=seq, text=text, key=kept, budget=bounds)).run

    async def terms(self, user: User, chosen: Chosen) -> Bounds | None:
        """The bounds of a turn of this agent that the user would begin, where he may. Raises what `start` does."""
        return await self._affordable(user, self._permitted(user, chosen), None)

    # ------------------------------------------------------------------ what they share

    async def _check_remotes(self, user: User, overrides: Overrides) -> None:
        """Raise NotFound unless the remotes are there, and this user may use them."""
        named = overrides.remotes or ()
        found = await self._shop.database.read(get_remotes, named) if named else {}
        for place, one in enumerate(named):
            if one not in found or not found[one].is_for(user.id):
                raise NotFound("There is no such remote.", field=("overrides", "remotes", str(place)))

    async def _open(
        self,
        user: User,
        agent: str,
        text: str,
        key: Key | None,
        found: Sequence[Checked],
        budget: Budget | None,
        overrides: Overrides,
        what: Mapping[str, Any],
    ) -> Accepted:
        """Open a run of an agent; `what` are further values of NewRun, those that are None left to it."""
        chosen = await self._shop.roster.named(user, agent, self._shop.database.read, overrides)
        bounds = await self._affordable(user, self._permitted(user, chosen), budget)
        attached = await self._shop.attachments.keep(user, found)
        new = NewRun(
            user.id,
            chosen.word,
            text,
            roles=sorted(user.roles),
            attached=attached,
            budget=bounds,
            agent_id=chosen.agent_id,
            kind=chosen.kind,
            overrides=overrides if overrides != NOTHING else None,
        )
        given = {name: value for name, value in what.items() if value is not None}
        new = dataclasses.replace(new, **{"title": title_of(text), **given})
        return await self._begin(open_run, new=new, key=key)

    async def _send(
        self,
        user: User,
        run: Run,
        text: str,
        mode: SteerMode,
        key: Key | None,
        changes: dict[str, Any],
        found: Sequence[Checked],
        budget: Budget | None = None,
    ) -> Accepted:
        if run.status in (RunStatus.RUNNING, RunStatus.WAITING):
            agent = await self._agent_of(run)  # the run may have ended by the time the input comes
            bounds = merged(budget, None if agent is None else agent.budget)
        else:
            bounds = await self._affordable(user, await self._usable(user, run), budget)
            changes = changes | {"roles": sorted(user.roles)}
        attached = await self._shop.attachments.keep(user, found)
        said = {"text": text, "mode": mode, "attached": attached, "budget": bounds}
        return await self._begin(send, run_id=run.id, key=key, changes=changes, **said)

    async def _begin(self, verb: Verb, **arguments: Any) -> Accepted:
        """Call a verb that may begin a generation; a caller that goes away meanwhile stops none of it."""
        return await uninterrupted(self._begin_now(verb if self._wider is None else self._wider(verb), arguments))

    async def _begin_now(self, verb: Verb, arguments: dict[str, Any]) -> Accepted:
        holder = self._worker.holder if self._worker is not None else Holder()
        try:
            done, answer = await self._shop.database.write(
                verb, **arguments, holder=holder, ids=self._shop.ids, at=self._shop.clock()
            )
        except tuple(_REFUSALS) as error:
            raise _refusal(error, arguments) from None
        if self._worker is not None:
            if done.numbers is not None:
                self._worker.begin(done)
            elif answer["queued"]:
                self._worker.sent(done.run.id, done.run.fence, done.run.interrupting)
        self._shop.bell.changed(done.run)
        self._touched(done.others)
        await self._let_go_on(done.run)
        return Accepted(done.run, answer["queued"], answer["input_id"])

    async def _own(self, user: User, run_id: str) -> Run:
        """The user's run. Raises RunNotFound: missing and someone else's look the same.

        Administrators see the difference anyhow, and are told it: Forbidden.
        """
        run = await self._found(run_id)
        if run is None or run.user_id != user.id:
            raise self._not_theirs(user, run)
        return run

    async def _found(self, run_id: str) -> Run | None:
        """The run, whoever owns it, or None."""
        known = prefix_of(run_id) == "run"
        return await self._shop.database.read(get_run, run_id) if known else None

    def _not_theirs(self, user: User, run: Run | None) -> Refused:
        """What a user is told who may not do this with the run."""
        if run is None or not self._shop.is_admin(user):
            return RunNotFound(field=("runId",))
        return Forbidden("Only its owner may: administrators read and cancel others' runs.", field=("runId",))

    async def _own_of(self, user: User, run_id: str, agent: str) -> Run:
        """The user's run of the agent that goes by this name. Raises RunNotFound, AgentMismatch."""
        run = await self._own(user, run_id)
        if not await self._is_of(user, run, agent):
            raise AgentMismatch(f"The run belongs to the agent {run.agent!r}.", field=("agent",))
        return run

    async def _agent_of(self, run: Run) -> Agent | None:
        """The run's agent as it is now; None where it can't be had."""
        try:
            return await self._shop.roster.of_run(run, self._shop.database.read)
        except Refused:
            return None

    async def _is_of(self, user: User, run: Run, name: str) -> bool:
        """Whether the run is of the agent that goes by this name: what the run calls it, or its id or handle now."""
        if name in (run.agent_id, run.agent) or run.agent_id is None:
            return name in (run.agent_id, run.agent)
        stored = await self._shop.database.read(agent_named, AgentQuery(user.id, user.roles), clean(name))
        return stored is not None and stored.id == run.agent_id

    async def _usable(self, user: User, run: Run) -> Agent:
        """The run's agent, where this user may run it here.

        Raises AgentNotFound, KindUnavailable, InvalidConfig, Forbidden, ModelNotAllowed.
        """
        agent = await self._shop.roster.of_run(run, self._shop.database.read)
        who = AgentQuery(user.id, user.roles)
        if run.agent_id and not await self._shop.database.read(agents_usable, who, [run.agent_id]):
            raise AgentNotFound(f"The agent {run.agent!r} is not shared with you any more.", field=("agent",))
        return self._permitted(user, Chosen(agent, run.agent))

    def _permitted(self, user: User, chosen: Chosen) -> Agent:
        return permitted(chosen.agent, chosen.word, user.roles, self._shop.models_of, self._shop.refusal_of)

    async def _affordable(self, user: User, agent: Agent, given: Budget | None) -> Bounds | None:
        """The bounds of a turn of this agent. Raises PriceUnknown where money is limited and a model has no price."""
        bounds, limits = merged(given, agent.budget), self._shop.limits
        unpriced = [model for model in self._shop.models_of(agent) if self._shop.prices.get(model) is None]
        if not unpriced:
            return bounds
        model = unpriced[0]
        if bounds is not None and bounds.cost_pico is not None:
            own = given is None or given.cost is None
            raise PriceUnknown(
                f"The model {model!r} of this agent has no known price, so no budget in money can be kept.",
                field=("agent",) if own else ("budget", "cost"),
            )
        caps = limits.caps(user.roles)
        what = None
        if caps.day.cost_pico is not None or caps.month.cost_pico is not None:
            what = "what may be spent is limited here"
        elif await self._shop.database.read(get_purses, [BALANCE]):
            what = "this workspace has a balance"
        if what is not None:
            raise PriceUnknown(f"The model {model!r} of this agent has no known price, and {what}.", field=("agent",))
        return bounds


def _is_for(call: ToolCall, run_id: str, decider: Decider) -> bool:
    """Whether a call of this run is, or was, this user's to decide."""
    return (
        call.run_id == run_id and call.approvers is not None and call.may_be_decided_by(decider.user_id, decider.roles)
    )


_REFUSALS: dict[type[Exception], Callable[..., Refused]] = {
    KeyUsedOtherwise: partial(KeyReused, field=("key",)),
    QueueFull: partial(AgentInputQueueFull, field=("input",)),
    Busy: partial(RunBusy, field=("runId",)),
    NothingToAnswer: partial(
        AgentInputRequired,
        "There is nothing to go on with: the last answer is whole. Send an input instead.",
        field=("runId",),
    ),
    NoSuchMessage: partial(InvalidInput, "The run has no message of that seq.", field=("seq",)),
    RunMissing: partial(RunNotFound, field=("runId",)),
    NoSuchCall: CallNotFound,
    AlreadyDecided: CallAlreadyDecided,
    NotADecider: NotAllowedToDecide,
}
"""What clients are told where a verb did nothing; those of calls name the call at fault."""


def _refusal(error: Exception, arguments: dict[str, Any]) -> Refused:
    make = _REFUSALS[type(error)]
    if not isinstance(error, NoSuchCall | AlreadyDecided | NotADecider):
        return make()
    ids = [verdict.call_id for verdict in arguments.get("verdicts", ())]
    place = ("decisions", str(ids.index(str(error))), "tool_call_id") if ids else ("tool_call_id",)
    return make(field=place)


def _digests(found: Sequence[Checked]) -> dict[str, Any]:
    """What an idempotency key stands for beside the rest: nothing where nothing is attached, as it always was."""
    return {"attachments": [[one.given_sha256, one.name] for one in found]} if found else {}


def _of_its_own(overrides: Overrides, history: Sequence[Said]) -> dict[str, Any]:
    """What a run has of its own, as part of what a key stands for: nothing where it has nothing."""
    told: dict[str, Any] = {"overrides": overrides.to_json(), "history": [[one.role, one.content] for one in history]}
    return {name: value for name, value in told.items() if value}


def _told(budget: Budget | None) -> dict[str, Any]:
    """A budget as part of what a key stands for: nothing where there is none, as before there were budgets."""
    if budget is None:
        return {}
    return {"budget": [budget.bounds.cost_pico, budget.bounds.tokens]}
