"""What one operation asks for is read in few statements, and read anew by the next."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.engine import Engine
from models.database import Database
from models.enums import Role
from models.run import Run, agent_runs
from models.usage import Usage
from tests.support.api import ask, context_of, take
from tests.support.fake_engine import FakeEngine
from tests.support.rows import a_call, a_message, a_model_call, a_run, store
from tests.support.statements import counted, selects


async def a_long_run(database: Database) -> Run:
    """A run of five hundred steps with a tool call each: a thousand messages."""
    run = a_run()
    steps = range(1, 501)
    messages = []
    for step in steps:
        use = [{"type": "tool_use", "id": "t", "name": "add", "input": {}}]
        result = [{"type": "tool_result", "tool_use_id": "t", "content": "", "is_error": False}]
        messages.append(a_message(run, 2 * step - 1, use, step=step, role=Role.ASSISTANT))
        messages.append(a_message(run, 2 * step, result, step=step))
    await store(database, run, *messages, *(a_call(run, step) for step in steps))
    return run


async def test_a_thousand_messages_with_their_calls_load_in_few_statements(
    engine: FakeEngine, database: Database
) -> None:
    """A long transcript costs a few reads a page of a hundred, not one a message."""
    run = await a_long_run(database)
    text = """query ($id: ID!, $after: String) { run(id: $id) { messages(first: 100, after: $after) {
      nodes { seq blocks { ... on ToolUseBlock { toolCallId } ... on ToolResultBlock { toolCallId } } }
      pageInfo { hasNextPage endCursor }
    } } }"""
    seqs: list[int] = []
    after, more = None, True
    with counted() as statements:
        while more:
            page = (await ask(context_of(engine), text, id=run.id, after=after))["run"]["messages"]
            seqs += [node["seq"] for node in page["nodes"]]
            assert all(block["toolCallId"] for node in page["nodes"] for block in node["blocks"])
            after, more = page["pageInfo"]["endCursor"], page["pageInfo"]["hasNextPage"]
    assert seqs == list(range(1, 1_001))
    assert selects(statements) <= 3 * 10


async def test_a_thousand_messages_given_one_by_one_load_in_few_statements(
    engine: FakeEngine, database: Database
) -> None:
    """The subscription reads ahead, messages and the ids of their calls alike."""
    run = await a_long_run(database)
    text = """subscription ($id: ID!) { messages(runId: $id) {
      seq blocks { ... on ToolUseBlock { toolCallId } ... on ToolResultBlock { toolCallId } }
    } }"""
    with counted() as statements:
        shown = [data["messages"] for data in await take(context_of(engine), 1_000, text, id=run.id)]
    assert [message["seq"] for message in shown] == list(range(1, 1_001))
    ids = [block["toolCallId"] for message in shown for block in message["blocks"]]
    assert ids[::2] == ids[1::2]
    assert len(set(ids)) == 500
    assert selects(statements) <= 30


async def test_a_list_of_runs_reads_usage_and_links_together(engine: FakeEngine, database: Database) -> None:
    """Fifty runs with usage, parent and origin cost five statements."""
    parent = a_run()
    message = a_message(parent, 1)
    runs = [a_run(parent_id=parent.id, forked_from=message.id) for _ in range(50)]
    await store(database, parent, message, *runs, *(a_model_call(run, 1, Usage(1)) for run in runs))
    text = "{ runs(first: 50) { nodes { usage { inputTokens } parent { id } forkedFrom { id } } } }"
    with counted() as statements:
        data = await ask(context_of(engine), text)
    assert all(node["usage"]["inputTokens"] == 1 and node["parent"] for node in data["runs"]["nodes"])
    assert selects(statements) == 5


async def test_what_a_run_s_tools_take_is_found_with_one_more_statement(served: Engine) -> None:
    """However many calls of however many runs of agents in code are shown."""
    runs = [a_run() for _ in range(10)]
    await store(served.database, *runs, *(a_call(run, step) for run in runs for step in range(1, 6)))
    text = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on AgentRun { toolCalls { nodes { name inputSchema } } } } }"
    ids = [run.id for run in runs]
    with counted() as statements:
        data = await ask(context_of(served), text, ids=ids)
    shown = [call for node in data["nodes"] for call in node["toolCalls"]["nodes"]]
    assert [(call["name"], call["inputSchema"]["required"]) for call in shown] == [("add", ["a"])] * 50
    assert selects(statements) == 1 + 10 + 1


async def test_lists_of_many_runs_take_one_connection(engine: FakeEngine, database: Database) -> None:
    """Nested pages are read one after another on one connection, a statement each."""
    runs = [a_run() for _ in range(20)]
    await store(database, *runs, *(a_message(run, 1) for run in runs))
    with counted() as statements:
        data = await ask(context_of(engine), "{ runs(first: 20) { nodes { messages(first: 5) { nodes { text } } } } }")
    assert all(node["messages"]["nodes"] == [{"text": "Hello"}] for node in data["runs"]["nodes"])
    assert selects(statements) == 21


async def test_the_total_is_counted_only_when_it_is_asked_for(engine: FakeEngine) -> None:
    """A page without totalCount costs no count."""
    with counted() as statements:
        await ask(context_of(engine), "{ runs { nodes { id } } }")
        assert not any("count" in statement.lower() for statement in statements)
        await ask(context_of(engine), "{ runs { totalCount } }")
    assert any("count" in statement.lower() for statement in statements)


async def test_nothing_is_remembered_from_one_read_to_the_next(engine: FakeEngine, database: Database) -> None:
    """A context lives as long as its socket, and rows change meanwhile."""
    run = a_run(title="before")
    await store(database, run)
    context = context_of(engine)
    text = "query ($id: ID!) { run(id: $id) { title } }"
    assert (await ask(context, text, id=run.id))["run"]["title"] == "before"
    await database.write(lambda c: c.execute(agent_runs.update().values(title="after")))
    assert (await ask(context, text, id=run.id))["run"]["title"] == "after"


async def test_one_bad_cursor_spoils_its_own_list_alone(engine: FakeEngine, database: Database) -> None:
    """Reads that travel together fail apart."""
    run = a_run()
    await store(database, run, a_message(run, 1))
    loaders = context_of(engine).loaders

    def fail(_connection: Any) -> int:
        raise ValueError

    good, bad = await asyncio.gather(loaders.read(lambda _c: 1), loaders.read(fail), return_exceptions=True)
    assert good == 1
    assert isinstance(bad, ValueError)


@pytest.mark.parametrize("turns", range(6))
async def test_a_read_that_nobody_waits_for_any_more_holds_up_no_later_one(
    engine: FakeEngine, database: Database, turns: int
) -> None:
    """A client may leave an operation at any moment, before its reads begin too; its socket goes on as it was."""
    run = a_run()
    await store(database, run, a_message(run, 1), a_call(run, 1))
    loaders = context_of(engine).loaders
    for load in (
        lambda: loaders.run(run.id),
        lambda: loaders.usage(run.id),
        lambda: loaders.call_ids(run.id, 1),
        lambda: loaders.read(lambda _c: 1),
    ):
        left = asyncio.ensure_future(load())
        for _ in range(turns):
            await asyncio.sleep(0)
        left.cancel()
        async with asyncio.timeout(60):
            await asyncio.wait((left,))
            assert await load()
