"""Anything with an id is found by it, by its owner alone."""

from __future__ import annotations

from models.call import ToolCall
from models.database import Database
from models.message import Message
from models.model_call import ModelCall
from models.usage import Usage
from tests.support.api import BOB, ask, codes_of, context_of
from tests.support.fake_engine import FakeEngine
from tests.support.rows import a_call, a_message, a_model_call, a_run, new_id, store

NODES = "query ($ids: [ID!]!) { nodes(ids: $ids) { __typename id ... on AgentMessage { text } } }"


async def some_ids(database: Database) -> list[str]:
    """A run of alice, with one of each thing that has an id."""
    run = a_run()
    parts: list[Message | ToolCall | ModelCall] = [a_message(run, 1), a_call(run, 1), a_model_call(run, 1, Usage())]
    await store(database, run, *parts)
    return [run.id, *(part.id for part in parts)]


async def test_each_kind_of_thing_is_found_in_the_order_asked(engine: FakeEngine, database: Database) -> None:
    """Ids may repeat; what is missing is null in its place."""
    ids = await some_ids(database)
    data = await ask(context_of(engine), NODES, ids=[*ids, "nonsense", ids[0], new_id("msg"), new_id("str")])
    names = [node and node["__typename"] for node in data["nodes"]]
    assert names == ["AgentRun", "AgentMessage", "ToolCall", "ModelCall", None, "AgentRun", None, None]
    assert data["nodes"][1]["text"] == "Hello"
    one = await ask(context_of(engine), "query ($id: ID!) { node(id: $id) { __typename id } }", id=ids[2])
    assert one == {"node": {"__typename": "ToolCall", "id": ids[2]}}


async def test_nothing_of_another_user_s_run_is_found(engine: FakeEngine, database: Database) -> None:
    """Messages, calls and model calls are as private as their run."""
    ids = await some_ids(database)
    assert await ask(context_of(engine, BOB), NODES, ids=ids) == {"nodes": [None] * 4}


async def test_no_more_than_a_hundred_at_a_time(engine: FakeEngine) -> None:
    """A list of ids is bounded like any other list."""
    assert await ask(context_of(engine), NODES, ids=[]) == {"nodes": []}
    assert await codes_of(context_of(engine), NODES, ids=["x"] * 101) == ["BAD_USER_INPUT"]
