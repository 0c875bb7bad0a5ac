"""Answers in chats, whatever becomes of the machines: taken over, cancelled from elsewhere, passed on exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from engine.chats import Chats
from engine.errors import NotFound
from engine.user import User
from models.away import DatabaseAway
from models.chat_message import ChatMessage, seen_messages_after
from models.database import Database
from models.enums import ChatMessageStatus, RunStatus
from models.verbs.keeping import NewAgent, create_agent
from models.verbs.posting import post_message
from tests.support.messages_script import Script
from tests.support.stage import ALICE, HANG, LEASE_SECONDS, Node, Stage

LAPSED = LEASE_SECONDS + 1


async def agent_of(stage: Stage, handle: str = "ada", owner: str = "alice") -> str:
    """A stored agent of the kind "helper"; its id."""
    new = NewAgent(owner, handle.title(), "helper", {}, handle)
    made = await stage.database.write(create_agent, new=new, key=None, ids=stage.ids, at=stage.clock())
    return made.id


async def thread_of(node: Node, *handles: str) -> str:
    """The thread of a new chat with these agents."""
    agents = [await agent_of(node.stage, handle) for handle in handles]
    return (await node.chats.create(ALICE, agents=agents))[1].id


async def said(stage: Stage, thread_id: str) -> list[ChatMessage]:
    """What was said in a thread."""
    found = await stage.database.read(seen_messages_after, "alice", thread_id, 0, 100)
    assert found is not None
    assert [message.seq for message in found] == [*range(1, len(found) + 1)]
    return found


class View:
    """What a member sees of a thread."""

    def __init__(self) -> None:
        self.shown: dict[int, ChatMessage] = {}
        self.changed = asyncio.Event()

    async def until(self, seq: int, text: str | None = None, status: ChatMessageStatus | None = None) -> ChatMessage:
        """The message of this seq, once it has this text and this status."""
        async with asyncio.timeout(HANG):
            while True:
                message = self.shown.get(seq)
                if message and text in (None, message.text) and status in (None, message.status):
                    return message
                self.changed.clear()
                await self.changed.wait()


@asynccontextmanager
async def viewed(node: Node, thread_id: str, after_seq: int = 0) -> AsyncIterator[View]:
    """A view of a thread at a node."""
    view = View()

    async def follow() -> None:
        async with aclosing(node.conversations.messages(thread_id, "alice", after_seq)) as messages:
            async for message in messages:
                view.shown[message.seq] = message
                view.changed.set()

    task = asyncio.create_task(follow())
    try:
        yield view
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_an_answer_grows_before_who_watches_on_another_machine(stage: Stage) -> None:
    """The post, the text and the end are seen there, though the run is at work here."""
    node, other = await stage.open(watch_seconds=0.02), await stage.open(watch_seconds=0.02)
    thread_id = await thread_of(node, "ada")
    held = asyncio.Event()
    stage.play(Script().half_text("Once upon").hold(held))
    async with viewed(other, thread_id) as view:
        await node.chats.post(ALICE, thread_id=thread_id, text="Tell")
        assert (await view.until(1)).text == "Tell"
        if stage.ground.redis_url is not None:  # else the text of a step is seen elsewhere when it is stored
            await view.until(2, "Once upon", ChatMessageStatus.STREAMING)
        held.set()
        answer = await view.until(2, status=ChatMessageStatus.DONE)
        assert answer.text == "Once upon"
    assert (await said(stage, thread_id))[1] == answer


async def test_an_answer_is_finished_by_who_takes_its_run_over(stage: Stage) -> None:
    """The same message goes on growing, and nothing of the lost attempt is left in it."""
    node = await stage.open(watch_seconds=0.02)
    thread_id = await thread_of(node, "ada")
    stage.play(Script().half_text("Once upon").hold(asyncio.Event()), Script().text("Once more."))
    async with viewed(node, thread_id) as view:
        await node.chats.post(ALICE, thread_id=thread_id, text="Tell")
        before = await view.until(2, "Once upon")
        await stage.leases.advance(LAPSED)
        other = await stage.open(watch_seconds=0.02)
        assert (await other.settled(str(before.run_id))).status is RunStatus.COMPLETED
        answer = await view.until(2, status=ChatMessageStatus.DONE)
        assert (answer.id, answer.text) == (before.id, "Once more.")
        await node.beat()
        await node.idle(str(before.run_id))


async def test_an_answer_of_a_dead_machine_is_cancelled_from_another(stage: Stage) -> None:
    """In the transaction that ends the run; what was never stored is not kept."""
    node = await stage.open(watch_seconds=0.02)
    thread_id = await thread_of(node, "ada")
    stage.play(Script().half_text("Once upon").hold(asyncio.Event()))
    async with viewed(node, thread_id) as view:
        await node.chats.post(ALICE, thread_id=thread_id, text="Tell")
        run_id = str((await view.until(2, "Once upon")).run_id)
        other = await stage.open(works=False)
        await stage.leases.advance(LAPSED)
        await other.cancel(run_id)
        answer = (await said(stage, thread_id))[1]
        assert (answer.status, answer.text) == (ChatMessageStatus.CANCELLED, "")
        assert (await view.until(2, status=ChatMessageStatus.CANCELLED)) == answer
        await node.beat()
        await node.idle(run_id)


async def test_what_agents_say_to_agents_is_passed_on_once(stage: Stage) -> None:
    """However many machines look for it at the same time, and whichever ended the run."""
    nodes = [await stage.open() for _ in range(3)]
    thread_id = await thread_of(nodes[0], "ada", "bea")
    stage.play(Script().text("@bea go on."), Script().text("Gone on."))
    await nodes[0].chats.post(ALICE, thread_id=thread_id, text="@ada begin")
    await nodes[0].settled(str((await said(stage, thread_id))[1].run_id))
    assert len(await said(stage, thread_id)) == 2
    await asyncio.gather(*(node.chats.pass_on() for node in nodes))
    _, first, second = await said(stage, thread_id)
    assert (first.text, second.name) == ("@bea go on.", "bea")
    run_id = str(second.run_id)
    for node in nodes:
        await node.idle(run_id)
    assert (await said(stage, thread_id))[2].text == "Gone on."
    await asyncio.gather(*(node.chats.pass_on() for node in nodes))
    assert len(await said(stage, thread_id)) == 3


async def test_what_a_dead_machine_could_not_pass_on_is_passed_on_by_another(stage: Stage) -> None:
    """It stands in the rows; an agent that is gone by then is not asked."""
    node = await stage.open()
    thread_id = await thread_of(node, "ada", "bea")
    stage.play(Script().text("@bea @eve go on."), Script().text("Gone on."))
    await node.chats.post(ALICE, thread_id=thread_id, text="@ada begin")
    await node.settled(str((await said(stage, thread_id))[1].run_id))
    await stage.retire(node)
    other = await stage.open()
    await other.chats.pass_on()
    answer = (await said(stage, thread_id))[2]
    await other.settled(str(answer.run_id))
    assert [message.text for message in await said(stage, thread_id)] == ["@ada begin", "@bea @eve go on.", "Gone on."]


async def test_who_ends_a_run_passes_its_answer_on_at_once(stage: Stage) -> None:
    """Nobody waits for the next round."""
    node = await stage.open()
    node.bell.on_answered = node.chats.ended
    passing = asyncio.create_task(node.chats.keep_passing_on(HANG * 60))
    try:
        thread_id = await thread_of(node, "ada", "bea")
        stage.play(Script().text("@bea go on."), Script().text("Gone on."))
        async with viewed(node, thread_id) as view:
            await node.chats.post(ALICE, thread_id=thread_id, text="@ada begin")
            await view.until(3, "Gone on.", ChatMessageStatus.DONE)
    finally:
        passing.cancel()
        await asyncio.gather(passing, return_exceptions=True)


async def test_a_post_to_a_run_with_a_cancel_on_its_way_is_answered_by_another(stage: Stage) -> None:
    """Else it would be kept unanswered with what was said before the cancel."""
    node, holder = await stage.open(works=False), await stage.open(watch_seconds=0.02)
    thread_id = await thread_of(node, "ada")
    stage.play(Script().half_text("Once upon").hold(asyncio.Event()), Script().text("Blue."))
    async with viewed(holder, thread_id) as view:
        await holder.chats.post(ALICE, thread_id=thread_id, text="Tell")
        run_id = str((await view.until(2, "Once upon")).run_id)
        await node.cancel(run_id)  # the other machine has not heard of it
        await node.chats.post(ALICE, thread_id=thread_id, text="Which colour?")
        await holder.beat()
        await view.until(2, "Once upon", ChatMessageStatus.CANCELLED)
        await holder.look()
        answer = await view.until(4, "Blue.", ChatMessageStatus.DONE)
        assert answer.run_id != run_id


async def test_what_is_said_to_a_run_after_its_turn_stays_outside_the_chat(stage: Stage) -> None:
    """The owner goes on with the run itself: the message stays as it was, and a post begins another run."""
    node = await stage.open()
    thread_id = await thread_of(node, "ada")
    stage.play(Script().text("Blue."), Script().text("As I said."), Script().text("Red."))
    await node.chats.post(ALICE, thread_id=thread_id, text="Which colour?")
    run_id = str((await said(stage, thread_id))[1].run_id)
    await node.settled(run_id)
    before = await said(stage, thread_id)
    await node.steer(run_id, "Really?")
    await node.settled(run_id)
    assert await said(stage, thread_id) == before
    await node.chats.post(ALICE, thread_id=thread_id, text="And now?")
    other = str((await said(stage, thread_id))[3].run_id)
    await node.settled(other)
    assert (other != run_id, (await said(stage, thread_id))[3].text) == (True, "Red.")


class Forgetful:
    """A Database that loses the answer to the first post."""

    def __init__(self, database: Database) -> None:
        self.read = database.read
        self._database = database
        self._lost = False

    async def write(self, verb: Any, *args: Any, **kwargs: Any) -> Any:
        """Write; the first post is committed, and nobody hears of it."""
        done = await self._database.write(verb, *args, **kwargs)
        if verb is post_message and not self._lost:
            self._lost = True
            raise DatabaseAway("the connection was cut")
        return done


async def test_a_post_whose_acknowledgement_was_lost_is_there_once(stage: Stage) -> None:
    """Who repeats it under its key gets the message, and it is answered once."""
    node = await stage.open(database=Forgetful(stage.database))
    thread_id = await thread_of(node, "ada")
    stage.play(Script().text("Hello."))
    chats = Chats(node.shop, node.worker, node.runs, agent_turns=3)
    with pytest.raises(DatabaseAway):
        await chats.post(ALICE, thread_id=thread_id, text="Hi", key="k")
    message = await chats.post(ALICE, thread_id=thread_id, text="Hi", key="k")
    first, answer = await said(stage, thread_id)
    assert message == first
    await stage.leases.advance(LAPSED)
    await node.look()  # nobody had begun the run: its owner never heard that it has it
    await node.settled(str(answer.run_id))
    assert (await said(stage, thread_id))[1].text == "Hello."


async def test_a_stranger_sees_nothing_of_a_thread(stage: Stage) -> None:
    """Neither what is in it, nor whether it is there."""
    node = await stage.open()
    thread_id = await thread_of(node, "ada")
    async with aclosing(node.conversations.messages(thread_id, "bob")) as messages:
        assert [message async for message in messages] == []
    with pytest.raises(NotFound):
        await node.chats.post(User("bob", frozenset()), thread_id=thread_id, text="Hi")
