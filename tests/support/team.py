"""A team of agents on a stage: the lead hands tasks to the expert, and the chief to the lead."""

from __future__ import annotations

import asyncio
from typing import Any

from engine.agent import Agent
from engine.tool import Tool, tool
from models.call import ToolCall
from models.enums import FinishReason, RunStatus
from models.page import Window
from models.run import Run, RunQuery, find_runs
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.stage import Node, Stage, helper

CHIEF = "You rule."
LEAD = "You lead."
EXPERT = "You know."
_SYSTEMS = {"chief": CHIEF, "lead": LEAD, "expert": EXPERT}


def lead(**values: Any) -> Agent:
    """An agent that hands tasks to the expert."""
    return helper(**{"system": LEAD, "subagents": ["expert"], "description": "Leads.", **values})


def chief(**values: Any) -> Agent:
    """An agent that hands tasks to the lead."""
    return helper(**{"system": CHIEF, "subagents": ["lead"], **values})


def expert(**values: Any) -> Agent:
    """The agent that gets them."""
    return helper(**{"system": EXPERT, "description": "Knows all about orders.", **values})


def asks(*tasks: str, agent: str = "expert") -> Script:
    """The lead hands on these tasks."""
    script = Script().text("Let me ask.")
    for task in tasks:
        script.tool(agent, {"task": task})
    return script


class Cast:
    """Answers each agent by its own scripts, whichever asks first."""

    def __init__(self, stage: Stage, **scripts: list[Script]) -> None:
        self.scripts = {_SYSTEMS[name]: list(of) for name, of in scripts.items()}
        stage.server.answer(self.choose)

    def choose(self, request: Request) -> Script:
        """The next script of the agent that asks."""
        (name,) = [system for system in self.scripts if system in str(request.body["system"])]
        return self.scripts[name].pop(0)


async def team(stage: Stage, lead_: Agent | None = None, expert_: Agent | None = None, **options: Any) -> Node:
    """A node with both."""
    return await stage.open(agents={"lead": lead_ or lead(), "expert": expert_ or expert()}, **options)


async def begin(node: Node, text: str = "Where is A-1?", **more: Any) -> str:
    """Start a run of the lead."""
    return await node.start(text, agent="lead", **more)


async def children(stage: Stage, run_id: str) -> list[Run]:
    """The runs that a run has begun, oldest first."""
    found = await stage.database.read(find_runs, RunQuery(parent_id=run_id), Window(size=100))
    return found.rows[::-1]


async def child(stage: Stage, run_id: str) -> Run:
    """The one run that a run has begun, as soon as it is there."""
    while not (found := await children(stage, run_id)):
        await asyncio.sleep(0)
    (one,) = found
    return one


async def calls(stage: Stage, run_id: str) -> list[ToolCall]:
    """A run's calls."""
    return (await stage.story(run_id)).calls


async def left(node: Node, run_id: str) -> None:
    """Wait until the run's own loop has ended here; its child's may go on."""
    while run_id in node.worker._runners:
        await asyncio.sleep(0)


def told(stage: Stage, request: int = -1) -> list[str]:
    """What the model was told of its calls."""
    content = stage.server.requests[request].messages[-1]["content"]
    return [block["content"] for block in content if block["type"] == "tool_result"]


async def waiting_pair(stage: Stage, node: Node) -> tuple[Run, Run, ToolCall]:
    """A run and its child, both waiting for one approval; the call of the child."""
    run_id = await begin(node)
    run = await node.settled(run_id)
    one = await stage.run((await child(stage, run_id)).id)
    assert (run.status, run.finish, one.status) == (RunStatus.WAITING, FinishReason.APPROVAL, RunStatus.WAITING)
    (call,) = await calls(stage, one.id)
    return run, one, call


def refunder(**options: Any) -> tuple[Tool[..., Any], list[float]]:
    """A tool that waits for approval, and what it has refunded."""
    refunds: list[float] = []

    @tool(approval=True, **options)
    async def refund(amount: float) -> str:
        """Refund an amount.

        Args:
            amount: how much.
        """
        refunds.append(amount)
        return "refunded"

    return refund, refunds
