"""Runs that are attacked: what the model says, what the tools do, what the client does, and what must come of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from engine.agent import Agent
from engine.context import Context
from engine.runs import Runs
from engine.tool import Tool, tool
from models.content import INTERRUPTED
from models.enums import FinishReason, Role, RunStatus, SteerMode
from models.events import ToolCallStarted
from models.message import Message
from tests.support.messages_rules import blocks_of
from tests.support.messages_script import Script
from tests.support.mortal import Dead
from tests.support.screens import Screen
from tests.support.stage import ALICE, Node, Stage, helper
from tests.support.truths import Story

T = TypeVar("T")
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

    def agent(self) -> Agent:
        """The agent of this play: the same on every node."""
        return helper(tools=self._tools(), **self.case.settings)

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

        return [note, again, wait]

    def answer(self, messages: list[dict[str, Any]]) -> Script:
        """What the model says to these messages; the same for the same ones, and to "hi" always a greeting."""
        self.requests += 1
        texts = [block["text"] for block in blocks_of(messages[-1]) if block["type"] == "text"]
        if texts and texts[-1] == "hi":
            return Script().text("Hello.")
        answers = sum(message["role"] == "assistant" for message in messages)
        return self.case.answer(self, texts, answers)


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
    """All texts that the user said, in order."""
    users = [blocks_of({"content": message.content}) for message in messages if message.role is Role.USER]
    return [block["text"] for blocks in users for block in blocks if block["type"] == "text"]


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


def _fails_always(play: Play, texts: list[str], answers: int) -> Script:
    return Script.status(529, "overloaded_error")


def _never_ends(play: Play, texts: list[str], answers: int) -> Script:
    return Script().tool("note")


async def _cancels(play: Play) -> None:
    await play.screen.shows("Half")
    await play.cancel()


async def _cancels_the_tool_and_goes_on(play: Play) -> None:
    await play.screen.sees(ToolCallStarted)
    await play.steer("before")
    await play.cancel()
    await play.steer("after")


_DONE = (RunStatus.COMPLETED, FinishReason.STOP)
CASES = [
    Case("plain", _plain, *_DONE),
    Case("tool", _tools, *_DONE),
    Case("parallel tools", _parallel, *_DONE),
    Case("steered in a tool", _waits, *_DONE, _steers_the_tool, same_transcript=False),
    Case("steered at the end", _holds, *_DONE, _steers_the_end),
    Case("interrupted", _hangs, *_DONE, _interrupts),
    Case("interrupted in a tool", _waits, *_DONE, _interrupts_the_tool, same_transcript=False),
    Case("provider fails at first", _fails_first, *_DONE),
    Case("provider fails for good", _fails_always, RunStatus.FAILED, FinishReason.ERROR),
    Case("max_steps", _never_ends, RunStatus.FAILED, FinishReason.MAX_STEPS, settings={"max_steps": 2}),
    Case("cancelled", _hangs, RunStatus.CANCELLED, FinishReason.ABORTED, _cancels),
    Case("cancelled in a tool, then more", _waits, *_DONE, _cancels_the_tool_and_goes_on, same_transcript=False),
]
