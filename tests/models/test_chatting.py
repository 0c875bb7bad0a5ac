"""Chats in the rows: seqs, ends, what is passed on and what is dropped; verbs are one transaction on every database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, select

from models.chat import TEMPORARY_MS, chats, get_chats, members_of_chats
from models.chat_message import ChatMessage, chat_messages, seen_messages_after
from models.enums import ChatMessageStatus, ErrorCode, FinishReason, RemoteKind, Role, RunStatus
from models.events import Failure
from models.remote import CONFIGURED
from models.run import get_run
from models.said import mentions, one_text, shown
from models.thread import Thread, chat_threads, thread_resources
from models.verbs.chatting import (
    MemberChanges,
    NewChat,
    create_chat,
    drop_temporary_chats,
    set_thread_resource,
    update_members,
)
from models.verbs.errors import ChatMissing, MemberMissing
from models.verbs.history import HISTORY_CHARACTERS, HISTORY_MESSAGES, history_of
from models.verbs.keeping import NewAgent, create_agent
from models.verbs.opening import NewRun, Said
from models.verbs.posting import FULL, Asked, Posted, pass_on, post_message
from models.verbs.remoting import NewRemote, register_remote
from models.verbs.sending import QUEUE_MESSAGES
from models.verbs.settling import End
from tests.support.desk import COMPLETED, Desk, Hands, a_key

ALICE = "alice"


async def chat_with(desk: Desk, *handles: str, **given: Any) -> tuple[Thread, list[str]]:
    """The thread of a new chat of alice's with these agents, and their ids."""
    agents = []
    for handle in handles:
        new = NewAgent(ALICE, handle.title(), "helper", {}, handle)
        made = await desk.database.write(create_agent, new=new, key=None, ids=desk.ids, at=desk.clock())
        agents.append(made.id)
    chat = NewChat(ALICE, agents=tuple(agents), **given)
    _, thread = await desk.database.write(create_chat, new=chat, key=None, ids=desk.ids, at=desk.clock())
    return thread, agents


def ask(agent_id: str, name: str = "ada", user: str = ALICE, text: str = "Hi") -> Asked:
    """An agent that would answer by a run of this user."""
    return Asked(agent_id, name, NewRun(user, name, text, agent_id=agent_id, kind="helper"))


async def post(desk: Desk, thread: Thread, *asked: Asked, text: str = "Hi", key: Any = None) -> Posted:
    """Post as alice."""
    what: dict[str, Any] = {"thread_id": thread.id, "user_id": ALICE, "text": text, "asked": asked, "key": key}
    return await desk.database.write(post_message, **what, holder=desk.holder(), ids=desk.ids, at=desk.clock())


async def said(desk: Desk, thread: Thread) -> list[ChatMessage]:
    """What was said in a thread."""
    found = await desk.database.read(seen_messages_after, ALICE, thread.id, 0, 1_000)
    assert found is not None
    assert [message.seq for message in found] == [*range(1, len(found) + 1)]
    return found


def hands_of(desk: Desk, posted: Posted) -> Hands:
    """The hands of the owner of the run that a post began."""
    (done,) = posted.begun
    assert done.numbers is not None
    return Hands(desk, done.run, done.numbers)


# ---------------------------------------------------------------- posting


async def test_posts_at_the_same_time_have_seqs_without_gaps(desk: Desk) -> None:
    """Each with the answer that it asks for."""
    thread, (ada,) = await chat_with(desk, "ada")
    other, _ = await chat_with(desk)
    await asyncio.gather(*(post(desk, thread, *([ask(ada)] if number % 3 == 0 else [])) for number in range(12)))
    messages = await said(desk, thread)
    runs = [message.run_id for message in messages if message.run_id is not None]
    assert (len(messages) - len(runs), len(runs)) == (12, 1), "one run takes in what is said while it answers"
    run = await desk.database.read(get_run, str(runs[0]))
    assert run is not None
    assert len(run.pending) == 3
    assert await said(desk, other) == []


async def test_a_post_is_stored_once_under_a_key(desk: Desk) -> None:
    """Repeated, it begins nothing, and gives the same message."""
    thread, (ada,) = await chat_with(desk, "ada")
    key = a_key(operation="postMessage")
    first = await post(desk, thread, ask(ada), key=key)
    again = await post(desk, thread, ask(ada), key=key)
    assert (again.message, again.begun, again.steered) == (first.message, (), ())
    assert len(await said(desk, thread)) == 2


async def test_an_agent_with_too_much_to_read_says_so(desk: Desk) -> None:
    """By a FAILED message; the post is stored, and the answer under way goes on."""
    thread, (ada,) = await chat_with(desk, "ada")
    for _ in range(QUEUE_MESSAGES + 2):
        await post(desk, thread, ask(ada))
    *_, last, refusal = await said(desk, thread)
    assert (last.user_id, refusal.agent_id, refusal.status) == (ALICE, ada, ChatMessageStatus.FAILED)
    assert refusal.text == FULL
    assert (await said(desk, thread))[1].status is ChatMessageStatus.STREAMING


async def test_an_agent_that_has_left_meanwhile_is_not_asked(desk: Desk) -> None:
    """Who is in the chat is looked at when the message is stored."""
    thread, (ada,) = await chat_with(desk, "ada")
    changes = MemberChanges(remove_agents=(ada,))
    what: dict[str, Any] = {"chat_id": thread.chat_id, "user_id": ALICE, "changes": changes}
    await desk.database.write(update_members, **what, at=desk.clock())
    assert (await post(desk, thread, ask(ada))).begun == ()
    new = NewChat(ALICE, agents=(desk.ids("agt"),))
    with pytest.raises(MemberMissing):
        await desk.database.write(create_chat, new=new, key=None, ids=desk.ids, at=desk.clock())


async def test_a_run_that_answers_has_the_remotes_of_its_thread(desk: Desk) -> None:
    """As they are when it begins, each once, in the order of their keys; of those who lend them and are in the chat."""
    thread, (ada,) = await chat_with(desk, "ada")
    users = {"one": ALICE, "two": ALICE, "stranger": "mallory", "configured": CONFIGURED}
    ids = {}
    for name, user_id in users.items():
        new = NewRemote(user_id, name, RemoteKind.CLIENT, None, ())
        ids[name] = (await desk.database.write(register_remote, new=new, ids=desk.ids, at=desk.clock())).id
    named = {"b": "one", "a": "two", "c": "one", "d": "stranger", "e": "configured"}
    for key, remote in ((key, ids[name]) for key, name in named.items()):
        what: dict[str, Any] = {"thread_id": thread.id, "user_id": ALICE, "kind": "remote", "key": key}
        value = {"remoteId": remote}
        await desk.database.write(set_thread_resource, **what, value=value, ids=desk.ids, at=desk.clock())
    (done,) = (await post(desk, thread, ask(ada))).begun
    assert done.run.overrides is not None
    assert done.run.overrides.lent == (ids["two"], ids["one"], ids["configured"])
    assert done.run.thread_id == thread.id


# ---------------------------------------------------------------- ends


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (COMPLETED, ChatMessageStatus.DONE, "One.\n\nTwo."),
        (End(RunStatus.FAILED, FinishReason.MAX_STEPS), ChatMessageStatus.FAILED, "One.\n\nTwo."),
    ],
)
async def test_the_end_of_a_turn_is_the_end_of_its_message(
    desk: Desk, end: End, status: ChatMessageStatus, words: str
) -> None:
    """In the same transaction, with all that was said."""
    thread, (ada,) = await chat_with(desk, "ada")
    hands = hands_of(desk, await post(desk, thread, ask(ada)))
    await hands.say("One.")
    await desk.queue(hands.run.id, "More")
    await hands.settle()
    assert [message.status for message in await said(desk, thread)][1] is ChatMessageStatus.STREAMING
    assert (await said(desk, thread))[1].text == "One."
    await hands.say("Two.")
    await hands.settle(end)
    message = (await said(desk, thread))[1]
    assert (message.status, message.text, message.passed_on) == (status, words, True)


async def test_a_failure_that_said_nothing_says_why(desk: Desk) -> None:
    """In the words that the run's owner reads."""
    thread, (ada,) = await chat_with(desk, "ada")
    hands = hands_of(desk, await post(desk, thread, ask(ada)))
    failure = Failure(ErrorCode.PROVIDER_ERROR, "It failed.")
    await hands.settle(End(RunStatus.FAILED, FinishReason.ERROR, failure))
    message = (await said(desk, thread))[1]
    assert (message.status, message.text) == (ChatMessageStatus.FAILED, "It failed.")


async def test_a_later_turn_of_the_run_leaves_the_message_as_it_was(desk: Desk) -> None:
    """Cancelling the run after its end too."""
    thread, (ada,) = await chat_with(desk, "ada")
    hands = hands_of(desk, await post(desk, thread, ask(ada)))
    await hands.say("One.")
    await hands.settle()
    before = await said(desk, thread)
    await desk.cancel(hands.run.id)
    later = await desk.sent(hands.run.id, "Go on")
    await later.say("Two.")
    await later.settle()
    assert await said(desk, thread) == before


# ---------------------------------------------------------------- passing on


async def ended(desk: Desk, thread: Thread, agent_id: str, words: str) -> ChatMessage:
    """An answer of this agent that has ended."""
    hands = hands_of(desk, await post(desk, thread, ask(agent_id)))
    await hands.say(words)
    await hands.settle()
    return (await said(desk, thread))[-1]


async def passed(desk: Desk, message: ChatMessage, *asked: Asked, most: int = 3) -> Posted | None:
    """Pass a message on."""
    what: dict[str, Any] = {"message_id": message.id, "asked": asked, "most": most}
    return await desk.database.write(pass_on, **what, holder=desk.holder(), ids=desk.ids, at=desk.clock())


async def test_an_answer_is_passed_on_by_one_of_many(desk: Desk) -> None:
    """Who comes second does nothing."""
    thread, (ada, bea) = await chat_with(desk, "ada", "bea")
    message = await ended(desk, thread, ada, "@bea?")
    assert not message.passed_on
    done = await asyncio.gather(*(passed(desk, message, ask(bea, "bea")) for _ in range(4)))
    assert sorted(len(one.begun) for one in done if one is not None) == [1]
    assert len(await said(desk, thread)) == 3


async def test_nothing_is_passed_on_beyond_the_limit(desk: Desk) -> None:
    """The messages of agents behind the last person's are counted, whatever became of them."""
    thread, (ada, bea) = await chat_with(desk, "ada", "bea")
    message = await ended(desk, thread, ada, "@bea?")
    assert await passed(desk, message, ask(bea, "bea"), most=1) == Posted(replace(message, passed_on=False))
    assert len(await said(desk, thread)) == 2
    assert await passed(desk, message, ask(bea, "bea")) is None


async def test_an_answer_is_not_passed_on_to_its_own_agent(desk: Desk) -> None:
    """Nor is one that is gone passed on at all."""
    thread, (ada,) = await chat_with(desk, "ada")
    message = await ended(desk, thread, ada, "@ada?")
    done = await passed(desk, message, ask(ada))
    assert done is not None
    assert done.begun == ()
    assert await passed(desk, replace(message, id=desk.ids("cms")), ask(ada)) is None


async def test_who_has_left_a_chat_reads_no_more_of_it_through_a_run(desk: Desk) -> None:
    """What is said from then on neither steers a run of theirs nor begins one."""
    thread, (ada, bea) = await chat_with(desk, "ada", "bea", users=("bob",))
    what: dict[str, Any] = {"thread_id": thread.id, "user_id": "bob", "text": "Hi", "key": None}
    asked = [ask(ada, user="bob"), ask(bea, "bea", user="bob")]
    more: dict[str, Any] = {"holder": desk.holder(), "ids": desk.ids, "at": desk.clock()}
    posted = await desk.database.write(post_message, **what, asked=asked, **more)
    first, second = (Hands(desk, done.run, done.numbers) for done in posted.begun if done.numbers is not None)
    changes = MemberChanges(remove_users=("bob",))
    left: dict[str, Any] = {"chat_id": thread.chat_id, "user_id": "bob", "changes": changes}
    await desk.database.write(update_members, **left, at=desk.clock())
    after = await post(desk, thread, ask(ada), text="Bob is gone")
    assert ([done.run.user_id for done in after.begun], after.steered) == ([ALICE], ())
    await second.say("@ada?")
    await second.settle()
    done = await passed(desk, (await said(desk, thread))[2], ask(ada, user="bob"))
    assert (done is not None, done and done.begun, done and done.steered) == (True, (), ())
    await first.say("Goodbye.")
    await first.settle()
    assert (await said(desk, thread))[1].text == "Goodbye."


# ---------------------------------------------------------------- what is dropped


def _left(c: Connection) -> dict[str, int]:
    tables = {"chats": chats, "threads": chat_threads, "messages": chat_messages, "resources": thread_resources}
    return {name: len(c.execute(select(table.c.id)).all()) for name, table in tables.items()}


async def test_temporary_chats_go_a_day_after_their_last_post(desk: Desk) -> None:
    """With all that is in them; others stay. A run that answers there ends as it would have."""
    kept, (ada,) = await chat_with(desk, "ada")
    thread, _ = await chat_with(desk, temporary=True)
    join = MemberChanges(add_agents=(ada,))
    what: dict[str, Any] = {"chat_id": thread.chat_id, "user_id": ALICE, "changes": join}
    await desk.database.write(update_members, **what, at=desk.clock())
    desk.clock.advance(TEMPORARY_MS // 1000 - 1)
    hands = hands_of(desk, await post(desk, thread, ask(ada)))
    desk.clock.advance(2)
    assert await desk.database.write(drop_temporary_chats, at=desk.clock()) == 0
    desk.clock.advance(TEMPORARY_MS // 1000)
    assert await desk.database.write(drop_temporary_chats, at=desk.clock()) == 1
    assert await desk.database.read(_left) == {"chats": 2, "threads": 2, "messages": 0, "resources": 0}
    await hands.say("Anybody?")
    await hands.settle()
    with pytest.raises(ChatMissing):
        await post(desk, thread)
    assert (await post(desk, kept)).message.seq == 1


async def test_all_temporary_chats_can_be_dropped_at_once(desk: Desk) -> None:
    """As after a restart."""
    for _ in range(3):
        await chat_with(desk, temporary=True)
    await chat_with(desk)
    assert await desk.database.write(drop_temporary_chats, at=None) == 3
    assert (await desk.database.read(_left))["chats"] == 1


async def test_a_chat_whose_last_user_leaves_is_removed(desk: Desk) -> None:
    """Whoever else is in it."""
    thread, _ = await chat_with(desk, "ada")
    await post(desk, thread)
    what: dict[str, Any] = {"chat_id": thread.chat_id, "user_id": ALICE}
    changes = MemberChanges(remove_users=(ALICE,))
    assert await desk.database.write(update_members, **what, changes=changes, at=desk.clock()) == (None, [thread.id])
    assert await desk.database.read(get_chats, [thread.chat_id]) == {}
    assert await desk.database.read(members_of_chats, [thread.chat_id]) == {thread.chat_id: []}


# ---------------------------------------------------------------- what is pure


def spoken(*words: str) -> list[ChatMessage]:
    """Messages: "ada: …" is the agent's of that name, "alice: …" the user's; "(…)" has failed."""
    found = []
    for seq, line in enumerate(words, start=1):
        name, _, rest = line.partition(": ")
        failed = rest.startswith("(")
        status = ChatMessageStatus.FAILED if failed else ChatMessageStatus.DONE
        agent = name in ("ada", "bea")
        user_id, agent_id = (None, f"agt_{name}") if agent else (name, None)
        found.append(ChatMessage(f"cms_{seq}", "thr_1", seq, user_id, agent_id, name, 0, rest, status=status))
    return found


def test_a_history_gives_roles_by_who_spoke() -> None:
    """The agent's own are the assistant's; the rest are marked unless they are the owner's, and joined."""
    messages = spoken("alice: one", "bob: two", "bea: three", "ada: four", "ada: (five", "ada: six", "alice: seven")
    blocks = [{"type": "text", "text": text} for text in ("one", "[bob] two", "[bea] three")]
    own = [{"type": "text", "text": text} for text in ("four", "six")]
    expected = (Said(Role.USER, blocks), Said(Role.ASSISTANT, own), Said(Role.USER, "seven"))
    assert history_of(messages, "agt_ada", "alice") == expected


def test_a_history_never_begins_with_the_agent_and_has_bounds() -> None:
    """The newest are taken, of as many characters as fit."""
    assert history_of(spoken("ada: one", "alice: two"), "agt_ada", "alice") == (Said(Role.USER, "two"),)
    assert history_of(spoken("ada: one"), "agt_ada", "alice") == ()
    many = spoken(*(f"alice: {number}" for number in range(HISTORY_MESSAGES + 5)))
    assert len(history_of(many, "agt_ada", "alice")[0].content) == HISTORY_MESSAGES
    large = spoken("alice: old", f"alice: {'x' * HISTORY_CHARACTERS}")
    assert history_of(large, "agt_ada", "alice") == (Said(Role.USER, "x" * HISTORY_CHARACTERS),)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("@ada and @Bea-2, please", {"ada", "bea-2"}),
        ("(@ada) @ada. @ada! ask @ada- now", {"ada", "ada-"}),
        ("mail ada@example.com or @@ada, a.@ada", set()),
        ("@", set()),
    ],
)
def test_mentions_are_words_behind_an_at_sign_of_their_own(words: str, found: set[str]) -> None:
    """Addresses of mail are none."""
    assert mentions(words) == found


def test_what_a_turn_has_said_is_shown_whole_and_in_order() -> None:
    """Texts without thoughts, and thoughts without texts; what is empty leaves no gap."""
    first = [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "One "},
        {"type": "text", "text": "two."},
    ]
    call = [{"type": "tool_use", "id": "t", "name": "n", "input": {}}]
    assert shown([first, call, [{"type": "text", "text": "Three."}]]) == ("One two.\n\nThree.", "Hm.")
    assert one_text([" ", "a", ""]) == "a"
