"""Tasks that a run hands to other agents: each a run of its own, begun once, and never left behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.budget import Budget
from engine.context import AgentReply, Context
from engine.sweeping import sweep
from engine.tool import Tool, tool
from engine.user import User
from engine.verdicts import Decision
from models.child import MAX_CHILDREN, MAX_DEPTH, pending_calls
from models.enums import FinishReason, RunStatus, SteerMode, ToolCallState
from models.events import CallsWaiting, RunResult, SubagentFinished, SubagentStarted
from models.run import Run
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.stage import ALICE, Stage, quiet
from tests.support.team import (
    Cast,
    asks,
    begin,
    calls,
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

# ---------------------------------------------------------------- handing on


async def test_a_task_becomes_a_run_of_its_own_whose_answer_is_the_result(stage: Stage) -> None:
    """With the same user, roles and trusted context; its input is the task, its answer what the lead reads."""
    node = await team(stage)
    stage.play(asks("Find A-1"), Script().text("In the depot."), Script().text("It is in the depot."))
    run_id = await begin(node, context={"shop": 7})
    run = await node.settled(run_id)
    one = await child(stage, run_id)
    (call,) = await calls(stage, run_id)
    assert (run.status, one.status, one.agent, one.title) == (*[RunStatus.COMPLETED] * 2, "expert", "Find A-1")
    assert (one.user_id, one.roles, one.context, one.parent_id) == ("alice", ["user"], {"shop": 7}, run_id)
    assert (call.state, call.result, call.child_run_id) == (ToolCallState.SUCCEEDED, "In the depot.", one.id)
    (said,) = stage.server.requests[1].messages
    assert [block["text"] for block in said["content"]] == ["Find A-1"]
    assert told(stage) == ["In the depot."]


async def test_the_model_is_told_what_its_sub_agents_are_for(stage: Stage) -> None:
    """Each is a tool with the agent's name and description."""
    node = await team(stage)
    stage.play(Script().text("Hello."))
    await node.settled(await begin(node))
    (offered,) = stage.server.requests[0].body["tools"]
    assert offered["name"] == "expert"
    assert "Knows all about orders." in offered["description"]
    assert offered["input_schema"]["required"] == ["task"]


async def test_watchers_see_the_child_begin_and_end(stage: Stage) -> None:
    """SubagentStarted names its run, whose stream can be followed; SubagentFinished how it stands."""
    node = await team(stage)
    stage.play(asks("Find A-1"), Script().text("There."), Script().text("Done."))
    run_id = await begin(node)
    await node.settled(run_id)
    one = await child(stage, run_id)
    screen = stage.screen(run_id)
    assert screen.names == [
        *("StepFinished", "ToolCallStarted", "SubagentStarted", "SubagentFinished", "ToolCallFinished"),
        *("StepFinished", "RunResult"),
    ]
    (started,), (finished,) = screen.of(SubagentStarted), screen.of(SubagentFinished)
    assert (started.run_id, started.agent) == (one.id, "expert")
    assert (finished.run_id, finished.status) == (one.id, RunStatus.COMPLETED)


async def test_several_tasks_of_one_step_are_several_runs_at_once(stage: Stage) -> None:
    """None waits for the other."""
    gate = Gate()
    node = await team(stage, expert_=expert(tools=[gate.tool]))
    work = [Script().tool("work", {"place": place}) for place in ("one", "two")]
    Cast(stage, lead=[asks("One", "Two"), Script().text("Done.")], expert=[*work, *[Script().text("There.")] * 2])
    run_id = await begin(node)
    while len(gate.calls) < 2:
        await asyncio.sleep(0)
    gate.open.set()
    await node.settled(run_id)
    assert [one.status for one in await children(stage, run_id)] == [RunStatus.COMPLETED] * 2


@pytest.mark.parametrize(
    ("name", "auth", "task", "why"),
    [
        ("nobody", "user", "Find A-1", "There is no agent 'nobody'"),
        ("expert", "staff", "Find A-1", "takes the role 'staff'"),
        ("expert", "user", "  ", "input"),
        ("expert", "user", "x" * 2_000_000, "input"),
    ],
    ids=["no such agent", "another's agent", "no task", "a task that is too long"],
)
async def test_a_task_that_cannot_be_handed_on_is_told_to_the_model(
    stage: Stage, name: str, auth: str, task: str, why: str
) -> None:
    """An agent that is not there, one that the run's user may not run, and what is no input."""
    node = await team(stage, lead(subagents=[name]), expert(auth=auth))
    stage.play(asks(task, agent=name), Script().text("I can't."))
    run_id = await begin(node)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert await children(stage, run_id) == []
    (text,) = told(stage)
    assert why in text


async def test_a_child_that_fails_is_told_to_the_model(stage: Stage) -> None:
    """With the reason that its owner reads; the run goes on."""
    node = await team(stage, expert_=expert(max_steps=1))
    stage.play(asks("Find A-1"), Script().text("Hm.").tool("nothing"), Script().text("It did not work."))
    run_id = await begin(node)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    (call,) = await calls(stage, run_id)
    assert (call.state, call.is_error) == (ToolCallState.FAILED, True)
    assert "max_steps" in told(stage)[0]
    assert (await child(stage, run_id)).finish is FinishReason.MAX_STEPS


async def test_a_child_that_its_owner_cancels_alone_is_told_to_the_model(stage: Stage) -> None:
    """The run that asked goes on without it."""
    gate = Gate()
    node = await team(stage, expert_=expert(tools=[gate.tool]))
    stage.play(asks("Find A-1"), Script().tool("work"), Script().text("Without it, then."))
    run_id = await begin(node)
    await gate.begun.wait()
    await node.cancel((await child(stage, run_id)).id)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    (call,) = await calls(stage, run_id)
    assert (call.state, told(stage)) == (ToolCallState.CANCELLED, ["the agent expert was cancelled"])


# ---------------------------------------------------------------- what goes down the tree


async def test_cancel_stops_the_children_too(stage: Stage) -> None:
    """At once, whatever they do; nothing of the tree runs on."""
    gate = Gate()
    node = await team(stage, expert_=expert(tools=[gate.tool]))
    stage.play(asks("Find A-1"), Script().tool("work"))
    run_id = await begin(node)
    await gate.begun.wait()
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    one = await node.settled((await child(stage, run_id)).id)
    assert (one.status, one.finish, gate.stopped.is_set()) == (RunStatus.CANCELLED, FinishReason.ABORTED, True)
    assert stage.screen(run_id).of(SubagentFinished)[0].status is RunStatus.CANCELLED


async def test_an_interrupting_input_stops_the_children_and_the_run_goes_on(stage: Stage) -> None:
    """As it stops any tool: the model reads so, and then the input."""
    gate = Gate()
    node = await team(stage, expert_=expert(tools=[gate.tool]))
    stage.play(asks("Find A-1"), Script().tool("work"), Script().text("Never mind, then."))
    run_id = await begin(node)
    await gate.begun.wait()
    await node.interrupt(run_id, "Never mind")
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert (await node.settled((await child(stage, run_id)).id)).status is RunStatus.CANCELLED


async def test_the_children_of_a_run_that_fails_are_stopped(stage: Stage) -> None:
    """Its time is over: so is theirs."""
    gate = Gate()
    node = await team(stage, lead(timeout=0.05), expert(tools=[gate.tool]))
    stage.play(asks("Find A-1"), Script().tool("work"))
    run_id = await begin(node)
    await gate.begun.wait()
    assert (await node.settled(run_id)).status is RunStatus.FAILED
    assert (await node.settled((await child(stage, run_id)).id)).status is RunStatus.CANCELLED


async def test_children_draw_from_their_parents_budget(stage: Stage) -> None:
    """What they use is gone for the whole tree; the lead's next call finds nothing left."""
    node = await team(stage, lead(budget=Budget(tokens=3_000), max_tokens=500), expert(max_tokens=500))
    stage.play(asks("Find A-1"), Script(input_tokens=2_900).text("There."))
    run_id = await begin(node)
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.FAILED, FinishReason.BUDGET)
    assert (await child(stage, run_id)).purses == run.purses


async def test_a_tree_is_bounded_in_depth(stage: Stage) -> None:
    """An agent that hands its task to itself comes to an end."""
    node = await stage.open(agents={"lead": lead(subagents=["lead"])})
    stage.server.answer(
        lambda request: Script().text("Enough.") if len(request.messages) > 1 else asks("Go deeper", agent="lead")
    )
    run_id = await begin(node)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    depth = 0
    while found := await children(stage, run_id):
        depth, run_id = depth + 1, found[0].id
    assert depth == MAX_DEPTH
    (call,) = await calls(stage, run_id)
    assert f"at this depth ({MAX_DEPTH})" in call.result


async def test_a_turn_is_bounded_in_how_many_runs_it_begins(stage: Stage) -> None:
    """The next is told to the model."""
    node = await team(stage, lead(parallel_tools=16))
    tasks = [f"Task {n}" for n in range(MAX_CHILDREN + 1)]
    Cast(stage, lead=[asks(*tasks), Script().text("Done.")], expert=[Script().text("There.")] * MAX_CHILDREN)
    run_id = await begin(node)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert len(await children(stage, run_id)) == MAX_CHILDREN
    assert sum("may hand on no more" in text for text in told(stage)) == 1


# ---------------------------------------------------------------- waiting


async def test_a_run_whose_child_waits_for_a_person_waits_without_a_worker(stage: Stage) -> None:
    """Its pendingCalls and CallsWaiting show the child's call; decided, both go on to their ends."""
    refund, refunds = refunder()
    node = await team(stage, expert_=expert(tools=[refund]))
    stage.play(asks("Refund"), Script().tool("refund", {"amount": 5}))
    run, one, call = await waiting_pair(stage, node)
    assert (run.worker, run.lease_until, len(node.worker)) == (None, 0, 0)
    assert [pending.id for pending in (await stage.database.read(pending_calls, [run.id]))[run.id]] == [call.id]
    assert stage.screen(run.id).of(CallsWaiting)[0].call_ids == [call.id]
    stage.play(Script().text("Refunded."), Script().text("Done."))
    await node.decide(one.id, Decision(call.id, approve=True))
    now = await node.settled(run.id)
    assert (now.status, now.generation, refunds) == (RunStatus.COMPLETED, 2, [5])
    assert (await stage.run(one.id)).status is RunStatus.COMPLETED
    assert await stage.database.read(pending_calls, [run.id]) == {run.id: []}
    assert stage.screen(run.id).names[-5:] == [
        *("RunResult", "SubagentFinished", "ToolCallFinished", "StepFinished", "RunResult"),
    ]


async def test_a_run_waits_again_where_its_child_does(stage: Stage) -> None:
    """However often."""
    refund, refunds = refunder()
    node = await team(stage, expert_=expert(tools=[refund]))
    stage.play(asks("Refund"), Script().tool("refund", {"amount": 5}))
    run, one, call = await waiting_pair(stage, node)
    stage.play(Script().tool("refund", {"amount": 6}))
    await node.decide(one.id, Decision(call.id, approve=True))
    screen = stage.screen(run.id)
    await screen.sees(RunResult, 2)
    again = await node.settled(run.id)
    assert (again.status, again.generation) == (RunStatus.WAITING, 2)
    (second,) = (await stage.database.read(pending_calls, [run.id]))[run.id]
    stage.play(Script().text("Refunded."), Script().text("Done."))
    await node.decide(one.id, Decision(second.id, approve=False))
    await screen.sees(RunResult, 3)
    assert ((await node.settled(run.id)).status, refunds) == (RunStatus.COMPLETED, [5])


async def test_a_run_waits_for_its_own_calls_and_for_its_childs(stage: Stage) -> None:
    """In whatever order they are decided."""
    refund, refunds = refunder()
    node = await team(stage, lead(tools=[refund]), expert(tools=[refund]))
    both = asks("Refund").tool("refund", {"amount": 1})
    Cast(
        stage,
        lead=[both, Script().text("Done.")],
        expert=[Script().tool("refund", {"amount": 2}), Script().text("So.")],
    )
    run_id = await begin(node)
    await node.settled(run_id)
    own, child_s = (await stage.database.read(pending_calls, [run_id]))[run_id]
    await node.decide(child_s.run_id, Decision(child_s.id, approve=True))
    await node.settled(child_s.run_id)
    assert (await stage.run(run_id)).status is RunStatus.WAITING
    await node.decide(run_id, Decision(own.id, approve=True))
    await stage.screen(run_id).sees(RunResult, 2)
    assert ((await node.settled(run_id)).status, sorted(refunds)) == (RunStatus.COMPLETED, [1, 2])


async def test_cancelling_a_run_that_waits_for_its_child_stops_both(stage: Stage) -> None:
    """What waits is closed all the way down."""
    refund, refunds = refunder()
    node = await team(stage, expert_=expert(tools=[refund]))
    stage.play(asks("Refund"), Script().tool("refund", {"amount": 5}))
    run, one, _ = await waiting_pair(stage, node)
    await node.cancel(run.id)
    assert [(await stage.run(each.id)).status for each in (run, one)] == [RunStatus.CANCELLED] * 2
    (closed,) = await calls(stage, one.id)
    assert (closed.state, refunds) == (ToolCallState.CANCELLED, [])


async def test_cancelling_a_child_that_waits_lets_its_parent_go_on(stage: Stage) -> None:
    """The parent's model reads that it was cancelled."""
    refund, _ = refunder()
    node = await team(stage, expert_=expert(tools=[refund]))
    stage.play(asks("Refund"), Script().tool("refund", {"amount": 5}))
    run, one, _ = await waiting_pair(stage, node)
    stage.play(Script().text("Then not."))
    await node.cancel(one.id)
    await stage.screen(run.id).sees(RunResult, 2)
    assert (await node.settled(run.id)).status is RunStatus.COMPLETED
    assert told(stage) == ["the agent expert was cancelled"]


async def test_an_interrupting_input_ends_the_wait_for_a_child(stage: Stage) -> None:
    """The child is stopped, and the run goes on with the input."""
    refund, _ = refunder()
    node = await team(stage, expert_=expert(tools=[refund]))
    stage.play(asks("Refund"), Script().tool("refund", {"amount": 5}))
    run, one, _ = await waiting_pair(stage, node)
    stage.play(Script().text("Good."))
    await node.steer(run.id, "Leave it", SteerMode.INTERRUPT)
    await stage.screen(run.id).sees(RunResult, 2)
    assert (await node.settled(run.id)).status is RunStatus.COMPLETED
    assert (await stage.run(one.id)).status is RunStatus.CANCELLED


async def test_the_sweep_lets_a_parent_go_on_whose_waker_died(stage: Stage) -> None:
    """Between the decision and the look at the run above nothing is lost."""
    refund, _ = refunder()
    node = await team(stage, expert_=expert(tools=[refund]))
    stage.play(asks("Refund"), Script().tool("refund", {"amount": 5}))
    run, one, call = await waiting_pair(stage, node)

    async def nothing(run: Run) -> None:
        """The process dies here."""

    node.runs._let_go_on = nothing  # type: ignore[method-assign]
    stage.play(Script().text("Refunded."), Script().text("Done."))
    await node.decide(one.id, Decision(call.id, approve=True))
    await node.settled(one.id)
    assert (await stage.run(run.id)).status is RunStatus.WAITING
    await sweep(node.shop)
    await node.look()
    await stage.screen(run.id).sees(RunResult, 2)
    assert (await node.settled(run.id)).status is RunStatus.COMPLETED


# ---------------------------------------------------------------- places and takeovers


async def test_runs_that_wait_for_children_take_no_place(stage: Stage) -> None:
    """A worker with room for one run works on a whole tree."""
    node = await stage.open(agents={"lead": lead(subagents=["lead", "expert"]), "expert": expert()}, max_runs=1)
    scripts = [asks("Deeper", agent="lead"), asks("Find"), Script().text("One."), Script().text("Two.")]
    Cast(stage, lead=scripts, expert=[Script().text("There.")])
    run_id = await begin(node)
    for _ in range(2):
        await quiet()
        await node.look()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_who_takes_a_run_over_waits_for_the_same_child(stage: Stage) -> None:
    """No second run is begun for the call."""
    gate = Gate()
    node = await team(stage, expert_=expert(tools=[gate.tool]))
    Cast(
        stage, lead=[asks("Find A-1"), Script().text("Done.")], expert=[Script().tool("work"), Script().text("There.")]
    )
    run_id = await begin(node)
    await gate.begun.wait()
    other = await team(stage, expert_=expert(tools=[gate.tool]), memory=node.memory)
    node.runner(run_id).drain()
    await left(node, run_id)
    await other.look()
    gate.open.set()
    run = await other.settled(run_id)
    assert (run.status, len(await children(stage, run_id))) == (RunStatus.COMPLETED, 1)


# ---------------------------------------------------------------- from within a tool


def asking(got: list[AgentReply], **options: Any) -> Tool[..., Any]:
    """A tool that asks the expert by itself."""

    @tool(**options)
    async def consult(ctx: Context, task: str) -> str:
        """Ask the expert.

        Args:
            task: what.
        """
        reply = await ctx.run_agent("expert", task)
        got.append(reply)
        return f"The expert said: {reply.text}"

    return consult


async def test_a_tool_runs_an_agent_by_itself(stage: Stage) -> None:
    """What comes of it is for the tool to use; the tool's time stands still meanwhile."""
    got: list[AgentReply] = []
    gate = Gate()
    node = await team(stage, lead(subagents=[], tools=[asking(got, timeout=0.1)]), expert(tools=[gate.tool]))
    stage.play(Script().tool("consult", {"task": "Find A-1"}), Script().tool("work"), Script().text("There."))
    stage.play(Script().text("Done."))
    run_id = await begin(node)
    await gate.begun.wait()
    await asyncio.sleep(0.3)
    gate.open.set()
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    one = await child(stage, run_id)
    (reply,) = got
    assert (reply.run_id, reply.status, reply.text, reply.error) == (one.id, "COMPLETED", "There.", None)
    assert told(stage) == ["The expert said: There."]
    names = stage.screen(run_id).names
    assert names[1:5] == ["ToolCallStarted", "SubagentStarted", "SubagentFinished", "ToolCallFinished"]


async def test_a_plain_function_runs_an_agent_too(stage: Stage) -> None:
    """From its thread."""

    @tool
    def consult(ctx: Context) -> str:
        """Ask the expert."""
        return ctx.run_agent_sync("expert", "Find A-1").text

    node = await team(stage, lead(subagents=[], tools=[consult]))
    stage.play(Script().tool("consult"), Script().text("There."), Script().text("Done."))
    await node.settled(await begin(node))
    assert told(stage) == ["There."]


async def test_a_tool_that_is_run_again_finds_the_run_that_it_had_begun(stage: Stage) -> None:
    """After a crash between the two, no second run is begun."""
    got: list[AgentReply] = []
    gate = Gate()
    agents = {
        "lead": lead(subagents=[], tools=[asking(got, on_crash="retry")]),
        "expert": expert(tools=[gate.tool]),
    }
    node = await stage.open(agents=agents)
    Cast(
        stage,
        lead=[Script().tool("consult", {"task": "Find A-1"}), Script().text("Done.")],
        expert=[Script().tool("work"), Script().text("There.")],
    )
    run_id = await begin(node)
    await gate.begun.wait()
    other = await stage.open(agents=agents, memory=node.memory)
    (loop,) = [task for task in node.worker._tasks if task.get_name() == f"run {run_id}"]
    loop.cancel()
    await left(node, run_id)
    await other.look()
    gate.open.set()
    assert (await other.settled(run_id)).status is RunStatus.COMPLETED
    assert ([reply.text for reply in got], len(await children(stage, run_id))) == (["There."], 1)


async def test_a_child_of_a_tool_that_waits_comes_back_as_waiting(stage: Stage) -> None:
    """The tool goes on, and so does the run; the child waits by itself."""
    refund, refunds = refunder()
    got: list[AgentReply] = []
    node = await team(stage, lead(subagents=[], tools=[asking(got)]), expert(tools=[refund]))
    stage.play(Script().tool("consult", {"task": "Refund"}), Script().tool("refund", {"amount": 5}))
    stage.play(Script().text("It waits."))
    run_id = await begin(node)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    assert [(reply.status, reply.finish) for reply in got] == [("WAITING", "APPROVAL")]
    one = await child(stage, run_id)
    (call,) = await calls(stage, one.id)
    stage.play(Script().text("Refunded."))
    await node.decide(one.id, Decision(call.id, approve=True))
    assert ((await node.settled(one.id)).status, refunds) == (RunStatus.COMPLETED, [5])


async def test_a_tool_that_is_stopped_stops_the_agent_that_it_runs(stage: Stage) -> None:
    """With its run."""
    got: list[AgentReply] = []
    gate = Gate()
    node = await team(stage, lead(subagents=[], tools=[asking(got)]), expert(tools=[gate.tool]))
    stage.play(Script().tool("consult", {"task": "Find A-1"}), Script().tool("work"))
    run_id = await begin(node)
    await gate.begun.wait()
    await node.cancel(run_id)
    assert (await node.settled(run_id)).status is RunStatus.CANCELLED
    assert (await node.settled((await child(stage, run_id)).id)).status is RunStatus.CANCELLED
    assert got == []


async def test_someone_elses_role_is_not_lent_to_a_child(stage: Stage) -> None:
    """A child runs as its parent's user, who decides what waits in it."""
    node = await team(stage, expert_=expert(auth="staff"))
    stage.play(asks("Find A-1"), Script().text("There."), Script().text("Done."))
    sam = User("sam", frozenset({"staff"}))
    run_id = await begin(node, user=sam)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED
    one = await child(stage, run_id)
    assert (one.user_id, one.roles) == ("sam", ["staff"])
    assert ALICE.id != one.user_id
