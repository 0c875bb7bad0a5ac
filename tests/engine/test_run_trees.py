"""Trees of runs where several things meet: people, cancels, lost acknowledgements, and workers with little room."""

from __future__ import annotations

import asyncio

import pytest

from engine.context import Context
from engine.runs import Runs
from engine.sweeping import sweep
from engine.tool import tool
from engine.verdicts import Decision
from models.child import pending_calls
from models.content import INTERRUPTED
from models.enums import FinishReason, RunStatus, ToolCallState
from models.events import CallsWaiting, RunResult, SubagentFinished, ToolCallFinished
from models.run import Run
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.stage import Node, Stage, quiet
from tests.support.team import (
    Cast,
    asks,
    begin,
    calls,
    chief,
    child,
    children,
    expert,
    lead,
    left,
    refunder,
    team,
    told,
    waiting_pair,
)
from tests.support.weather import Weather

# ---------------------------------------------------------------- several runs of one tool


async def test_a_tool_that_asks_several_agents_at_once_takes_no_place(stage: Stage) -> None:
    """However many it waits for: with room for one run, each of them gets its turn."""

    @tool
    async def consult(ctx: Context) -> str:
        """Ask the expert three things."""
        replies = await asyncio.gather(*(ctx.run_agent("expert", f"Task {n}") for n in range(3)))
        return ", ".join(reply.text for reply in replies)

    node = await team(stage, lead(subagents=[], tools=[consult]), max_runs=1, poll_seconds=0.01)
    Cast(stage, lead=[Script().tool("consult"), Script().text("Done.")], expert=[Script().text("There.")] * 3)
    run_id = await begin(node)
    async with asyncio.timeout(10):
        assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert [one.status for one in await children(stage, run_id)] == [RunStatus.COMPLETED] * 3


async def test_a_tool_that_fails_beside_a_run_that_it_had_begun_leaves_nothing_behind(stage: Stage) -> None:
    """That run is stopped with the call, and nothing is told of the call after its end."""
    gate = Gate()

    @tool
    async def consult(ctx: Context) -> str:
        """Ask the expert, and nobody."""

        async def fail() -> None:
            await gate.begun.wait()
            raise RuntimeError

        await asyncio.gather(ctx.run_agent("expert", "Find A-1"), fail())
        return "never"

    node = await team(stage, lead(subagents=[], tools=[consult]), expert(tools=[gate.tool]))
    release = asyncio.Event()
    sorry = Script().text("Sorry").hold(release).text(".")
    Cast(stage, lead=[Script().tool("consult"), sorry], expert=[Script().tool("work")])
    run_id = await begin(node)
    await stage.screen(run_id).shows("Sorry")
    assert (await node.settled((await child(stage, run_id)).id)).status is RunStatus.CANCELLED
    await quiet()
    release.set()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    events = (await stage.story(run_id)).told
    ended = [type(event) for event in events if isinstance(event, SubagentFinished | ToolCallFinished)]
    assert ended in ([ToolCallFinished], [SubagentFinished, ToolCallFinished])


# ---------------------------------------------------------------- interrupted


async def test_an_input_that_interrupts_a_wait_among_other_work_does_not_say_that_nothing_was_done(
    stage: Stage,
) -> None:
    """The child had begun: the model reads that it was stopped, not that it never ran."""
    gate = Gate()
    refund, _ = refunder()
    node = await team(stage, lead(tools=[gate.tool]), expert(tools=[refund]))
    Cast(
        stage,
        lead=[asks("Refund").tool("work"), Script().text("Good.")],
        expert=[Script().tool("refund", {"amount": 5})],
    )
    run_id = await begin(node)
    await gate.begun.wait()
    one = await node.settled((await child(stage, run_id)).id)
    assert one.status is RunStatus.WAITING
    await node.interrupt(run_id, "Leave it")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert (await stage.run(one.id)).status is RunStatus.CANCELLED
    assert "the agent expert was stopped" in told(stage)[0]


async def test_an_input_that_interrupts_after_a_crash_does_not_say_that_nothing_was_done(stage: Stage) -> None:
    """A tool that may be run again had begun all the same, under the owner that is gone."""
    gate = Gate()
    work = tool(on_crash="retry")(gate.work)
    node = await team(stage, lead(subagents=[], tools=[work]), takes=False)
    stage.play(Script().tool("work"), Script().text("Good."))
    run_id = await begin(node)
    await gate.begun.wait()
    other = await team(stage, lead(subagents=[], tools=[work]), memory=node.memory)
    (loop,) = node.worker._tasks
    loop.cancel()
    await left(node, run_id)
    await other.interrupt(run_id, "Leave it")
    await other.look()
    assert (await other.settled(run_id)).status is RunStatus.COMPLETED
    assert (told(stage), len(gate.calls)) == ([INTERRUPTED], 1)


# ---------------------------------------------------------------- three levels


async def three(stage: Stage, *, expert_tools: list[object], chief_tools: tuple[object, ...] = ()) -> Node:
    """A node with a chief above the lead above the expert."""
    agents = {"chief": chief(tools=list(chief_tools)), "lead": lead(), "expert": expert(tools=expert_tools)}
    return await stage.open(agents=agents)


async def waiting_three(stage: Stage, node: Node) -> tuple[Run, Run, Run]:
    """The three runs, each waiting for the leaf's approval."""
    top = await node.settled(await node.start("Refund", agent="chief"))
    middle = await child(stage, top.id)
    leaf = await child(stage, middle.id)
    assert [one.status for one in (top, middle, leaf)] == [RunStatus.WAITING] * 3
    return top, middle, leaf


async def test_an_approval_at_the_leaf_lets_all_above_it_go_on(stage: Stage) -> None:
    """Each to its end."""
    refund, refunds = refunder()
    node = await three(stage, expert_tools=[refund])
    Cast(
        stage,
        chief=[asks("Refund", agent="lead"), Script().text("All done.")],
        lead=[asks("Refund"), Script().text("Done.")],
        expert=[Script().tool("refund", {"amount": 5}), Script().text("Refunded.")],
    )
    top, middle, leaf = await waiting_three(stage, node)
    (call,) = (await stage.database.read(pending_calls, [top.id]))[top.id]
    await node.decide(leaf.id, Decision(call.id, approve=True))
    await stage.screen(top.id).sees(RunResult, 2)
    assert [(await node.settled(one.id)).status for one in (leaf, middle, top)] == [RunStatus.COMPLETED] * 3
    assert refunds == [5]


async def test_a_cancel_in_the_middle_stops_what_is_below_and_is_told_above(stage: Stage) -> None:
    """The leaf's call is closed; the run on top goes on without."""
    refund, refunds = refunder()
    node = await three(stage, expert_tools=[refund])
    Cast(
        stage,
        chief=[asks("Refund", agent="lead"), Script().text("Without it, then.")],
        lead=[asks("Refund")],
        expert=[Script().tool("refund", {"amount": 5})],
    )
    top, middle, leaf = await waiting_three(stage, node)
    await node.cancel(middle.id)
    await stage.screen(top.id).sees(RunResult, 2)
    assert (await node.settled(top.id)).status is RunStatus.COMPLETED
    assert [(await stage.run(one.id)).status for one in (middle, leaf)] == [RunStatus.CANCELLED] * 2
    (closed,) = await calls(stage, leaf.id)
    assert (closed.state, refunds, told(stage)) == (
        ToolCallState.CANCELLED,
        [],
        ["the agent lead was cancelled\nIts last words: Let me ask."],
    )


async def test_one_sweep_lets_a_whole_tree_go_on(stage: Stage) -> None:
    """Whose leaf's time to wait is over: none of the runs above it waits for the next sweep."""
    refund, _ = refunder(expires=5.0)
    node = await three(stage, expert_tools=[refund])
    Cast(
        stage,
        chief=[asks("Refund", agent="lead")],
        lead=[asks("Refund")],
        expert=[Script().tool("refund", {"amount": 5})],
    )
    runs = await waiting_three(stage, node)
    node.worker.draining = True  # nobody takes what goes on
    stage.clock.advance(10)
    await sweep(node.shop)
    assert [(await stage.run(one.id)).status for one in runs] == [RunStatus.RUNNING] * 3
    node.worker.draining = False
    await node.cancel(runs[0].id)
    await stage.leases.advance(1)
    await sweep(node.shop)


async def test_a_run_that_begins_to_wait_below_a_decision_says_truly_why(stage: Stage) -> None:
    """Who decided died before the middle went on: the top waits as the middle does, and one sweep wakes both."""
    gate = Gate()
    refund, _ = refunder()
    node = await three(stage, expert_tools=[refund], chief_tools=(gate.tool,))
    Cast(
        stage,
        chief=[asks("Refund", agent="lead").tool("work"), Script().text("All done.")],
        lead=[asks("Refund"), Script().text("Done.")],
        expert=[Script().tool("refund", {"amount": 5}), Script().text("Refunded.")],
    )
    top_id = await node.start("Refund", agent="chief")
    await gate.begun.wait()
    middle = await node.settled((await child(stage, top_id)).id)
    leaf = await child(stage, middle.id)
    (call,) = (await stage.database.read(pending_calls, [top_id]))[top_id]

    async def nothing(run: Run) -> None:
        """The process dies here."""

    node.runs._let_go_on = nothing  # type: ignore[method-assign]
    await node.decide(leaf.id, Decision(call.id, approve=True))
    await node.settled(leaf.id)
    gate.open.set()
    top = await node.settled(top_id)
    assert (top.status, top.finish) == (RunStatus.WAITING, FinishReason.APPROVAL)
    assert [event.call_ids for event in stage.screen(top_id).of(CallsWaiting)] == []
    await sweep(node.shop)
    await node.look()
    await stage.screen(top_id).sees(RunResult, 2)
    assert (await node.settled(top_id)).status is RunStatus.COMPLETED


# ---------------------------------------------------------------- lost acknowledgements


async def test_a_parent_that_went_on_unacknowledged_is_begun_at_once(stage: Stage) -> None:
    """Its lease is this process's own: nobody else would come before that has run out."""
    refund, _ = refunder()
    weather = Weather(stage.database)
    node = await team(stage, expert_=expert(tools=[refund]), database=weather)
    stage.play(asks("Refund"), Script().tool("refund", {"amount": 5}))
    run, one, call = await waiting_pair(stage, node)
    stage.play(Script().text("Refunded."), Script().text("Done."))
    node.runs = Runs(node.shop, node.worker)
    weather.lose = {"look_below"}
    await node.decide(one.id, Decision(call.id, approve=True))
    await node.settled(one.id)
    await quiet()
    found = await stage.run(run.id)
    if found.status is RunStatus.RUNNING and run.id not in node.worker._runners:
        await stage.leases.advance(3_600)
        await node.look()
    await stage.screen(run.id).sees(RunResult, 2)
    now = await node.settled(run.id)
    assert (now.status, now.fence) == (RunStatus.COMPLETED, found.fence)


async def test_a_child_that_was_begun_unacknowledged_is_begun_at_once(stage: Stage) -> None:
    """And once."""
    weather = Weather(stage.database)
    node = await team(stage, database=weather)
    stage.play(asks("Find A-1"), Script().text("There."), Script().text("Done."))
    weather.lose = {"open_child"}
    run_id = await begin(node)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    (one,) = await children(stage, run_id)
    assert (one.fence, one.takeovers) == (1, 0)


# ---------------------------------------------------------------- what outlives its call


async def test_cancelling_a_run_that_had_ended_stops_what_a_tool_of_it_has_left_waiting(stage: Stage) -> None:
    """A run that is cancelled stops all that it has begun, whatever it was before."""
    refund, refunds = refunder()

    @tool
    async def consult(ctx: Context) -> str:
        """Ask the expert."""
        return (await ctx.run_agent("expert", "Refund")).status

    node = await team(stage, lead(subagents=[], tools=[consult]), expert(tools=[refund]))
    stage.play(Script().tool("consult"), Script().tool("refund", {"amount": 5}), Script().text("It waits."))
    run_id = await begin(node)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    one = await child(stage, run_id)
    assert one.status is RunStatus.WAITING
    await node.cancel(run_id)
    assert (await stage.run(run_id)).status is RunStatus.CANCELLED
    assert ((await stage.run(one.id)).status, refunds) == (RunStatus.CANCELLED, [])


async def test_a_run_that_fails_stops_a_child_that_waits(stage: Stage) -> None:
    """Its time is over while another tool is at work."""
    gate = Gate()
    refund, refunds = refunder()
    node = await team(stage, lead(tools=[gate.tool], timeout=0.1), expert(tools=[refund]))
    Cast(stage, lead=[asks("Refund").tool("work")], expert=[Script().tool("refund", {"amount": 5})])
    run_id = await begin(node)
    await gate.begun.wait()
    assert (await node.settled(run_id)).status is RunStatus.FAILED
    one = await node.settled((await child(stage, run_id)).id)
    assert (one.status, refunds) == (RunStatus.CANCELLED, [])


async def test_a_child_that_its_owner_goes_on_with_has_answered_all_the_same(stage: Stage) -> None:
    """What its parent's call gets is the end of the turn that was handed on, however late it looks."""
    gate, release = Gate(), asyncio.Event()
    agents = {"lead": lead(), "expert": expert(tools=[gate.tool])}
    node = await stage.open(agents=agents, takes=False)
    later = Script().text("You're ").hold(release).text("welcome.")
    Cast(
        stage,
        lead=[asks("Find A-1"), Script().text("Done.")],
        expert=[Script().tool("work"), Script().text("In the depot."), later],
    )
    run_id = await begin(node)
    await gate.begun.wait()
    node.runner(run_id).drain()
    await left(node, run_id)
    gate.open.set()
    one = await node.settled((await child(stage, run_id)).id)
    await node.steer(one.id, "Thanks")
    other = await stage.open(agents=agents, memory=node.memory)
    async with asyncio.timeout(10):
        assert (await other.settled(run_id)).status is RunStatus.COMPLETED
    assert ((await stage.run(one.id)).status, told(stage)) == (RunStatus.RUNNING, ["In the depot."])
    (finished,) = stage.screen(run_id).of(SubagentFinished)
    assert finished.status is RunStatus.COMPLETED
    release.set()
    await node.settled(one.id)


async def test_a_task_may_be_any_text(stage: Stage) -> None:
    """What a database can't hold is replaced in it, as on every path in."""

    @tool
    async def consult(ctx: Context) -> str:
        """Ask the expert about a file with an odd name."""
        return (await ctx.run_agent("expert", "Read caf\udce9")).text

    node = await team(stage, lead(subagents=[], tools=[consult]))
    stage.play(Script().tool("consult"), Script().text("There."), Script().text("Done."))
    run_id = await begin(node)
    await node.settled(run_id)
    assert told(stage) == ["There."]
    assert (await child(stage, run_id)).title == "Read caf\ufffd"


# ---------------------------------------------------------------- people and processes


async def test_who_takes_a_run_over_waits_for_the_child_that_waits(stage: Stage) -> None:
    """Its worker died while another tool was at work: that is interrupted, and the child waits as it did."""
    gate = Gate()
    refund, refunds = refunder()
    agents = {"lead": lead(tools=[gate.tool]), "expert": expert(tools=[refund])}
    node = await stage.open(agents=agents, takes=False)
    Cast(
        stage,
        lead=[asks("Refund").tool("work"), Script().text("Done.")],
        expert=[Script().tool("refund", {"amount": 5}), Script().text("Refunded.")],
    )
    run_id = await begin(node)
    await gate.begun.wait()
    one = await node.settled((await child(stage, run_id)).id)
    (loop,) = node.worker._tasks
    loop.cancel()
    await left(node, run_id)
    other = await stage.open(agents=agents, memory=node.memory)
    run = await other.settled(run_id)
    assert (run.status, run.finish, len(await children(stage, run_id))) == (RunStatus.WAITING, FinishReason.APPROVAL, 1)
    (call,) = (await stage.database.read(pending_calls, [run_id]))[run_id]
    await other.decide(one.id, Decision(call.id, approve=True))
    await stage.screen(run_id).sees(RunResult, 2)
    assert ((await other.settled(run_id)).status, refunds) == (RunStatus.COMPLETED, [5])
    assert told(stage) == ["Refunded.", INTERRUPTED]


@pytest.mark.parametrize("first", ["decided", "suspended", "both"])
async def test_a_decision_that_meets_the_parents_suspending_is_lost_to_neither(stage: Stage, first: str) -> None:
    """The parent goes on, whichever of the two comes first."""
    gate = Gate()
    refund, refunds = refunder()
    node = await team(stage, lead(tools=[gate.tool]), expert(tools=[refund]), poll_seconds=0.01)
    Cast(
        stage,
        lead=[asks("Refund").tool("work"), Script().text("Done.")],
        expert=[Script().tool("refund", {"amount": 5}), Script().text("Refunded.")],
    )
    run_id = await begin(node)
    await gate.begun.wait()
    one = await child(stage, run_id)
    while (await stage.run(one.id)).status is not RunStatus.WAITING:
        await asyncio.sleep(0.01)
    (call,) = (await stage.database.read(pending_calls, [run_id]))[run_id]
    if first == "suspended":
        gate.open.set()
        await node.settled(run_id)
    deciding = asyncio.create_task(node.decide(one.id, Decision(call.id, approve=True)))
    if first == "decided":
        await deciding
    gate.open.set()
    await deciding
    while (run := await stage.run(run_id)).status is not RunStatus.COMPLETED:
        await asyncio.sleep(0.01)
    assert (run.generation, refunds) in ((1, [5]), (2, [5]))
    await node.settled(run_id)
