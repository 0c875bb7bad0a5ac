"""Runs that are attacked: what the model says, what the tools do, what the client does, and what must come of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from engine.agent import Agent
from engine.budget import Budget
from engine.compacting import HEAD
from engine.compaction import Compaction
from engine.context import Context
from engine.output import CORRECTION
from engine.runs import Runs
from engine.tool import Tool, tool
from engine.verdicts import Decision
from models.call import get_calls
from models.content import INTERRUPTED
from models.enums import FinishReason, Role, RunStatus, SteerMode
from models.events import CallsWaiting, RunResult, SubagentStarted, ToolCallStarted
from models.message import Message
from tests.support.messages_rules import blocks_of
from tests.support.messages_script import Script
from tests.support.mortal import Dead
from tests.support.screens import Screen
from tests.support.stage import ALICE, Node, Stage, helper
from tests.support.truths import MODEL, Story

T = TypeVar("T")
TASK = ": task"
"""What a task that is handed on has behind the first input of its run."""


class Word(BaseModel):
    """What an agent with an output type answers."""

    word: str


Answer = Callable[["Play", list[str], int], Script]
"""The script for a request: the texts of its last user turn, and how many answers it holds."""


@dataclass
class Play:
    """One run of a case: its tools' tally, its client, and the node that lives."""

    stage: Stage
    case: Case
    first_input: str
    ran: Counter[tuple[str, str]] = field(default_factory=Counter)
    finished: Counter[tuple[str, str]] = field(default_factory=Counter)
    requests: int = 0
    model: str = ""
    """The model that was asked last."""
    is_summed_up: bool = False
    """Whether it was then asked with a summary of what came before."""
    said: list[str] = field(default_factory=list)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    run_id: str = ""
    _node: Node | None = None
    _alive: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def screen(self) -> Screen:
        """Who watches the run."""
        return self.stage.screen(self.run_id)

    def lives(self, node: Node | None) -> None:
        """This node serves from now on; none where it has died."""
        self._node = node
        if node is None:
            self._alive.clear()
        else:
            self._alive.set()

    async def _ask(self, operation: Callable[[Runs], Awaitable[T]]) -> T:
        """Ask a node, and the next where it died before it had answered: what clients say has a key."""
        while True:
            await self._alive.wait()
            node = self._node
            assert node is not None
            try:
                return await operation(node.runs)
            except Dead:
                while self._node is node:
                    await asyncio.sleep(0)

    async def start(self) -> None:
        """The client's first words."""
        text = self.first_input
        self.said.append(text)
        accepted = await self._ask(lambda runs: runs.start(ALICE, agent="helper", input=text, key=text))
        self.run_id = accepted.run.id
        assert self._node is not None
        self._node.follow(await self.stage.run(self.run_id))

    async def steer(self, text: str, mode: SteerMode = SteerMode.QUEUE) -> None:
        """The client says more."""
        key = f"{self.first_input}: {text}"
        self.said.append(text)
        await self._ask(lambda runs: runs.steer(ALICE, run_id=self.run_id, input=text, mode=mode, key=key))

    async def cancel(self) -> None:
        """The client stops the run."""
        await self._ask(lambda runs: runs.cancel(ALICE, run_id=self.run_id))

    async def decide(self, *, approve: bool) -> None:
        """The client decides all that waits for a decision."""
        calls = await self.stage.database.read(get_calls, self.screen.of(CallsWaiting)[-1].call_ids)
        for call in calls.values():
            decision = Decision(call.id, approve)
            await self._ask(
                lambda runs, run_id=call.run_id, one=decision: runs.decide(  # type: ignore[misc] # the loop's own
                    ALICE, run_id=run_id, decisions=[one], key=f"{self.first_input}: {one.call_id}"
                )
            )

    async def complete(self, result: str) -> None:
        """The client answers what waits for it."""
        (call_id,) = self.screen.of(CallsWaiting)[-1].call_ids
        key = f"{self.first_input}: {call_id}"
        await self._ask(lambda runs: runs.complete(ALICE, run_id=self.run_id, call_id=call_id, result=result, key=key))

    def agents(self) -> dict[str, Agent]:
        """The agents of this play: the same on every node."""
        below = {"subagents": ["expert"]} if self.case.children else {}
        return {
            "helper": helper(tools=self._tools(), **self.case.settings, **below),
            "expert": helper(tools=self._tools()),
        }

    def _tools(self) -> list[Tool[..., Any]]:
        @tool
        async def note(ctx: Context) -> str:
            """Note it."""
            self.ran["note", ctx.idempotency_key] += 1
            return "noted"

        @tool(on_crash="retry")
        async def again(ctx: Context) -> str:
            """May be done again."""
            self.ran["again", ctx.idempotency_key] += 1
            await asyncio.sleep(0)
            return "done"

        @tool
        async def wait(ctx: Context) -> str:
            """Wait for the client's word, or for the end."""
            self.ran["wait", ctx.idempotency_key] += 1
            goes, stops = asyncio.ensure_future(self.go.wait()), asyncio.ensure_future(ctx.cancelled.wait())
            try:
                await asyncio.wait({goes, stops}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                goes.cancel()
                stops.cancel()
            return "waited"

        @tool(approval=True)
        async def ask(ctx: Context) -> str:
            """Note it, where a person allows it."""
            self.ran["ask", ctx.idempotency_key] += 1
            return "noted"

        @tool(client=True)
        async def look(ctx: Context) -> str:
            """What the client sees."""
            raise AssertionError("only a client answers it")

        @tool(on_crash="retry")
        async def consult(ctx: Context) -> str:
            """Have the expert do it."""
            return (await ctx.run_agent("expert", self.first_input + TASK)).text

        return [note, again, wait, ask, look, consult]

    def answer(self, model: str, messages: list[dict[str, Any]]) -> Script:
        """What the model says to these messages; the same for the same ones, and to "hi" always a greeting."""
        self.requests += 1
        self.model = model
        self.is_summed_up = HEAD in str(messages[0])
        texts = [block["text"] for block in blocks_of(messages[-1]) if block["type"] == "text"]
        if texts and texts[-1] == "hi":
            return Script().text('{"word": "hello"}' if "output" in self.case.settings else "Hello.")
        answers = sum(message["role"] == "assistant" for message in messages)
        is_child = blocks_of(messages[0])[0]["text"].endswith(TASK)
        return (self.case.child if is_child else self.case.answer)(self, texts, answers)


def _silent(play: Play, texts: list[str], answers: int) -> Script:
    raise AssertionError("no task is handed on")


async def _no_client(play: Play) -> None:
    """Says nothing more."""


@dataclass(frozen=True)
class Case:
    """A scripted run, and how it ends whatever happens to its worker."""

    name: str
    answer: Answer
    status: RunStatus
    finish: FinishReason
    client: Callable[[Play], Coroutine[Any, Any, None]] = _no_client
    settings: dict[str, Any] = field(default_factory=dict)
    child: Answer = _silent
    children: int = 0
    """How many runs it hands tasks to at most, and what the model says in these."""
    same_transcript: bool = True
    """Whether the transcript is the same however often the run was taken over; else only its inputs are."""


def summary(story: Story) -> list[str]:
    """The transcript in short; what a takeover may change is left out: cut answers, and that a tool was interrupted."""
    lines: list[str] = []
    for message in story.messages:
        if message.role is Role.ASSISTANT and message.stop_reason is None:
            continue
        lines += [f"{message.role}: {_short(block)}" for block in blocks_of({"content": message.content})]
    return lines


def _short(block: dict[str, Any]) -> str:
    match block:
        case {"type": "text", "text": text}:
            return str(text)
        case {"type": "tool_use", "name": name}:
            return f"calls {name}"
        case {"type": "tool_result", "content": str(content)}:
            reported = content in ("noted", "waited", INTERRUPTED)
            return "result of a tool that is not run again" if reported else f"result {content}"
    return str(block["type"])


def inputs_of(messages: list[Message]) -> list[str]:
    """All texts that the user said, in order: what Steersman said in a user's turn is left out."""
    users = [blocks_of({"content": message.content}) for message in messages if message.role is Role.USER]
    texts = [block["text"] for blocks in users for block in blocks if block["type"] == "text"]
    return [text for text in texts if not text.startswith(CORRECTION)]


# ---------------------------------------------------------------- the cases


def _plain(play: Play, texts: list[str], answers: int) -> Script:
    return Script().text("Hel", "lo.")


def _tools(play: Play, texts: list[str], answers: int) -> Script:
    return Script().text("Let me").tool("note") if answers == 0 else Script().text("Done.")


def _parallel(play: Play, texts: list[str], answers: int) -> Script:
    if answers:
        return Script().text("Done.")
    return Script().tool("note").tool("again").tool("nowhere").tool("again")


def _waits(play: Play, texts: list[str], answers: int) -> Script:
    return Script().tool("wait") if answers == 0 else Script().text("Done.")


async def _steers_the_tool(play: Play) -> None:
    await play.screen.sees(ToolCallStarted)
    await play.steer("one")
    await play.steer("two")
    play.go.set()


def _is_dear(play: Play, texts: list[str], answers: int) -> Script:
    return Script(input_tokens=700).tool("note")


def _holds(play: Play, texts: list[str], answers: int) -> Script:
    return Script().text("One.").hold(play.go) if texts[-1] == play.first_input else Script().text("Two.")


async def _steers_the_end(play: Play) -> None:
    await play.screen.shows("One.")
    await play.steer("more")
    play.go.set()


def _hangs(play: Play, texts: list[str], answers: int) -> Script:
    if texts[-1:] == [play.first_input]:
        return Script().half_text("Half").hold(asyncio.Event())
    return Script().text("Right.")


async def _interrupts(play: Play) -> None:
    await play.screen.shows("Half")
    await play.steer("now", SteerMode.INTERRUPT)


async def _interrupts_the_tool(play: Play) -> None:
    await play.screen.sees(ToolCallStarted)
    await play.steer("now", SteerMode.INTERRUPT)


def _fails_first(play: Play, texts: list[str], answers: int) -> Script:
    if play.requests == 1:
        return Script().text("a", "b").fail()
    return Script.status(529, "overloaded_error") if play.requests == 2 else Script().text("abc")


def _falls_back(play: Play, texts: list[str], answers: int) -> Script:
    if play.model == MODEL:
        return Script().text("a", "b").fail()
    return Script().text("Let me").tool("note") if answers == 0 else Script().text("Done.")


_LONG = "Many words, and none of them of use to anybody who reads this again. " * 20


def _grows(play: Play, texts: list[str], answers: int) -> Script:
    if texts and "<conversation>" in texts[-1]:
        return Script(input_tokens=400).text(f"{play.first_input} asked for much.")
    if play.said[-1] in texts[-1:] and play.first_input != play.said[-1]:
        return Script().text("Let me").tool("note")
    return Script(input_tokens=1_100).text(_LONG) if texts else Script().text("Done.")


def _grows_in_a_turn(play: Play, texts: list[str], answers: int) -> Script:
    if texts and "<conversation>" in texts[-1]:
        return Script(input_tokens=400).text(f"{play.first_input} asked for much.")
    if answers == 0:
        return Script().tool("note")
    return Script().text("Done.") if play.is_summed_up else Script(input_tokens=1_100).text(_LONG).tool("note")


async def _says_more(play: Play) -> None:
    await play.screen.sees(RunResult)
    await play.steer("more")


def _fails_always(play: Play, texts: list[str], answers: int) -> Script:
    return Script.status(529, "overloaded_error")


def _never_ends(play: Play, texts: list[str], answers: int) -> Script:
    return Script().tool("note")


def _does_not_fit_at_first(play: Play, texts: list[str], answers: int) -> Script:
    return Script().text("A word: ", "pelican") if answers == 0 else Script().text('{"word": ', '"pelican"}')


async def _cancels(play: Play) -> None:
    await play.screen.shows("Half")
    await play.cancel()


async def _cancels_the_tool_and_goes_on(play: Play) -> None:
    await play.screen.sees(ToolCallStarted)
    await play.steer("before")
    await play.cancel()
    await play.steer("after")


def _asks(play: Play, texts: list[str], answers: int) -> Script:
    return Script().tool("ask").tool("note").tool("ask") if answers == 0 else Script().text("Done.")


async def _approves(play: Play) -> None:
    await play.screen.sees(CallsWaiting)
    await play.decide(approve=True)


async def _steers_and_denies(play: Play) -> None:
    await play.screen.sees(CallsWaiting)
    await play.steer("one")
    await play.decide(approve=False)


async def _interrupts_what_waits(play: Play) -> None:
    await play.screen.sees(CallsWaiting)
    await play.steer("now", SteerMode.INTERRUPT)


def _looks(play: Play, texts: list[str], answers: int) -> Script:
    return Script().tool("look") if answers == 0 else Script().text("Done.")


async def _answers(play: Play) -> None:
    await play.screen.sees(CallsWaiting)
    await play.complete("seen")


def _hands_on(play: Play, texts: list[str], answers: int) -> Script:
    task = {"task": play.first_input + TASK}
    return Script().tool("expert", task).tool("note") if answers == 0 else Script().text("Done.")


def _consults(play: Play, texts: list[str], answers: int) -> Script:
    return Script().tool("consult") if answers == 0 else Script().text("Done.")


def _hangs_below(play: Play, texts: list[str], answers: int) -> Script:
    return Script().half_text("Half").hold(asyncio.Event())


async def _cancels_what_is_below(play: Play) -> None:
    await play.screen.sees(SubagentStarted)
    await play.cancel()


_SMALL = {"compaction": Compaction(context_tokens=1_200), "max_tokens": 100}
_DONE = (RunStatus.COMPLETED, FinishReason.STOP)
CASES = [
    Case("plain", _plain, *_DONE),
    Case("tool", _tools, *_DONE),
    Case("parallel tools", _parallel, *_DONE),
    Case("steered in a tool", _waits, *_DONE, _steers_the_tool, same_transcript=False),
    Case("steered at the end", _holds, *_DONE, _steers_the_end),
    Case("interrupted", _hangs, *_DONE, _interrupts),
    Case("interrupted in a tool", _waits, *_DONE, _interrupts_the_tool, same_transcript=False),
    Case("approved", _asks, *_DONE, _approves),
    Case("denied", _asks, *_DONE, _steers_and_denies),
    Case("interrupted while it waits", _asks, *_DONE, _interrupts_what_waits),
    Case("answered by a client", _looks, *_DONE, _answers),
    Case("hands a task on", _hands_on, *_DONE, child=_tools, children=1),
    Case("hands on what waits", _hands_on, *_DONE, _approves, child=_asks, children=1),
    Case("a tool runs an agent", _consults, *_DONE, child=_tools, children=1),
    Case(
        "cancelled with a child",
        _hands_on,
        RunStatus.CANCELLED,
        FinishReason.ABORTED,
        _cancels_what_is_below,
        child=_hangs_below,
        children=1,
        same_transcript=False,
    ),
    Case("provider fails at first", _fails_first, *_DONE),
    Case("provider fails for good", _fails_always, RunStatus.FAILED, FinishReason.ERROR),
    Case("corrected once", _does_not_fit_at_first, *_DONE, settings={"output": Word}),
    Case("falls back", _falls_back, *_DONE, settings={"model": [MODEL, "claude-opus-5-5"]}),
    Case(
        "compacts",
        _grows,
        *_DONE,
        _says_more,
        settings=_SMALL,
    ),
    Case("compacts in a turn", _grows_in_a_turn, *_DONE, settings=_SMALL),
    Case("max_steps", _never_ends, RunStatus.FAILED, FinishReason.MAX_STEPS, settings={"max_steps": 2}),
    Case(
        "budget spent",
        _is_dear,
        RunStatus.FAILED,
        FinishReason.BUDGET,
        settings={"budget": Budget(tokens=1_500)},
        same_transcript=False,
    ),
    Case("cancelled", _hangs, RunStatus.CANCELLED, FinishReason.ABORTED, _cancels),
    Case("cancelled in a tool, then more", _waits, *_DONE, _cancels_the_tool_and_goes_on, same_transcript=False),
]
