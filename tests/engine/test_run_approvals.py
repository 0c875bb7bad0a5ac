"""Calls that wait for a person: nothing runs that must not, each decision counts once, and the turn goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from engine.budget import Budget
from engine.context import Context
from engine.errors import CallAlreadyDecided, CallNotFound, InvalidInput, NotAllowedToDecide, RunNotFound
from engine.sweeping import sweep
from engine.tool import Tool, tool
from engine.user import User
from engine.verdicts import Decision
from models.call import Decider, ToolCall
from models.enums import FinishReason, RunStatus, SteerMode, ToolCallState
from models.events import CallsWaiting, InputApplied, RunResult, ToolCallFinished, ToolCallStarted
from models.purse import get_purses
from models.run import Run
from tests.support.messages_script import Script
from tests.support.stage import Node, Stage
from tests.support.watched import Client

BOB = User("bob", frozenset({"user"}))
STAFF = User("sam", frozenset({"staff"}))


class Till:
    """A tool whose calls are decided by somebody, and what it has done."""

    def __init__(self, **options: Any) -> None:
        self.refunds: list[tuple[str, float, str]] = []

        async def refund(ctx: Context, order: str, amount: float) -> str:
            """Refund an order.

            Args:
                order: which.
                amount: how much.
            """
            self.refunds.append((order, amount, ctx.idempotency_key))
            return f"refunded {amount:g} of {order}"

        self.tool: Tool[..., Any] = tool(**{"approval": True, **options})(refund)


def asks(*amounts: float, order: str = "A-1") -> Script:
    """The model asks for refunds."""
    script = Script().text("One moment.")
    for amount in amounts:
        script.tool("refund", {"order": order, "amount": amount})
    return script


async def waiting(node: Node, run_id: str, finish: FinishReason = FinishReason.APPROVAL) -> list[ToolCall]:
    """The calls that a run waits for, once it does."""
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.WAITING, finish)
    return [call for call in (await node.stage.story(run_id)).calls if call.state is ToolCallState.WAITING]


def told(stage: Stage, request: int = -1) -> list[str]:
    """What the model was told of its calls."""
    content = stage.server.requests[request].messages[-1]["content"]
    return [block["content"] for block in content if block["type"] == "tool_result"]


async def test_a_call_waits_for_its_approval_and_then_runs(stage: Stage) -> None:
    """Meanwhile nobody holds the run: no worker, no lease. Approved, it runs once, within the same turn."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Refunded."))
    run_id = await node.start("Refund 150")
    (call,) = await waiting(node, run_id)
    waits = await stage.run(run_id)
    assert (waits.worker, waits.lease_until, till.refunds, len(node.worker)) == (None, 0, [], 0)
    assert (call.approvers, call.decided_by, call.expires_at) == ("owner", None, None)
    await node.decide(run_id, Decision(call.id, approve=True))
    run = await node.settled(run_id)
    assert (run.status, run.finish, run.turn_steps) == (RunStatus.COMPLETED, FinishReason.STOP, 2)
    assert (run.generation, run.stream_id != waits.stream_id) == (2, True)
    assert till.refunds == [("A-1", 150.0, call.id)]
    assert told(stage) == ["refunded 150 of A-1"]
    (decided,) = (await stage.story(run_id)).calls
    assert (decided.state, decided.decided_by, decided.decided_at) == (
        ToolCallState.SUCCEEDED,
        "alice",
        stage.clock(),
    )


async def test_watchers_are_told_what_waits_and_go_on_into_the_next_generation(stage: Stage) -> None:
    """CallsWaiting and RunResult end the stream; the next one begins with the call."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Refunded."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    await node.decide(run_id, Decision(call.id, approve=True))
    await node.settled(run_id)
    screen = stage.screen(run_id)
    kinds = [type(event).__name__ for event in screen.events if type(event).__name__ != "TextDelta"]
    assert kinds == [
        *("StepFinished", "CallsWaiting", "RunResult"),
        *("ToolCallStarted", "ToolCallFinished", "StepFinished", "RunResult"),
    ]
    (waits,) = screen.of(CallsWaiting)
    assert waits.call_ids == [call.id]
    first, last = screen.of(RunResult)
    assert (first.status, first.finish, first.steps) == (RunStatus.WAITING, FinishReason.APPROVAL, 1)
    assert (last.status, last.steps, last.text) == (RunStatus.COMPLETED, 1, "Refunded.")


async def test_a_denied_call_is_not_run_and_the_model_reads_why(stage: Stage) -> None:
    """It has one result like every other call, and watchers see it at the beginning of the next stream."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("I can't."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    await node.decide(run_id, Decision(call.id, approve=False, reason="too much"))
    await node.settled(run_id)
    assert told(stage) == ["not run: a person denied this call: too much"]
    (denied,) = (await stage.story(run_id)).calls
    assert (denied.state, denied.reason, denied.is_error, till.refunds) == (ToolCallState.DENIED, "too much", True, [])
    (finished,) = stage.screen(run_id).of(ToolCallFinished)
    assert (finished.tool_call_id, finished.is_error) == (call.id, True)


async def test_an_approval_may_change_the_arguments(stage: Stage) -> None:
    """The tool gets those, and the model reads that they were changed; what does not fit the tool is refused."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Refunded in part."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    for bad in ({"order": "A-1"}, {"order": "A-1", "amount": "much"}, "all of it"):
        with pytest.raises(InvalidInput) as refused:
            await node.decide(run_id, Decision(call.id, approve=True, input=bad))
        assert refused.value.field == ("decisions", "0", "input")
    await node.decide(run_id, Decision(call.id, approve=True, input={"order": "A-1", "amount": 50}))
    await node.settled(run_id)
    assert [amount for _, amount, _ in till.refunds] == [50.0]
    assert told(stage) == [
        'A person approved this call with other arguments: {"order":"A-1","amount":50}\nrefunded 50 of A-1'
    ]


async def test_the_other_calls_of_the_step_run_and_nothing_that_waits_before_all_is_decided(stage: Stage) -> None:
    """Two of three wait; one decision changes nothing yet, each is bound to its own call."""
    till = Till(approval=lambda args: args["amount"] > 100)
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150, 20, 300), Script().text("Done."))
    run_id = await node.start()
    first, third = await waiting(node, run_id)
    assert [amount for _, amount, _ in till.refunds] == [20.0]
    after = await node.decide(run_id, Decision(third.id, approve=False))
    assert (after.status, [amount for _, amount, _ in till.refunds]) == (RunStatus.WAITING, [20.0])
    await node.decide(run_id, Decision(first.id, approve=True))
    await node.settled(run_id)
    assert [amount for _, amount, _ in till.refunds] == [20.0, 150.0]
    assert told(stage) == ["refunded 150 of A-1", "refunded 20 of A-1", "not run: a person denied this call"]


async def test_a_predicate_that_fails_waits(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    """What nobody can tell a person decides; the log has the cause."""

    def broken(arguments: dict[str, Any]) -> bool:
        raise LookupError(arguments["amount"])

    till = Till(approval=broken)
    node = await stage.open(tools=[till.tool])
    stage.play(asks(1))
    await waiting(node, await node.start())
    assert till.refunds == []
    assert "LookupError" in caplog.text


async def test_a_call_is_decided_once(stage: Stage) -> None:
    """The second of two tabs is told so, and nothing happens twice; the same key gives the first answer again."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150, 160), Script().text("Done."))
    run_id = await node.start()
    first, second = await waiting(node, run_id)
    for _ in range(2):
        assert (await node.decide(run_id, Decision(first.id, approve=True), key="k")).status is RunStatus.WAITING
    with pytest.raises(CallAlreadyDecided) as refused:
        await node.decide(run_id, Decision(second.id, approve=True), Decision(first.id, approve=False))
    assert refused.value.field == ("decisions", "1", "tool_call_id")
    assert [one.id for one in await waiting(node, run_id)] == [second.id], "all or nothing"
    await node.decide(run_id, Decision(second.id, approve=True))
    await node.settled(run_id)
    with pytest.raises(CallAlreadyDecided):
        await node.decide(run_id, Decision(second.id, approve=False))
    assert [amount for _, amount, _ in till.refunds] == [150.0, 160.0]


@pytest.mark.parametrize(
    ("decisions", "field"),
    [
        ([], ("decisions",)),
        ([Decision("call_1", approve=True)] * 2, ("decisions", "1", "tool_call_id")),
        ([Decision("call_1", approve=True, reason="x" * 1_001)], ("decisions", "0", "reason")),
        ([Decision("call_1", approve=False, input={})], ("decisions", "0", "input")),
    ],
)
async def test_a_bad_decision_is_refused_in_words(
    stage: Stage, decisions: list[Decision], field: tuple[str, ...]
) -> None:
    """Nothing is decided by it."""
    node = await stage.open(tools=[Till().tool])
    stage.play(asks(150))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    given = [Decision(call.id, one.approve, one.reason, one.input) for one in decisions]
    with pytest.raises(InvalidInput) as refused:
        await node.decide(run_id, *given)
    assert refused.value.field == field
    assert [one.id for one in await waiting(node, run_id)] == [call.id]


async def test_only_what_waits_for_a_decision_can_be_decided(stage: Stage) -> None:
    """Another run's call, one that needs nobody, and one that is nowhere: CALL_NOT_FOUND."""
    till = Till(approval=lambda args: args["amount"] > 100)
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), asks(160, 2))
    other = await node.start()
    (elsewhere,) = await waiting(node, other)
    run_id = await node.start()
    await waiting(node, run_id)
    needs_nobody = (await stage.story(run_id)).calls[1]
    for call_id in (elsewhere.id, needs_nobody.id, "call_nowhere"):
        with pytest.raises(CallNotFound):
            await node.decide(run_id, Decision(call_id, approve=True))


async def test_an_owner_cannot_approve_what_staff_must(stage: Stage) -> None:
    """The owner is told so, a stranger finds no such run, and staff decide."""
    till = Till(approvers="staff")
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Refunded."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    assert call.approvers == "staff"
    with pytest.raises(NotAllowedToDecide):
        await node.decide(run_id, Decision(call.id, approve=True))
    with pytest.raises(RunNotFound):
        await node.decide(run_id, Decision(call.id, approve=True), user=BOB)
    await node.decide(run_id, Decision(call.id, approve=True), user=STAFF)
    await node.settled(run_id)
    assert (await stage.story(run_id)).calls[0].decided_by == "sam"
    assert len(till.refunds) == 1


async def test_nobody_else_decides_for_an_owner(stage: Stage) -> None:
    """Whatever their roles: to others the run is not there."""
    node = await stage.open(tools=[Till().tool])
    stage.play(asks(150))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    for stranger in (BOB, STAFF, User("eve", frozenset({"owner"}))):
        with pytest.raises(RunNotFound):
            await node.decide(run_id, Decision(call.id, approve=True), user=stranger)


async def test_a_decision_that_does_not_come_in_time_is_no_denial(stage: Stage) -> None:
    """The call is TIMED_OUT, nobody has decided it, and the model reads that."""
    till = Till(expires=60)
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Nobody was there."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    assert call.expires_at == stage.clock() + 60_000
    await sweep(node.shop)
    assert (await stage.run(run_id)).status is RunStatus.WAITING
    stage.clock.advance(60)
    await sweep(node.shop)
    await node.look()
    await node.settled(run_id)
    (expired,) = (await stage.story(run_id)).calls
    assert (expired.state, expired.decided_by, expired.decided_at) == (ToolCallState.TIMED_OUT, None, None)
    assert told(stage) == ["not run: nobody decided about this call in time"]
    with pytest.raises(CallAlreadyDecided):
        await node.decide(run_id, Decision(call.id, approve=True))


async def test_what_is_said_meanwhile_is_queued_and_lands_behind_the_results(stage: Stage) -> None:
    """However long the decision takes."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Both."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    assert (await node.steer(run_id, "and hurry")).queued
    assert (await stage.run(run_id)).status is RunStatus.WAITING
    await node.decide(run_id, Decision(call.id, approve=True))
    await node.settled(run_id)
    content = stage.server.requests[-1].messages[-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]
    assert content[1]["text"] == "and hurry"


async def test_an_interrupting_input_answers_what_waits_as_not_run(stage: Stage) -> None:
    """The run goes on with it at once, within the same turn."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150, 160), Script().text("As you like."))
    run_id = await node.start()
    first, _ = await waiting(node, run_id)
    await node.decide(run_id, Decision(first.id, approve=True))
    await node.steer(run_id, "before")
    sent = await node.steer(run_id, "leave it", SteerMode.INTERRUPT)
    assert sent.queued
    run = await node.settled(run_id)
    assert (run.status, run.turn_steps, till.refunds) == (RunStatus.COMPLETED, 2, [])
    content = stage.server.requests[-1].messages[-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "tool_result", "text", "text"]
    assert [call.state for call in (await stage.story(run_id)).calls] == [ToolCallState.CANCELLED] * 2
    (applied,) = stage.screen(run_id).of(InputApplied)
    assert applied.input_ids[-1] == sent.input_id


async def test_a_cancel_closes_what_waits(stage: Stage) -> None:
    """The run is CANCELLED at once, nothing can be decided any more, and the next input finds every result."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Hello again."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    cancelled = await node.cancel(run_id)
    assert (cancelled.status, cancelled.finish) == (RunStatus.CANCELLED, FinishReason.ABORTED)
    with pytest.raises(CallAlreadyDecided):
        await node.decide(run_id, Decision(call.id, approve=True))
    await node.steer(run_id, "hi")
    await node.settled(run_id)
    assert till.refunds == []
    content = stage.server.requests[-1].messages[-1]["content"]
    assert [block["type"] for block in content] == ["tool_result", "text"]


async def test_an_approval_outlives_the_process(stage: Stage) -> None:
    """Another process decides, runs the call, and the pair of call and result is in the next turn too."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), Script().text("Refunded."), Script().text("Yes."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    await stage.retire(node)
    again = await stage.open(tools=[till.tool])
    await stage.screen(run_id).reconnect(again.watching)
    await again.decide(run_id, Decision(call.id, approve=True))
    await again.settled(run_id)
    await again.steer(run_id, "Really?")
    run = await again.settled(run_id)
    assert (run.status, len(till.refunds)) == (RunStatus.COMPLETED, 1)
    roles = [message["role"] for message in stage.server.requests[-1].messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert stage.server.requests[-1].messages[2]["content"][0]["content"] == "refunded 150 of A-1"


async def test_steps_and_budget_carry_over_the_decision(stage: Stage) -> None:
    """The turn that goes on has had its first step, and has spent what that cost."""
    till = Till()
    node = await stage.open(tools=[till.tool], max_steps=2, budget=Budget(tokens=4_000))
    stage.play(asks(150), asks(20))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    before = await stage.run(run_id)
    await node.decide(run_id, Decision(call.id, approve=True))
    (call,) = await waiting(node, run_id)
    await node.decide(run_id, Decision(call.id, approve=True))
    run = await node.settled(run_id)
    assert (run.finish, run.turn_steps, run.generation) == (FinishReason.MAX_STEPS, 2, 3)
    assert (run.purses, len(till.refunds)) == (before.purses, 2)
    used = [one.usage for one in await stage.model_calls(run_id)]
    (purse,) = (await stage.database.read(get_purses, run.purses or [])).values()
    assert purse.spent.tokens == sum(usage.input_tokens + usage.output_tokens for usage in used) > 0


async def test_a_decision_stays_when_the_model_fails_behind_it(stage: Stage) -> None:
    """The provider answers 500 five times: the run FAILS, and a retry does not ask again for approval."""
    till = Till()
    node = await stage.open(tools=[till.tool])
    stage.play(asks(150), *[Script.status(500, "api_error")] * 5, Script().text("Refunded."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    await node.decide(run_id, Decision(call.id, approve=True))
    assert (await node.settled(run_id)).status is RunStatus.FAILED
    await node.runs.retry(User("alice", frozenset({"user"})), run_id=run_id)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert len(till.refunds) == 1


async def test_time_spent_waiting_is_not_the_turns_own(stage: Stage) -> None:
    """A turn lasts ten times the timeout at most, over its generations, the weeks between them apart."""
    till = Till()
    node = await stage.open(tools=[till.tool], timeout=60)
    stage.play(asks(150), Script().text("Refunded."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    stage.clock.advance(14 * 24 * 3_600)
    await node.decide(run_id, Decision(call.id, approve=True))
    run = await node.settled(run_id)
    assert (run.status, run.turn_spent_ms) == (RunStatus.COMPLETED, 0)


async def test_what_waits_is_told_to_those_who_may_decide(stage: Stage) -> None:
    """Now, when it begins to wait, when it is decided and when it ceases to wait; to nobody else."""
    node = await stage.open(tools=[Till(approvers="staff").tool])
    stage.play(asks(150), asks(160), Script().text("Refunded."))
    first_run = await node.start()
    (first,) = await waiting(node, first_run)
    staff = Client(node.watching.approvals(Decider("sam", ("staff",))))
    owner = Client(node.watching.approvals(Decider("alice")))
    await until(lambda: seen_by(staff) == [(first.id, ToolCallState.WAITING)])
    second_run = await node.start()
    (second,) = await waiting(node, second_run)
    await until(lambda: seen_by(staff)[1:] == [(second.id, ToolCallState.WAITING)])
    await node.decide(first_run, Decision(first.id, approve=True), user=STAFF)
    await until(lambda: [call_id for call_id, _ in seen_by(staff)[2:]] == [first.id])
    await node.cancel(second_run)
    await until(lambda: seen_by(staff)[3:] == [(second.id, ToolCallState.CANCELLED)])
    await node.settled(first_run)
    assert owner == []
    await staff.leave()
    await owner.leave()


def seen_by(client: Client[ToolCall]) -> list[tuple[str, ToolCallState]]:
    """What a client was told."""
    return [(call.id, call.state) for call in client]


async def until(holds: Callable[[], bool]) -> None:
    """Wait until it holds."""
    while not holds():
        await asyncio.sleep(0.002)


# ---------------------------------------------------------------- client tools


def locate(**options: Any) -> Tool[..., Any]:
    """A tool that a client answers."""

    async def where(ctx: Context, precise: bool = False) -> str:
        """Where the user is.

        Args:
            precise: whether to the metre.
        """
        raise AssertionError("the server never calls it")

    return tool(**{"client": True, **options})(where)


async def complete(node: Node, run_id: str, call: ToolCall, result: Any, **more: Any) -> Run:
    """Answer as the run's owner."""
    return await node.runs.complete(User("alice"), run_id=run_id, call_id=call.id, result=result, **more)


async def test_a_client_answers_its_call(stage: Stage) -> None:
    """The run waits without a worker; what the client gives reaches the model as JSON."""
    node = await stage.open(tools=[locate()])
    stage.play(Script().tool("where", {"precise": True}), Script().text("In Bern."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id, FinishReason.CLIENT_TOOL)
    assert (call.approvers, call.expires_at) == (None, stage.clock() + 60_000)
    with pytest.raises(CallNotFound):
        await node.decide(run_id, Decision(call.id, approve=True))
    with pytest.raises(RunNotFound):
        await node.runs.complete(BOB, run_id=run_id, call_id=call.id, result="Rome")
    await complete(node, run_id, call, {"city": "Bern"})
    run = await node.settled(run_id)
    assert (run.status, told(stage)) == (RunStatus.COMPLETED, ['{"city":"Bern"}'])
    with pytest.raises(CallAlreadyDecided):
        await complete(node, run_id, call, "Rome")
    screen = stage.screen(run_id)
    assert [type(event) for event in screen.events if isinstance(event, ToolCallStarted | ToolCallFinished)] == [
        ToolCallStarted,
        ToolCallFinished,
    ]


async def test_a_clients_error_is_an_error_to_the_model(stage: Stage) -> None:
    """And the call FAILED."""
    node = await stage.open(tools=[locate()])
    stage.play(Script().tool("where"), Script().text("I can't see you."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id, FinishReason.CLIENT_TOOL)
    await complete(node, run_id, call, "no permission", is_error=True)
    await node.settled(run_id)
    (block,) = stage.server.requests[-1].messages[-1]["content"]
    assert (block["content"], block["is_error"]) == ("no permission", True)
    assert (await stage.story(run_id)).calls[0].state is ToolCallState.FAILED


async def test_nobody_waits_for_ever_for_a_client(stage: Stage) -> None:
    """After the tool's timeout the model reads that nobody answered."""
    node = await stage.open(tools=[locate(timeout=5)])
    stage.play(Script().tool("where"), Script().text("Nobody is there."))
    run_id = await node.start()
    await waiting(node, run_id, FinishReason.CLIENT_TOOL)
    stage.clock.advance(5)
    await sweep(node.shop)
    await node.look()
    await node.settled(run_id)
    assert told(stage) == ["no answer: nobody answered this call in time"]


async def test_a_client_is_asked_after_a_person_has_approved(stage: Stage) -> None:
    """First APPROVAL, then CLIENT_TOOL; what is asked for a client is never run by the server."""
    node = await stage.open(tools=[locate(approval=True)])
    stage.play(Script().tool("where"), Script().text("In Bern."))
    run_id = await node.start()
    (call,) = await waiting(node, run_id)
    await node.decide(run_id, Decision(call.id, approve=True))
    (asked,) = await waiting(node, run_id, FinishReason.CLIENT_TOOL)
    assert (asked.id, asked.decided_by) == (call.id, "alice")
    with pytest.raises(CallAlreadyDecided):
        await node.decide(run_id, Decision(call.id, approve=False))
    await complete(node, run_id, asked, "Bern")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_where_both_wait_the_finish_is_approval(stage: Stage) -> None:
    """And the run goes on when both have come, in either order."""
    till = Till()
    node = await stage.open(tools=[till.tool, locate()])
    stage.play(asks(150).tool("where"), Script().text("Done."))
    run_id = await node.start()
    refund, where = await waiting(node, run_id)
    await complete(node, run_id, where, "Bern")
    assert (await stage.run(run_id)).status is RunStatus.WAITING
    await node.decide(run_id, Decision(refund.id, approve=True))
    await node.settled(run_id)
    assert told(stage) == ["refunded 150 of A-1", "Bern"]
