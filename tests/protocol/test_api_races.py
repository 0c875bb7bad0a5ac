"""What happens at the same moment: steering and cancelling as the model stops, clients that vanish within a request."""

from __future__ import annotations

import asyncio
import gc
import json
from contextlib import aclosing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from engine.user import User
from steersman.graphql.params import Params
from tests.support import documents
from tests.support.client import Client
from tests.support.clients import bearer, connected
from tests.support.gate import Gate
from tests.support.live_stream import dice
from tests.support.messages_script import Script
from tests.support.messages_server import Request
from tests.support.world import World, helper, world

FAR = {"cancel_poll_seconds": 600.0, "lease_seconds": 3_600.0}
"""Nothing is found by polling within a test: what reaches a loop was told to it."""


class Pending:
    """Answers that say "Yes." and end when they are let, by the text that their run began with."""

    def __init__(self, w: World) -> None:
        self.ends: dict[str, asyncio.Event] = {}
        w.model.answer(self._answer)

    def _answer(self, request: Request) -> Script:
        end = self.ends[request.messages[0]["content"][0]["text"]] = asyncio.Event()
        return Script().half_text("Yes.").hold(end)


def user_texts(run: dict[str, Any]) -> list[str]:
    """Every text that users said, block by block."""
    blocks = [block for m in run["messages"]["nodes"] if m["role"] == "USER" for block in m["blocks"]]
    return [block["text"] for block in blocks if block["__typename"] == "TextBlock"]


@pytest.mark.parametrize("mode", ["QUEUE", "INTERRUPT"])
async def test_an_input_at_the_moment_the_model_stops_is_always_answered(tmp_path: Path, mode: str) -> None:
    """A hundred inputs, each sent as an answer ends: each is queued and answered, or begins a turn of its own."""
    async with world(tmp_path, settings=FAR) as w:
        alice, pending = w.client("alice"), Pending(w)
        runs = [_steer_at_the_end(alice, pending, f"run {number}", mode, dice(number)) for number in range(5)]
        for run_id in await asyncio.gather(*runs):
            end = await alice.run(run_id)
            assert user_texts(end)[1:] == [f"input {number}" for number in range(20)]
            assert (end["status"], end["messages"]["nodes"][-1]["role"]) == ("COMPLETED", "ASSISTANT")
            assert end["messages"]["nodes"][-1]["text"] == "Yes."


async def _steer_at_the_end(client: Client, pending: Pending, name: str, mode: str, rnd: Random) -> str:
    """A run that is steered twenty times just as its model ends an answer; its id, once it has ended."""
    run_id: str = (await client.start(name))["id"]
    feed = await client.watch(documents.WATCH_RUN_STREAM, runId=run_id)
    for number in range(20):
        await feed.sees("TextDelta", number + 1)
        asyncio.get_running_loop().call_later(rnd.random() * 0.02, pending.ends[name].set)
        await asyncio.sleep(rnd.random() * 0.02)
        await client.steer(run_id, f"input {number}", mode=mode)
    await feed.sees("TextDelta", 21)
    pending.ends[name].set()
    await client.settled(run_id)
    return run_id


async def test_a_cancel_at_the_moment_the_model_stops_leaves_a_whole_run(tmp_path: Path) -> None:
    """Fifty cancels as an answer ends: the run is CANCELLED, its transcript whole, and the next turn just works."""
    async with world(tmp_path, settings=FAR) as w:
        alice, pending, rnd = w.client("alice"), Pending(w), dice(1)
        run_id = (await alice.start("run"))["id"]
        feed = await alice.watch(documents.WATCH_RUN_STREAM, runId=run_id)
        for number in range(50):
            await feed.sees("TextDelta", number + 1)
            asyncio.get_running_loop().call_later(rnd.random() * 0.02, pending.ends["run"].set)
            await asyncio.sleep(rnd.random() * 0.02)
            await alice.cancel(run_id)
            await feed.sees("RunResult", number + 1)
            end = await alice.run(run_id)
            assert (end["status"], end["cancelRequested"]) == ("CANCELLED", False)
            assert end["messages"]["totalCount"] == 2 * (number + 1)
            await alice.start("again", runId=run_id)
        await feed.sees("TextDelta", 51)
        pending.ends["run"].set()
        assert (await alice.settled(run_id))["status"] == "COMPLETED"


async def test_two_devices_may_do_anything_at_once(tmp_path: Path) -> None:
    """Inputs, cancels, withdrawals, retries and forks from all sides: every input is in the transcript once."""
    gate = Gate()
    gate.open.set()
    async with world(tmp_path, settings=FAR, helper=helper(tools=[gate.tool])) as w:
        answers = [lambda: Script().text("Yes."), lambda: Script().tool("work"), lambda: Script.status(401)]
        rnd = dice(7)
        w.model.answer(lambda request: rnd.choices(answers, (6, 3, 1))[0]())
        devices = [w.client("alice") for _ in range(3)]
        runs = [(await devices[0].start(f"run {number}"))["id"] for number in range(3)]
        said: dict[str, set[str]] = {run_id: set() for run_id in runs}
        await asyncio.gather(*(_anything(device, said, dice(seed)) for seed, device in enumerate(devices)))
        for number, run_id in enumerate(runs):
            end = await devices[0].settled(run_id)
            texts = user_texts(end)
            assert sorted(texts) == sorted({f"run {number}", *said[run_id]})


async def _anything(client: Client, said: dict[str, set[str]], rnd: Random) -> None:
    """Forty things that a client may do; `said` are the inputs of each run that must be in its transcript."""
    for number in range(40):
        run_id = rnd.choice(sorted(said))
        what = rnd.choices(("steer", "withdraw", "cancel", "retry", "read"), (6, 2, 1, 1, 1))[0]
        text = f"{id(client)} {number}"
        if what in ("steer", "withdraw"):
            sent = await client.do(documents.STEER, runId=run_id, input=text, mode=rnd.choice(("QUEUE", "INTERRUPT")))
            if sent["errors"]:
                assert sent["errors"][0]["code"] == "AGENT_INPUT_QUEUE_FULL"
                continue
            said[run_id].add(text)
            if what == "withdraw" and sent["queued"]:
                taken = await client.done(documents.WITHDRAW, runId=run_id, inputId=sent["inputId"])
                said[run_id] -= {text} if taken["withdrawn"] else set()
        elif what == "cancel":
            await client.cancel(run_id)
        elif what == "retry":
            await client.do(documents.RETRY, runId=run_id)
        else:
            await client.run(run_id)


async def test_a_cancel_reaches_the_provider_at_once(tmp_path: Path) -> None:
    """In the same process nothing waits for a poll: the answer in flight is cut off, and nothing more is fetched."""
    async with world(tmp_path, settings=FAR) as w:
        w.play(Script().text(*(f"{number} " for number in range(100_000))).paced(0.001))
        alice = w.client("alice")
        run = await alice.start("Count")
        feed = await alice.watch_stream(run["streamId"])
        await feed.shows("5 ")
        await alice.cancel(run["id"])
        await feed.end()
        request = await w.model.arrived(1)
        await request.cut_off()
        assert request.events < 100_000
        end = await alice.run(run["id"])
        assert end["messages"]["nodes"][-1]["text"] == feed.text
        assert (len(w.model.requests), end["status"]) == (1, "CANCELLED")


# ---------------------------------------------------------------- clients that vanish


async def test_a_client_that_vanishes_after_asking_loses_nothing(tmp_path: Path) -> None:
    """Requests whose sender did not wait for the answer: asked again under its key, each is one run, which ends."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        for number in range(20):
            given = {"agent": "helper", "input": f"Hi {number}", "key": f"key {number}"}
            body = json.dumps({"query": documents.START, "variables": {"input": given}}).encode()
            await _send_and_leave(w, alice, body, whole=True)
        again = [await alice.start(f"Hi {number}", key=f"key {number}") for number in range(20)]
        assert sorted(await w.run_ids()) == sorted(run["id"] for run in again)
        for run in again:
            assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


async def test_a_request_that_was_cut_begins_nothing(tmp_path: Path) -> None:
    """Half a body is no request: nothing is stored, and the server goes on."""
    async with world(tmp_path) as w:
        w.play(Script().text("Yes."))
        alice = w.client("alice")
        body = json.dumps(
            {"query": documents.START, "variables": {"input": {"agent": "helper", "input": "x"}}}
        ).encode()
        for _ in range(5):
            await _send_and_leave(w, alice, body, whole=False)
        run = await alice.start("Whole")
        await alice.settled(run["id"])
        assert await w.run_ids() == [run["id"]]


async def _send_and_leave(w: World, client: Client, body: bytes, *, whole: bool) -> None:
    """Send a request, or half of it, and close the connection without reading."""
    host, port = w.server.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    authorization = bearer(client.token)["Authorization"]
    head = (
        f"POST /graphql HTTP/1.1\r\nHost: {host}\r\nAuthorization: {authorization}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + (body if whole else body[: len(body) // 2]))
    await writer.drain()
    writer.close()
    await writer.wait_closed()


async def test_a_socket_that_drops_within_a_mutation_leaves_no_half_run(tmp_path: Path) -> None:
    """However the drop falls, a run that is there comes to its end, and asking again under the key finds it."""
    async with world(tmp_path) as w:
        w.model.answer(lambda request: Script().text("Yes."))
        alice = w.client("alice")
        for number in range(20):
            given = {"agent": "helper", "input": f"Hi {number}", "key": f"key {number}"}
            async with connected(w.server.socket, alice.token) as socket:
                await socket.subscribe(documents.START, {"input": given})
                for _ in range(number):
                    await asyncio.sleep(0)
                socket.socket.transport.abort()
        again = [await alice.start(f"Hi {number}", key=f"key {number}") for number in range(20)]
        assert sorted(await w.run_ids()) == sorted(run["id"] for run in again)
        for run in again:
            assert (await alice.settled(run["id"]))["status"] == "COMPLETED"


@pytest.mark.parametrize(
    ("document", "most"), [(documents.RUN, 12), (documents.WATCH_RUN, 4)], ids=["query", "subscription"]
)
async def test_an_operation_that_is_left_while_its_fields_are_read_leaves_nothing(
    tmp_path: Path, document: str, most: int
) -> None:
    """However far its fields had come: no task remains, and none of them was begun to be read and never awaited."""
    async with world(tmp_path) as w:
        w.play(Script().text("Yes."))
        alice = w.client("alice")
        run = await alice.settled((await alice.start("Hi"))["id"])
        endpoint, params = w.app.state.endpoint, Params(document, {"id": run["id"]}, None, None)

        async def read() -> None:
            context = w.app.state.house.context_for(User("alice"))
            async with aclosing(endpoint.results(params, context, user_id="alice")) as results:
                async for _ in results:
                    pass

        before = len(asyncio.all_tasks())
        for growths in range(1, most + 1):
            operation = asyncio.create_task(read())
            await _grown(operation, growths)
            operation.cancel()
            await asyncio.wait((operation,))
        await w.until(lambda: len(asyncio.all_tasks()) <= before)
        gc.collect()  # what was never awaited tells so when it goes


async def _grown(operation: asyncio.Task[None], times: int) -> None:
    """Wait until the operation has made tasks so many times: those of the last time have not begun yet."""
    known = asyncio.all_tasks()
    while times and not operation.done():
        await asyncio.sleep(0)
        tasks = asyncio.all_tasks()
        times -= bool(tasks - known)
        known |= tasks
