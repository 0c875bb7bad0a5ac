"""Webhooks on several nodes of one database: each turn's end is told once to each endpoint, signed, until taken."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from engine.builtin.fetch_policy import FetchPolicy
from engine.context import Context
from engine.courier import LEASE_MS, PAUSES, Courier
from engine.tool import tool
from engine.webhooks import Webhooks
from models.enums import FinishReason, RunStatus
from models.verbs.keeping import NewAgent, create_agent
from models.webhook import Delivery, Webhook, get_webhooks, last_delivery
from tests.support.messages_script import Script
from tests.support.receiver import Receiver, receiver
from tests.support.stage import ALICE, LEASE_SECONDS, Node, Stage, helper
from tests.support.weather import Weather

PRIVATE = FetchPolicy(private=True)


def courier(node: Node, **more: Any) -> Courier:
    """The courier of a node."""
    return Courier(node.shop, PRIVATE, **more)


async def hooked(node: Node, endpoint: Receiver, **given: Any) -> Webhook:
    """A webhook of alice's at this endpoint."""
    return await Webhooks(node.shop, PRIVATE).create(ALICE, url=endpoint.url, **given)


async def told(stage: Stage, webhook: Webhook) -> Delivery:
    """The newest delivery."""
    found = await stage.database.read(last_delivery, webhook.id)
    assert found is not None
    return found


async def deliver(*nodes: Node) -> None:
    """Post what is due, on these nodes at once, and wait for the answers."""
    couriers = [courier(node) for node in nodes]
    await asyncio.gather(*(one.round() for one in couriers))
    await asyncio.gather(*(one.rest() for one in couriers))


async def ran(stage: Stage, node: Node, text: str = "Done.", **more: Any) -> str:
    """A run that has answered."""
    stage.play(Script().text(text))
    run_id = await node.start(**more)
    await node.settled(run_id)
    return run_id


async def test_the_end_of_a_run_is_told_once_and_signed(stage: Stage) -> None:
    """With what a receiver needs; by whichever of three nodes, however often they look."""
    nodes = [await stage.open() for _ in range(3)]
    async with receiver() as endpoint:
        webhook = await hooked(nodes[0], endpoint)
        run_id = await ran(stage, nodes[0], "All done.", metadata={"ticket": 7})
        for _ in range(3):
            await deliver(*nodes)
        (post,) = endpoint.posts
        assert post.is_signed_with(webhook.secret)
        assert not post.is_signed_with("whsec_" + "A" * 43 + "=")
        assert int(post.headers["webhook-timestamp"]) == stage.clock() // 1000
        assert post.headers["content-type"] == "application/json"
        run = await stage.run(run_id)
        usage = {"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 0, "cacheWriteTokens": 0}
        body = post.json
        assert body.pop("usage").keys() == {*usage, "cost"}
        assert body == {
            "type": "run.finished", "at": "2027-01-15T08:00:00.000Z", "runId": run_id, "streamId": run.stream_id,
            "agent": "helper", "userId": "alice", "title": "Hi", "metadata": {"ticket": 7}, "status": "COMPLETED",
            "finish": "STOP", "error": None, "text": "All done.", "textLength": 9, "output": None, "steps": 1,
        }  # fmt: skip
    delivery = await told(stage, webhook)
    assert (delivery.run_id, delivery.attempts, delivery.status) == (run_id, 1, 204)
    assert (delivery.delivered_at, delivery.due_at, delivery.error) == (stage.clock(), None, None)


async def test_each_turn_s_end_is_told_and_nothing_else(stage: Stage) -> None:
    """A second turn is told too; a cancel of a run that rests ends no turn."""
    node = await stage.open()
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        run_id = await ran(stage, node)
        stage.play(Script().text("Again."))
        await node.steer(run_id, "more")
        await node.settled(run_id)
        await node.cancel(run_id)
        assert (await stage.run(run_id)).status is RunStatus.CANCELLED
        await deliver(node)
        assert [post.json["text"] for post in sorted(endpoint.posts, key=lambda post: post.json["steps"])] == [
            "Done.", "Again.",
        ]  # fmt: skip
        assert len({post.id for post in endpoint.posts}) == 2


async def test_a_run_that_is_stopped_has_one_end(stage: Stage) -> None:
    """Cancelled twice, by two nodes, while its loop settles: one delivery, CANCELLED."""
    node, other = await stage.open(), await stage.open(works=False)
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        stage.play(Script().half_text("Half").hold(asyncio.Event()))
        run_id = await node.start()
        await stage.screen(run_id).shows("Half")
        await asyncio.gather(node.cancel(run_id), other.cancel(run_id), node.cancel(run_id))
        await node.settled(run_id)
        await other.cancel(run_id)
        await deliver(node, other)
        (post,) = endpoint.posts
        assert (post.json["status"], post.json["finish"], post.json["text"]) == ("CANCELLED", "ABORTED", "Half")


async def test_a_run_whose_worker_died_is_told_of_once_however_it_ends(stage: Stage) -> None:
    """Settled in a dead worker's place by a cancel; what the old loop does when it wakes up adds nothing."""
    node, other = await stage.open(watch_seconds=0.02), await stage.open(works=False, watch_seconds=0.02)
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        stage.play(Script().half_text("Half").hold(asyncio.Event()))
        run_id = await node.start()
        await stage.screen(run_id).shows("Half")
        await stage.leases.advance(LEASE_SECONDS + 1)
        assert (await other.cancel(run_id)).status is RunStatus.CANCELLED
        await node.beat()
        await node.idle(run_id)
        await deliver(node, other)
        assert [post.json["status"] for post in endpoint.posts] == ["CANCELLED"]


async def test_a_settle_whose_acknowledgement_was_lost_tells_once(stage: Stage) -> None:
    """Repeated, the verb finds what it did."""
    weather = Weather(stage.database)
    node = await stage.open(database=weather)
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        weather.lose = {"settle"}
        await ran(stage, node)
        assert weather.asked["settle"] == 2
        await deliver(node)
        assert len(endpoint.posts) == 1


async def test_input_that_comes_after_a_cancel_has_an_end_of_its_own(stage: Stage) -> None:
    """The turn that was cancelled and the one that follows at once are two."""
    began, release = asyncio.Event(), asyncio.Event()

    @tool
    async def work(ctx: Context) -> str:
        """Work."""
        began.set()
        await release.wait()
        return "done"

    node = await stage.open(tools=[work])
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        stage.play(Script().tool("work"), Script().text("Next."))
        run_id = await node.start()
        await began.wait()
        await node.cancel(run_id)
        await node.steer(run_id, "more")
        release.set()
        run = await node.settled(run_id)
        while run.status is not RunStatus.COMPLETED:
            run = await node.settled(run_id)
        await deliver(node)
        assert sorted(post.json["status"] for post in endpoint.posts) == ["CANCELLED", "COMPLETED"]


async def test_a_run_that_waits_has_not_ended(stage: Stage) -> None:
    """Nothing is told while a person is asked; a cancel then ends it."""

    @tool(approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    node = await stage.open(tools=[pay])
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        stage.play(Script().tool("pay"))
        run_id = await node.start()
        assert (await node.settled(run_id)).status is RunStatus.WAITING
        await deliver(node)
        assert endpoint.posts == []
        await node.cancel(run_id)
        await deliver(node)
        assert [post.json["status"] for post in endpoint.posts] == ["CANCELLED"]


async def test_a_failure_is_told_as_its_owner_reads_it(stage: Stage) -> None:
    """With its code."""
    node = await stage.open(max_steps=1)
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        stage.play(Script().tool("nothing"))
        await node.settled(await node.start())
        await deliver(node)
        (post,) = endpoint.posts
        assert (post.json["status"], post.json["finish"]) == ("FAILED", FinishReason.MAX_STEPS)
        assert post.json["error"]["code"] == "AGENT_MAX_STEPS"


async def test_a_webhook_hears_of_its_owner_s_runs_of_its_agent_alone(stage: Stage) -> None:
    """By the name of code, or by the id of a stored agent whatever it is called; children are their parent's."""
    helpers = {"helper": helper(), "other": helper(), "boss": helper(subagents=["other"])}
    node = await stage.open(agents=helpers)
    async with receiver() as named, receiver() as stored, receiver() as every:
        new = NewAgent(user_id="alice", name="Ada", kind="helper", config={}, handle="ada")
        ada = await stage.database.write(create_agent, new=new, key=None, ids=stage.ids, at=stage.clock())
        for endpoint, agent in ((named, "helper"), (stored, ada.id), (every, None)):
            await hooked(node, endpoint, agent=agent)
        await ran(stage, node)
        await ran(stage, node, agent="other")
        await ran(stage, node, agent="ada")
        stage.play(Script().tool("other", {"task": "Look"}), Script().text("Child."), Script().text("Parent."))
        await node.settled(await node.start(agent="boss"))
        bob = await node.runs.start(type(ALICE)("bob"), agent="helper", input="Hi")
        stage.play(Script().text("Bob's."))
        await node.settled(bob.run.id)
        await deliver(node)
        heard = [sorted(post.json["agent"] for post in one.posts) for one in (named, stored, every)]
        assert heard == [["helper"], ["ada"], ["ada", "boss", "helper", "other"]]


# ---------------------------------------------------------------- what goes wrong


async def test_what_is_not_taken_is_posted_again_under_the_same_id_ever_more_rarely(stage: Stage) -> None:
    """Eight attempts over about a day, the same bytes, each signed for its moment; then it is given up, visibly."""
    node = await stage.open()
    async with receiver(*[500] * 20) as endpoint:
        webhook = await hooked(node, endpoint)
        await ran(stage, node)
        began = stage.clock()
        for number in range(1, len(PAUSES) + 2):
            await deliver(node)
            assert len(endpoint.posts) == number
            delivery = await told(stage, webhook)
            assert (delivery.attempts, delivery.status, delivery.error) == (number, 500, "It answered 500.")
            await deliver(node)
            assert len(endpoint.posts) == number, "not before its time"
            if delivery.due_at is not None:
                stage.clock.now = delivery.due_at
        assert (await told(stage, webhook)).due_at is None
        assert 20 < (stage.clock() - began) / 3_600_000 < 32
        stage.clock.advance(7 * 86_400)
        await deliver(node)
        assert len(endpoint.posts) == len(PAUSES) + 1
        assert {(post.id, post.body) for post in endpoint.posts} == {(endpoint.posts[0].id, endpoint.posts[0].body)}
        assert all(post.is_signed_with(webhook.secret) for post in endpoint.posts)
        assert len({post.headers["webhook-timestamp"] for post in endpoint.posts}) == len(PAUSES) + 1


async def test_an_endpoint_that_says_it_is_gone_is_left_alone(stage: Stage) -> None:
    """410 disables the webhook; what ends later is not even written down for it."""
    node = await stage.open()
    async with receiver(410) as endpoint:
        webhook = await hooked(node, endpoint)
        await ran(stage, node)
        await deliver(node)
        assert not (await stage.database.read(get_webhooks, [webhook.id]))[webhook.id].enabled
        first = await told(stage, webhook)
        assert (first.status, first.due_at) == (410, None)
        await ran(stage, node)
        stage.clock.advance(86_400)
        await deliver(node)
        assert (len(endpoint.posts), await told(stage, webhook)) == (1, first)


@pytest.mark.parametrize("silent", [True, False], ids=["silent", "broken"])
async def test_an_endpoint_that_does_not_answer_is_given_a_bounded_time(stage: Stage, silent: bool) -> None:
    """The attempt ends by itself, and is told."""
    node = await stage.open()
    never = asyncio.Event()
    async with receiver(never if silent else b"SSH-2.0-nonsense\r\n") as endpoint:
        webhook = await hooked(node, endpoint)
        await ran(stage, node)
        impatient = courier(node, seconds=0.2 if silent else 60)
        await impatient.round()
        await impatient.rest()
        never.set()
        delivery = await told(stage, webhook)
        said = "It took longer than 0.2 s." if silent else "It could not be reached (RemoteProtocolError)."
        assert (delivery.status, delivery.error, delivery.attempts) == (None, said, 1)
        assert delivery.due_at is not None


async def test_a_delivery_is_posted_by_one_node_at_a_time(stage: Stage) -> None:
    """While one waits for an answer, no other posts the same; slow endpoints keep none of the others waiting."""
    nodes = [await stage.open() for _ in range(2)]
    held = asyncio.Event()
    async with receiver(*[held] * 50) as slow, receiver() as quick:
        await hooked(nodes[0], slow)
        for _ in range(6):
            await ran(stage, nodes[0])
        await hooked(nodes[0], quick)
        await ran(stage, nodes[0])
        couriers = [courier(node) for node in nodes]
        for _ in range(3):
            await asyncio.gather(*(one.round() for one in couriers))
        await quick.until(lambda one: one.posts)
        await slow.until(lambda one: len(one.posts) == 7)
        assert len({post.id for post in slow.posts}) == 7
        stage.clock.now += LEASE_MS - 1
        await asyncio.gather(*(one.round() for one in couriers))
        assert len(slow.posts) == 7
        held.set()
        await asyncio.gather(*(one.rest() for one in couriers))
        assert (len(quick.posts), quick.most) == (1, 1)


async def test_a_node_that_dies_between_posting_and_recording_leaves_it_to_another(stage: Stage) -> None:
    """The endpoint may then hear of it twice, under one id by which it can tell."""
    weather = Weather(stage.database)
    dying, other = await stage.open(database=weather), await stage.open()
    held = asyncio.Event()
    async with receiver(held) as endpoint:
        webhook = await hooked(other, endpoint)
        await ran(stage, other)
        first = courier(dying)
        await first.round()
        living = asyncio.create_task(first.keep_delivering(3_600))
        await endpoint.until(lambda one: one.posts)
        weather.away = True
        stage.pauses.released.clear()
        held.set()
        await weather.until_tried()
        living.cancel()
        await asyncio.wait((living,))
        stage.pauses.released.set()
        assert (await told(stage, webhook)).delivered_at is None
        await deliver(other)
        assert len(endpoint.posts) == 1, "its claimer may still be at it"
        stage.clock.now += LEASE_MS
        await deliver(other)
        assert [post.id for post in endpoint.posts] == [endpoint.posts[0].id] * 2
        delivery = await told(stage, webhook)
        assert (delivery.attempts, delivery.status, delivery.delivered_at) == (2, 204, stage.clock())


async def test_a_record_whose_acknowledgement_was_lost_is_made_once(stage: Stage) -> None:
    """And nothing is posted again."""
    weather = Weather(stage.database)
    node = await stage.open(database=weather)
    async with receiver() as endpoint:
        webhook = await hooked(node, endpoint)
        await ran(stage, node)
        weather.lose = {"record_delivery"}
        await deliver(node)
        stage.clock.now += 10 * LEASE_MS
        await deliver(node)
        assert (len(endpoint.posts), (await told(stage, webhook)).status) == (1, 204)


async def test_a_webhook_that_was_deleted_hears_nothing_more(stage: Stage) -> None:
    """Nor does what waits for it hold anything up."""
    node = await stage.open()
    async with receiver() as endpoint, receiver() as other:
        webhook = await hooked(node, endpoint)
        await hooked(node, other)
        await ran(stage, node)
        await Webhooks(node.shop, PRIVATE).delete(ALICE, webhook_id=webhook.id)
        await deliver(node)
        await ran(stage, node)
        await deliver(node)
        assert (len(endpoint.posts), len(other.posts)) == (0, 2)


async def test_a_long_answer_is_cut_and_odd_text_is_whole_json(stage: Stage) -> None:
    """The body stays small; what JSON can't hold was replaced before."""
    node = await stage.open()
    async with receiver() as endpoint:
        await hooked(node, endpoint)
        await ran(stage, node, "é\0" * 20_000)
        await deliver(node)
        (post,) = endpoint.posts
        body = json.loads(post.body)
        assert (len(body["text"]), body["textLength"]) == (16_384, 40_000)
        assert "\0" not in body["text"]
