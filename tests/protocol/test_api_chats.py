"""Chats over the API: who is in them, what is said, who answers, and how an answer is seen to grow."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from engine.tool import tool
from models.chat_message import get_chat_messages
from models.ids import Ids
from tests.protocol.test_api_remotes import listening, register
from tests.support import documents
from tests.support.client import Client, Feed
from tests.support.gate import Gate
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

NEW_ID = Ids()


async def created(client: Client, name: str = "Ada", **given: Any) -> str:
    """A new agent of the kind "helper"; its id."""
    given = {"kind": "helper", "name": name, "handle": name.lower(), **given}
    agent: dict[str, Any] = (await client.done(documents.CREATE_AGENT, **given))["agent"]
    return str(agent["id"])


async def chat_of(client: Client, *agents: str, users: tuple[str, ...] = (), **given: Any) -> tuple[str, str]:
    """A new chat with these members; its id and its thread's."""
    made = await client.done(documents.CREATE_CHAT, agents=list(agents), users=list(users), **given)
    return made["chat"]["id"], made["thread"]["id"]


async def posted(client: Client, thread_id: str, text: str, **given: Any) -> dict[str, Any]:
    """A message that was posted."""
    message: dict[str, Any] = (await client.done(documents.POST_MESSAGE, threadId=thread_id, text=text, **given))[
        "message"
    ]
    return message


async def said(client: Client, chat_id: str) -> list[dict[str, Any]]:
    """What was said in a chat's first thread."""
    chat = (await client.ask(documents.CHAT, id=chat_id))["chat"]
    messages: list[dict[str, Any]] = chat["threads"]["nodes"][0]["messages"]["nodes"]
    assert [message["seq"] for message in messages] == [*range(1, len(messages) + 1)]
    return messages


async def watched(client: Client, thread_id: str, after_seq: int = 0) -> Feed:
    """Follow a thread over the socket."""
    return await client.watch(documents.WATCH_CHAT_MESSAGES, threadId=thread_id, afterSeq=after_seq)


def last(feed: Feed, seq: int) -> dict[str, Any]:
    """The message of this seq as the feed shows it; {} where it does not."""
    found = [item for item in feed.items if item["seq"] == seq]
    return found[-1] if found else {}


async def settled(feed: Feed, seq: int, status: str = "DONE") -> dict[str, Any]:
    """The message of this seq once it has this status."""
    await feed.until(lambda feed: last(feed, seq).get("status", "STREAMING") != "STREAMING")
    message = last(feed, seq)
    assert message["status"] == status, message
    return message


def texts_of(w: World, request: int) -> list[tuple[str, str]]:
    """What the model read in a request: who spoke, and the text."""
    messages = w.model.requests[request].body["messages"]
    return [(one["role"], "\n".join(block["text"] for block in one["content"])) for one in messages]


async def refused(client: Client, document: str, **given: Any) -> tuple[str, list[str] | None]:
    """Code and field of the one reason why a mutation is refused."""
    payload = await client.do(document, **given)
    assert not any(payload[name] for name in payload if name not in ("errors", "__typename"))
    (error,) = payload["errors"]
    assert error["message"]
    return error["code"], error["field"]


# ---------------------------------------------------------------- answers


async def test_an_agent_answers_what_is_posted_in_its_main_chat(tmp_path: Path) -> None:
    """As a message of the same thread, which is there from the moment of the post and becomes DONE with its run."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        agent = await created(alice)
        main = (await alice.ask(documents.AGENT, id=agent))["agent"]["mainChat"]["id"]
        chat = (await alice.ask(documents.CHAT, id=main))["chat"]
        assert chat["members"] == [
            {"userId": "alice", "agent": None},
            {"userId": None, "agent": {"id": agent, "name": "Ada"}},
        ]
        (thread,) = chat["threads"]["nodes"]
        feed = await watched(alice, thread["id"])
        w.play(Script().text("Hello, Alice."))
        message = await posted(alice, thread["id"], "Hello")
        assert (message["senderUserId"], message["status"], message["seq"]) == ("alice", "DONE", 1)
        answer = await settled(feed, 2)
        assert (answer["text"], answer["senderAgent"]["id"], answer["senderUserId"]) == ("Hello, Alice.", agent, None)
        run = await alice.run(answer["runId"])
        assert (run["status"], run["userId"], run["agent"]) == ("COMPLETED", "alice", "ada")
        assert await said(alice, main) == [last(feed, 1), answer]
        w.play(Script().text("I said hello."))
        await posted(alice, thread["id"], "What did you say?")
        await settled(feed, 4)
        assert texts_of(w, 1) == [
            ("user", "Hello"), ("assistant", "Hello, Alice."), ("user", "What did you say?"),
        ]  # fmt: skip


async def test_an_answer_is_seen_to_grow_by_everyone_in_the_chat(tmp_path: Path) -> None:
    """Over a socket, text by text, long before it is whole; its run stays its owner's alone."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        alice, bob = w.client("alice"), w.client("bob")
        agent = await created(alice)
        chat_id, thread_id = await chat_of(alice, agent, users=("bob",))
        feeds = [await watched(client, thread_id) for client in (alice, bob)]
        held = asyncio.Event()
        w.play(Script().half_text("Let me see").hold(held))
        message = await posted(alice, thread_id, "Look")
        for feed in feeds:
            await feed.until(lambda feed: last(feed, 2).get("text", "") != "")
            assert last(feed, 2)["status"] == "STREAMING"
            assert "Let me see".startswith(last(feed, 2)["text"])
        run_id = last(feeds[1], 2)["runId"]
        assert (await bob.ask(documents.RUN, id=run_id))["run"] is None
        assert (await alice.run(run_id))["status"] == "RUNNING"
        held.set()
        for feed in feeds:
            assert (await settled(feed, 2))["text"]
        assert message["seq"] == 1
        assert await said(bob, chat_id) == await said(bob, chat_id)


async def test_all_agents_answer_unless_some_are_mentioned(tmp_path: Path) -> None:
    """`@` and a handle choose, in any case of letters; a word that is nobody's handle chooses none."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        ada, bea = await created(alice, "Ada"), await created(alice, "Bea")
        _, thread_id = await chat_of(alice, ada, bea)
        feed = await watched(alice, thread_id)
        await posted(alice, thread_id, "Hello, write to me at alice@ada.example")
        answers = [await settled(feed, seq) for seq in (2, 3)]
        assert [answer["senderAgent"]["id"] for answer in answers] == [ada, bea]
        await posted(alice, thread_id, "And @Bea, you?")
        assert (await settled(feed, 5))["senderAgent"]["id"] == bea
        await posted(alice, thread_id, "@nobody at all")
        answers = [await settled(feed, seq) for seq in (7, 8)]
        assert [answer["senderAgent"]["id"] for answer in answers] == [ada, bea]


async def test_what_is_posted_while_an_agent_answers_becomes_part_of_that_answer(tmp_path: Path) -> None:
    """Marked with the sender's name, unless it is the run's owner who posts; one answer says it all."""
    gate = Gate()
    async with world(tmp_path, helper=helper(tools=[gate.tool])) as w:
        w.play(Script().text("I look.").tool("work"), Script().text("Blue, Bob."))
        alice, bob = w.client("alice"), w.client("bob")
        chat_id, thread_id = await chat_of(alice, await created(alice), users=("bob",))
        feed = await watched(bob, thread_id)
        await posted(alice, thread_id, "Which colour is it?")
        await gate.begun.wait()
        await posted(bob, thread_id, "In one word, please")
        await posted(alice, thread_id, "And fast")
        gate.open.set()
        answer = await settled(feed, 2)
        assert answer["text"] == "I look.\n\nBlue, Bob."
        run = await alice.run(answer["runId"])
        assert [block["text"] for block in run["messages"]["nodes"][2]["content"] if block["type"] == "text"] == [
            "[bob] In one word, please",
            "And fast",
        ]
        assert [message["senderUserId"] for message in await said(alice, chat_id)] == ["alice", None, "bob", "alice"]


async def test_an_agent_reads_who_said_what(tmp_path: Path) -> None:
    """Its own messages are the assistant's; those of others are the user's, marked unless they are the owner's."""
    async with world(tmp_path) as w:
        alice, bob = w.client("alice"), w.client("bob")
        ada, bea = await created(alice, "Ada"), await created(alice, "Bea")
        _, thread_id = await chat_of(alice, ada, bea, users=("bob",))
        feed = await watched(alice, thread_id)
        for client, text, answer in (
            (alice, "@ada one", "Ada one."),
            (bob, "@bea two", "Bea two."),
            (bob, "@ada three", "Ada three."),
        ):
            w.play(Script().text(answer))
            post = await posted(client, thread_id, text)
            await settled(feed, post["seq"] + 1)
        assert texts_of(w, 1) == [("user", "[alice] @ada one\n[ada] Ada one.\n@bea two")]
        assert texts_of(w, 2) == [
            ("user", "[alice] @ada one"),
            ("assistant", "Ada one."),
            ("user", "@bea two\n[bea] Bea two.\n@ada three"),
        ]
        run = await bob.run(last(feed, 6)["runId"])
        assert (run["userId"], run["agent"], run["title"]) == ("bob", "ada", "@ada three")


async def test_a_thread_has_a_history_of_its_own(tmp_path: Path) -> None:
    """What was said in another thread of the same chat is not read there."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        chat_id, first = await chat_of(alice, await created(alice))
        made = (await alice.done(documents.CREATE_THREAD, chatId=chat_id, title="Aside", key="t"))["thread"]
        assert (await alice.done(documents.CREATE_THREAD, chatId=chat_id, title="Aside", key="t"))["thread"] == made
        assert (made["chatId"], made["title"], made["messages"]["totalCount"]) == (chat_id, "Aside", 0)
        feed = await watched(alice, first)
        await posted(alice, first, "In the first")
        await settled(feed, 2)
        other = await watched(alice, made["id"])
        await posted(alice, made["id"], "In the second")
        await settled(other, 2)
        assert texts_of(w, 1) == [("user", "In the second")]


async def test_an_answer_that_is_cancelled_keeps_what_was_shown(tmp_path: Path) -> None:
    """It is CANCELLED in the chat too, and the next post is answered by another run that has read it."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        _, thread_id = await chat_of(alice, await created(alice))
        feed = await watched(alice, thread_id)
        w.play(Script().thinking("Hm.", signature="s").half_text("Let me see").hold(asyncio.Event()))
        await posted(alice, thread_id, "Look")
        await feed.until(lambda feed: last(feed, 2).get("text") == "Let me see")
        assert last(feed, 2)["reasoning"] == "Hm."
        run = await alice.cancel(last(feed, 2)["runId"])
        answer = await settled(feed, 2, "CANCELLED")
        assert (answer["text"], answer["reasoning"]) == ("Let me see", "Hm.")
        w.play(Script().text("Blue."))
        await posted(alice, thread_id, "Which colour?")
        assert (await settled(feed, 4))["runId"] != run["id"]
        assert texts_of(w, 1) == [("user", "Look"), ("assistant", "Let me see"), ("user", "Which colour?")]


async def test_an_answer_that_fails_says_why_where_it_said_nothing(tmp_path: Path) -> None:
    """Everybody in the chat reads it, in the words that the run's owner gets; no later answer has read it."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        _, thread_id = await chat_of(alice, await created(alice))
        feed = await watched(alice, thread_id)
        w.play(Script.status(400, "invalid_request_error", "secret words of the provider"))
        await posted(alice, thread_id, "Look")
        answer = await settled(feed, 2, "FAILED")
        run = await alice.run(answer["runId"])
        assert answer["text"] == run["error"]["message"] != ""
        assert "secret" not in answer["text"]
        w.play(Script().text("Blue."))
        await posted(alice, thread_id, "Again")
        await settled(feed, 4)
        assert texts_of(w, 1) == [("user", "Look\nAgain")]


async def test_an_agent_that_the_poster_may_not_run_says_so(tmp_path: Path) -> None:
    """By a FAILED message without a run; the post stands, and others answer."""
    async with world(tmp_path, helper=helper(), boss=helper(auth="admin")) as w:
        w.play(Script().text("Yes."))
        alice, bob = w.client("alice", "admin"), w.client("bob")
        boss, ada = await created(alice, "Boss", kind="boss", handle="chief"), await created(alice)
        chat_id, thread_id = await chat_of(alice, boss, ada, users=("bob",))
        feed = await watched(bob, thread_id)
        await posted(bob, thread_id, "Hello")
        failed = await settled(feed, 2, "FAILED")
        assert (failed["senderAgent"]["id"], failed["runId"]) == (boss, None)
        assert "admin" in failed["text"]
        assert (await settled(feed, 3))["text"] == "Yes."
        assert [message["status"] for message in await said(bob, chat_id)] == ["DONE", "FAILED", "DONE"]


async def test_an_answer_that_waits_for_a_person_goes_on_streaming(tmp_path: Path) -> None:
    """Through the approval and the generation behind it; its text is that of the whole turn."""

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    async with world(tmp_path, helper=helper(tools=[pay])) as w:
        alice = w.client("alice")
        _, thread_id = await chat_of(alice, await created(alice))
        feed = await watched(alice, thread_id)
        w.play(Script().text("I pay.").tool("pay"), Script().text("Paid."))
        await posted(alice, thread_id, "Pay")
        await feed.until(lambda feed: last(feed, 2).get("text") == "I pay.")
        run = await alice.watch_run(last(feed, 2)["runId"])
        await run.until(lambda feed: feed.items and feed.items[-1]["status"] == "WAITING")
        assert last(feed, 2)["status"] == "STREAMING"
        (call,) = run.items[-1]["pendingCalls"]
        decision = {"toolCallId": call["id"], "decision": "APPROVE"}
        await alice.done(documents.DECIDE, runId=call["runId"], decisions=[decision])
        assert (await settled(feed, 2))["text"] == "I pay.\n\nPaid."


async def test_cancelling_a_run_that_waits_ends_its_answer_for_everybody(tmp_path: Path) -> None:
    """No stream tells it: the generation had ended before."""

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    async with world(tmp_path, helper=helper(tools=[pay])) as w:
        alice, bob = w.client("alice"), w.client("bob")
        _, thread_id = await chat_of(alice, await created(alice), users=("bob",))
        feed = await watched(bob, thread_id)
        w.play(Script().text("I pay.").tool("pay"))
        await posted(alice, thread_id, "Pay")
        await feed.until(lambda feed: last(feed, 2).get("text") == "I pay.")
        run_id = last(feed, 2)["runId"]
        run = await alice.watch_run(run_id)
        await run.until(lambda feed: feed.items and feed.items[-1]["status"] == "WAITING")
        await alice.cancel(run_id)
        assert (await settled(feed, 2, "CANCELLED"))["text"] == "I pay."


async def test_an_answer_goes_on_after_a_restart_in_the_middle(tmp_path: Path) -> None:
    """The run is resumed, and who comes back with the last seq that was whole sees the same message to its end."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        chat_id, thread_id = await chat_of(alice, await created(alice))
        feed = await watched(alice, thread_id)
        w.play(Script().half_text("Once upon").hold(asyncio.Event()), Script().text("Once more."))
        await posted(alice, thread_id, "Tell")
        await feed.until(lambda feed: last(feed, 2).get("text") == "Once upon")
        before = last(feed, 2)
        await w.restart()
        feed = await watched(alice, thread_id, after_seq=1)
        answer = await settled(feed, 2)
        assert [item["seq"] for item in feed.items] == [2] * len(feed.items)
        assert (answer["id"], answer["runId"], answer["text"]) == (before["id"], before["runId"], "Once more.")
        assert [message["id"] for message in await said(alice, chat_id)][1] == answer["id"]


# ---------------------------------------------------------------- agents among themselves


async def test_agents_ask_each_other_by_mentions_up_to_a_limit(tmp_path: Path) -> None:
    """Three messages of agents follow a person's; the runs belong to that person; a new post begins anew."""
    async with world(tmp_path) as w:
        alice, bob = w.client("alice"), w.client("bob")
        ada, bea = await created(alice, "Ada"), await created(alice, "Bea")
        chat_id, thread_id = await chat_of(alice, ada, bea, users=("bob",))
        feed = await watched(bob, thread_id)
        w.play(*(Script().text(text) for text in ("@bea one?", "@ada two?", "@bea three?", "Done.")))
        await posted(bob, thread_id, "@ada begin")
        answers = [await settled(feed, seq) for seq in (2, 3, 4)]
        assert [answer["senderAgent"]["id"] for answer in answers] == [ada, bea, ada]
        assert [(await bob.run(answer["runId"]))["userId"] for answer in answers] == ["bob"] * 3
        assert texts_of(w, 1) == [("user", "@ada begin\n[ada] @bea one?")]
        await w.engine.chats.pass_on()
        assert len(await said(bob, chat_id)) == 4
        post = await posted(bob, thread_id, "@ada end")
        assert (await settled(feed, post["seq"] + 1))["text"] == "Done."


async def test_an_agent_does_not_answer_itself_or_unasked(tmp_path: Path) -> None:
    """An answer without a mention of another agent ends it."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("I, @ada, have spoken to @nobody."))
        alice = w.client("alice")
        ada, bea = await created(alice, "Ada"), await created(alice, "Bea")
        chat_id, thread_id = await chat_of(alice, ada, bea)
        feed = await watched(alice, thread_id)
        await posted(alice, thread_id, "@ada speak")
        await settled(feed, 2)
        await w.engine.chats.pass_on()
        assert len(await said(alice, chat_id)) == 2


async def test_the_limit_of_agents_turns_is_a_setting(tmp_path: Path) -> None:
    """With 0 no agent asks another."""
    async with world(tmp_path, settings={"agent_turns": 0}) as w:
        w.model.answer(lambda request: Script().text("@bea @ada go on."))
        alice = w.client("alice")
        ada, bea = await created(alice, "Ada"), await created(alice, "Bea")
        chat_id, thread_id = await chat_of(alice, ada, bea)
        feed = await watched(alice, thread_id)
        await posted(alice, thread_id, "@ada speak")
        await settled(feed, 2)
        await w.engine.chats.pass_on()
        assert len(await said(alice, chat_id)) == 2


# ---------------------------------------------------------------- who is in a chat


async def test_members_come_and_go(tmp_path: Path) -> None:
    """Any user of the chat lets them; who leaves sees nothing more, and is told so by the end of what he watches."""
    async with world(tmp_path) as w:
        alice, bob, carol = w.client("alice"), w.client("bob"), w.client("carol")
        chat_id, thread_id = await chat_of(alice, users=("bob",))
        feed = await watched(bob, thread_id)
        post = await posted(alice, thread_id, "Hello")
        await feed.until(lambda feed: feed.items)
        bobs = await created(bob, "Bea")
        chat = (await bob.done(documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, addUsers=["carol"], addAgents=[bobs]))[
            "chat"
        ]
        people = [member["userId"] for member in chat["members"] if member["userId"]]
        assert (people, chat["members"][3]["agent"]["id"]) == (["alice", "bob", "carol"], bobs)
        assert (await carol.ask(documents.CHATS))["chats"]["nodes"][0]["id"] == chat_id
        assert (await bob.done(documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, removeUsers=["bob"]))["chat"] is None
        await feed.end()
        assert (await bob.ask(documents.CHAT, id=chat_id))["chat"] is None
        assert await refused(bob, documents.POST_MESSAGE, threadId=thread_id, text="x") == (
            "NOT_FOUND",
            ["input", "threadId"],
        )
        ids = [chat_id, thread_id, post["id"]]
        found = await bob.ask("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", ids=ids)
        assert found["nodes"] == [None, None, None]
        gone = await carol.done(
            documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, removeAgents=[bobs], removeUsers=["alice"]
        )
        assert gone["chat"]["members"] == [{"userId": "carol", "agent": None}]


async def test_a_chat_that_nobody_is_left_in_is_removed(tmp_path: Path) -> None:
    """With its threads, messages and resources."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        chat_id, thread_id = await chat_of(alice)
        post = await posted(alice, thread_id, "Hello")
        await alice.done(documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, removeUsers=["alice"])
        assert (await alice.ask(documents.CHATS))["chats"]["totalCount"] == 0
        assert await w.engine.database.read(get_chat_messages, [post["id"]]) == {}


async def test_an_agent_and_its_owner_stay_in_its_main_chat(tmp_path: Path) -> None:
    """INVALID_INPUT, until the agent is deleted; others may go."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        chat_id, _ = await chat_of(alice, users=("bob",))
        agent = await created(alice, mainChatId=chat_id)
        assert (await alice.ask(documents.AGENT, id=agent))["agent"]["mainChat"]["id"] == chat_id
        for go in ({"removeUsers": ["alice"]}, {"removeAgents": [agent]}):
            given = {"chatId": chat_id, **go}
            assert await refused(alice, documents.UPDATE_CHAT_MEMBERS, **given) == (
                "INVALID_INPUT",
                ["input", "chatId"],
            )
        await alice.done(documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, removeUsers=["bob"])
        await alice.done(documents.DELETE_AGENT, id=agent)
        await alice.done(documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, removeUsers=["alice"])


async def test_the_messages_of_a_deleted_agent_stay(tmp_path: Path) -> None:
    """Without their sender; the agent is in no chat any more."""
    async with world(tmp_path) as w:
        w.play(Script().text("Hello."))
        alice = w.client("alice")
        agent = await created(alice)
        chat_id, thread_id = await chat_of(alice, agent)
        feed = await watched(alice, thread_id)
        await posted(alice, thread_id, "Hi")
        await settled(feed, 2)
        await alice.done(documents.DELETE_AGENT, id=agent)
        (_, answer) = await said(alice, chat_id)
        assert (answer["text"], answer["senderAgent"], answer["senderUserId"]) == ("Hello.", None, None)
        assert (await alice.ask(documents.CHAT, id=chat_id))["chat"]["members"] == [{"userId": "alice", "agent": None}]
        assert (await posted(alice, thread_id, "Anybody?"))["seq"] == 3


async def test_who_shares_a_chat_with_an_agent_sees_no_configuration(tmp_path: Path) -> None:
    """Neither its resources, nor what is said in its main chat, nor the agent by its id."""
    async with world(tmp_path) as w:
        w.play(Script().text("Hello."))
        alice, bob = w.client("alice"), w.client("bob")
        agent = await created(alice)
        _, thread_id = await chat_of(alice, agent, users=("bob",))
        feed = await watched(bob, thread_id)
        await posted(bob, thread_id, "Hi")
        sender = (await settled(feed, 2))["senderAgent"]
        assert sender == {"id": agent, "name": "Ada", "config": None, "resources": None}
        main = (
            "members { agent { mainChat { id title members { userId } threads { totalCount } } runs { totalCount } } }"
        )
        (chat,) = (await bob.ask(f"{{ chats {{ nodes {{ {main} }} }} }}"))["chats"]["nodes"]
        shown = chat["members"][2]["agent"]
        assert shown["mainChat"] | {"id": ""} == {"id": "", "title": None, "members": [], "threads": {"totalCount": 0}}
        assert shown["runs"]["totalCount"] == 1
        assert (await bob.ask(documents.CHAT, id=shown["mainChat"]["id"]))["chat"] is None
        assert (await bob.ask(documents.AGENT, id=agent))["agent"] is None


# ---------------------------------------------------------------- what is given


async def test_a_key_makes_everything_once(tmp_path: Path) -> None:
    """The same key gives the same chat, thread or message again; with other arguments it is KEY_REUSED."""
    async with world(tmp_path) as w:
        w.play(Script().text("Hello."))
        alice = w.client("alice")
        agent = await created(alice)
        one = await alice.done(documents.CREATE_CHAT, title="Plans", agents=[agent], key="k")
        assert await alice.done(documents.CREATE_CHAT, title="Plans", agents=[agent], key="k") == one
        assert await refused(alice, documents.CREATE_CHAT, title="Other", key="k") == ("KEY_REUSED", ["input", "key"])
        thread_id = one["thread"]["id"]
        feed = await watched(alice, thread_id)
        first = await posted(alice, thread_id, "Hi", key="k")
        await settled(feed, 2)
        assert await posted(alice, thread_id, "Hi", key="k") == first
        assert await refused(alice, documents.POST_MESSAGE, threadId=thread_id, text="Ho", key="k") == (
            "KEY_REUSED",
            ["input", "key"],
        )
        assert len(await said(alice, one["chat"]["id"])) == 2
        assert len(await w.run_ids()) == 1


@pytest.mark.parametrize(
    ("document", "given", "refusal"),
    [
        (documents.CREATE_CHAT, {"agents": ["helper"]}, ("INVALID_INPUT", ["input", "agents", "0"])),
        (documents.CREATE_CHAT, {"agents": ["nobody"]}, ("NOT_FOUND", ["input", "agents", "0"])),
        (documents.CREATE_CHAT, {"users": ["bob", " "]}, ("INVALID_INPUT", ["input", "users", "1"])),
        (documents.CREATE_CHAT, {"users": [f"u{n}" for n in range(100)]}, ("INVALID_INPUT", ["input", "agents"])),
        (documents.CREATE_CHAT, {"title": "x" * 513}, ("INVALID_INPUT", ["input", "title"])),
        (documents.POST_MESSAGE, {"threadId": "T", "text": " \n"}, ("INVALID_INPUT", ["input", "text"])),
        (documents.POST_MESSAGE, {"threadId": "T", "text": "x" * 32_769}, ("INPUT_TOO_LARGE", ["input", "text"])),
        (documents.POST_MESSAGE, {"threadId": "thr_\0", "text": "x"}, ("NOT_FOUND", ["input", "threadId"])),
        (
            documents.UPDATE_CHAT_MEMBERS,
            {"chatId": "C", "addUsers": ["bob"], "removeUsers": ["bob"]},
            ("INVALID_INPUT", None),
        ),
        (
            documents.SET_THREAD_RESOURCE,
            {"threadId": "T", "key": "k", "kind": "tools", "value": {}},
            ("INVALID_INPUT", ["input", "kind"]),
        ),
        (
            documents.SET_THREAD_RESOURCE,
            {"threadId": "T", "key": "k", "kind": "remote", "value": {"remoteId": 1}},
            ("INVALID_INPUT", ["input", "value"]),
        ),
        (
            documents.SET_THREAD_RESOURCE,
            {"threadId": "T", "key": "k", "kind": "remote"},
            ("NOT_FOUND", ["input", "key"]),
        ),
        (
            documents.CREATE_AGENT,
            {"kind": "helper", "name": "Eve", "mainChatId": "M"},
            ("INVALID_INPUT", ["input", "mainChatId"]),
        ),
    ],
)
async def test_what_can_t_be_taken_is_refused_with_its_place(
    tmp_path: Path, document: str, given: dict[str, Any], refusal: tuple[str, list[str] | None]
) -> None:
    """And nothing is stored."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        chat_id, thread_id = await chat_of(alice)
        temporary, _ = await chat_of(alice, temporary=True)
        places = {"T": thread_id, "C": chat_id, "M": temporary}
        before = await alice.ask(documents.CHATS)
        given = {name: places.get(value, value) if isinstance(value, str) else value for name, value in given.items()}
        assert await refused(alice, document, **given) == refusal
        assert await alice.ask(documents.CHATS) == before
        assert (await alice.ask(documents.AGENTS))["agents"]["totalCount"] == 0


async def test_remotes_are_lent_to_a_thread_and_taken_away(tmp_path: Path) -> None:
    """Each under its key, of which there is one; null takes it away."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        _, thread_id = await chat_of(alice)
        place = {"threadId": thread_id, "key": "desktop", "kind": "remote"}
        for remote in [(await register(alice, name))["id"] for name in ("browser", "desktop")]:
            done = await alice.done(documents.SET_THREAD_RESOURCE, **place, value={"remoteId": remote})
            (held,) = done["thread"]["resources"]["nodes"]
            assert (held["key"], held["kind"], held["value"]) == ("desktop", "remote", {"remoteId": remote})
            node = await alice.ask("query ($id: ID!) { node(id: $id) { id __typename } }", id=held["id"])
            assert node["node"] == {"id": held["id"], "__typename": "Resource"}
        gone = await alice.done(documents.SET_THREAD_RESOURCE, **place, value=None)
        assert gone["thread"]["resources"]["totalCount"] == 0


async def test_only_what_one_may_use_is_lent(tmp_path: Path) -> None:
    """A remote of somebody else's, and one that is not there, are NOT_FOUND; nothing is lent."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        _, thread_id = await chat_of(alice)
        for remote in ((await register(w.client("bob")))["id"], NEW_ID("rmt")):
            place = {"threadId": thread_id, "key": "k", "kind": "remote", "value": {"remoteId": remote}}
            refusal = await refused(alice, documents.SET_THREAD_RESOURCE, **place)
            assert refusal == ("NOT_FOUND", ["input", "value", "remoteId"])


async def test_a_lent_remote_works_for_everybody_in_the_thread_and_is_answered_by_its_owner(tmp_path: Path) -> None:
    """Alice's browser is asked by the run of Bob's post; once she has left the chat it is asked no more."""
    async with world(tmp_path) as w:
        alice, bob = w.client("alice"), w.client("bob")
        agent = await created(bob)
        chat_id, thread_id = await chat_of(bob, agent, users=("alice",))
        remote = await register(alice)
        place = {"threadId": thread_id, "key": "browser", "kind": "remote", "value": {"remoteId": remote["id"]}}
        await alice.done(documents.SET_THREAD_RESOURCE, **place)
        calls = await listening(alice, remote)
        w.play(Script().tool("browser_read", {"tab": 2}), Script().text("It is blue."), Script().text("No tools."))
        await posted(bob, thread_id, "What is on the page?")
        await calls.until(lambda feed: feed.items)
        call = calls.items[0]
        assert (call["tool"], call["input"]) == ("read", {"tab": 2})
        assert (await bob.do(documents.ANSWER_REMOTE_CALL, callId=NEW_ID("rcl"), result="x"))["accepted"] is False
        assert (await alice.done(documents.ANSWER_REMOTE_CALL, callId=call["id"], result="Blue."))["accepted"] is True
        feed = await watched(bob, thread_id)
        assert (await settled(feed, 2))["text"] == "It is blue."
        await alice.done(documents.UPDATE_CHAT_MEMBERS, chatId=chat_id, removeUsers=["alice"])
        await posted(bob, thread_id, "And now?")
        await settled(feed, 4)
        assert "tools" not in w.model.requests[2].body


async def test_lists_come_in_pages(tmp_path: Path) -> None:
    """Chats newest first, threads and messages oldest first; cursors of another list are refused."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        made = [await chat_of(alice, title=f"Chat {number}") for number in range(3)]
        first = (await alice.ask(documents.CHATS, first=2))["chats"]
        assert ([chat["id"] for chat in first["nodes"]], first["totalCount"]) == ([made[2][0], made[1][0]], 3)
        rest = (await alice.ask(documents.CHATS, first=2, after=first["pageInfo"]["endCursor"]))["chats"]
        assert [chat["id"] for chat in rest["nodes"]] == [made[0][0]]
        for number in range(3):
            await posted(alice, made[0][1], f"Message {number}")
        paged = "node(id: $id) { ... on Thread { messages(last: 2) { nodes { text } pageInfo { hasPreviousPage } } } }"
        messages = (await alice.ask(f"query ($id: ID!) {{ {paged} }}", id=made[0][1]))["node"]["messages"]
        assert [message["text"] for message in messages["nodes"]] == ["Message 1", "Message 2"]
        assert messages["pageInfo"]["hasPreviousPage"] is True
        wrong = f'{{ agents(after: "{first["pageInfo"]["endCursor"]}") {{ totalCount }} }}'
        assert await alice.codes(wrong) == ["BAD_USER_INPUT"]
