"""Every way in which a generation can end, reached through the application, and gone on from as the page says."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from engine.brakes import Brakes
from engine.budget import Budget
from engine.limits import ByRole
from engine.tool import tool
from models.enums import FinishReason, RunStatus
from models.verbs.spending import add_to_balance
from tests.support import documents
from tests.support.client import Client, Json
from tests.support.messages_script import Script
from tests.support.project import ROOT
from tests.support.world import World, helper, world

Do = Callable[[World, Client, Json], Awaitable[Any]]
ROW = re.compile(r"^\| `([A-Z_]+)` \| ([A-Z]+) \| (.+?) \| (.+?) \|$", re.MULTILINE)
PAGE = {row[0]: row for row in ROW.findall((ROOT / "docs" / "api.md").read_text(encoding="utf-8"))}
"""The page's table: of each finish its status, what happened, and what to do."""


class Word(BaseModel):
    """What an agent with an output type answers."""

    word: str


@tool
def work() -> str:
    """Work."""
    return "worked"


@tool(approval=True)
def refund() -> str:
    """Refund it."""
    return "refunded"


@tool(client=True)
def locate() -> str:
    """Where the user is."""
    raise AssertionError("a client answers it")


async def nothing(w: World, alice: Client, run: Json) -> None:
    """The model comes to this end by itself."""


async def says_more(w: World, alice: Client, run: Json) -> None:
    """A new input."""
    await alice.steer(run["id"], "Go on")


async def retries(w: World, alice: Client, run: Json) -> None:
    """The same turn from its last completed step."""
    await alice.done(documents.RETRY, runId=run["id"])


async def retries_with_more(w: World, alice: Client, run: Json) -> None:
    """With a larger budget."""
    await alice.done(documents.RETRY, runId=run["id"], budget={"tokens": 9_000})


async def cancels(w: World, alice: Client, run: Json) -> None:
    """Once something is shown."""
    await (await alice.watch_stream(run["streamId"])).shows("Half")
    await alice.cancel(run["id"])


async def approves(w: World, alice: Client, run: Json) -> None:
    """All that waits."""
    decisions = [{"toolCallId": call["id"], "decision": "APPROVE"} for call in run["pendingCalls"]]
    await alice.done(documents.DECIDE, runId=run["id"], decisions=decisions)


async def answers(w: World, alice: Client, run: Json) -> None:
    """In the client tool's place."""
    (call,) = run["pendingCalls"]
    await alice.done(documents.COMPLETE, runId=run["id"], toolCallId=call["id"], result="Bern")


async def tops_up(w: World, alice: Client, run: Json) -> None:
    """The operator adds to the balance, and the run is retried."""
    await w.engine.database.write(add_to_balance, 10**12)
    await retries(w, alice, run)


async def has_room_again(w: World, alice: Client, run: Json) -> None:
    """The operator raises the limit, which is sooner than the next day."""
    w.settings = dataclasses.replace(w.settings, daily_token_limit=ByRole(9_000))
    await w.restart()
    await retries(w, alice, run)


@dataclass(frozen=True)
class Case:
    """How an end is reached, and how the run goes on from it."""

    scripts: list[Script]
    go_on: Do
    code: str | None = None
    act: Do = nothing
    agent: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    balance: int | None = None


HELLO = "Hello. " * 50
CASES = {
    FinishReason.STOP: Case([Script().text("Yes.")], says_more),
    FinishReason.LENGTH: Case([Script().text("And so").stop("max_tokens")], says_more),
    FinishReason.CONTENT_FILTER: Case([Script().text("No").stop("refusal")], says_more),
    FinishReason.MAX_STEPS: Case([Script().tool("work")], retries, "AGENT_MAX_STEPS", agent={"max_steps": 1}),
    FinishReason.STUCK: Case(
        [Script().tool("work")] * 3, says_more, "LOOP_STOPPED", agent={"brakes": Brakes(identical=3)}
    ),
    FinishReason.BUDGET: Case([], retries_with_more, "BUDGET_SPENT", agent={"budget": Budget(tokens=200)}),
    FinishReason.BALANCE: Case([], tops_up, "BALANCE_SPENT", balance=1),
    FinishReason.LIMIT: Case([], has_room_again, "LIMIT_REACHED", settings={"daily_token_limit": ByRole(200)}),
    FinishReason.ERROR: Case([Script.status(401, "authentication_error")], retries, "PROVIDER_ERROR"),
    FinishReason.APPROVAL: Case([Script().tool("refund")], approves),
    FinishReason.CLIENT_TOOL: Case([Script().tool("locate")], answers),
    FinishReason.ABORTED: Case([Script().half_text("Half").hold(asyncio.Event())], retries, act=cancels),
}


@pytest.mark.parametrize("finish", FinishReason)
async def test_every_finish_is_reached_with_its_status_and_gone_on_from(tmp_path: Path, finish: FinishReason) -> None:
    """On the row and in RunResult alike, as the page's table has it; what that advises brings the run to its end."""
    case, (_, status, _, _) = CASES[finish], PAGE[finish]
    agent = helper(tools=[work, refund, locate], **case.agent)
    async with world(tmp_path, settings=case.settings, helper=agent) as w:
        if case.balance is not None:
            await w.engine.database.write(add_to_balance, case.balance)
        w.play(*case.scripts)
        alice = w.client("alice")
        begun = await alice.start(HELLO)
        await case.act(w, alice, begun)
        (*_, result) = await alice.stream(begun["streamId"])
        run = await alice.run(begun["id"])
        assert (run["status"], run["finish"]) == (status, finish)
        assert (result["status"], result["finish"], result["error"]) == (status, finish, run["error"])
        assert result["cancelled"] is (finish is FinishReason.ABORTED)
        assert (run["error"] or {}).get("code") == case.code
        assert (run["error"] is not None) is (status == RunStatus.FAILED)
        w.play(Script().text("On."))
        await case.go_on(w, alice, run)
        end = await alice.settled(run["id"])
        assert (end["status"], end["finish"], end["error"]) == ("COMPLETED", "STOP", None)
        assert end["messages"]["nodes"][-1]["text"] == "On."


def test_the_page_says_of_every_finish_what_to_do() -> None:
    """In the order of the enum, each in words of its own."""
    assert [name for name in PAGE if name in list(FinishReason)] == list(FinishReason)
    explained = [PAGE[finish] for finish in FinishReason]
    assert len({happened for *_, happened, _ in explained}) == len(explained)
    assert all(len(to_do.split()) > 1 for *_, to_do in explained)


async def test_input_goes_on_after_an_answer_that_never_fitted(tmp_path: Path) -> None:
    """There is nothing to retry: the last answer is whole, so that is told."""
    async with world(tmp_path, helper=helper(output=Word)) as w:
        w.play(*[Script().text("No.")] * 4, Script().text('{"word": "on"}'))
        alice = w.client("alice")
        run = await alice.settled((await alice.start())["id"])
        assert (run["finish"], run["error"]["code"]) == ("ERROR", "OUTPUT_INVALID")
        assert (await alice.refusal(documents.RETRY, runId=run["id"]))[0] == "AGENT_INPUT_REQUIRED"
        await says_more(w, alice, run)
        assert (await alice.settled(run["id"]))["output"] == {"word": "on"}
