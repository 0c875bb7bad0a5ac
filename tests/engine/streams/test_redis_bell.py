"""The bell between processes: what is committed on one is heard on the others, or known not to be."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from redis.asyncio import Redis

from engine.streams import redis_bell
from engine.streams.redis_bell import CHANNEL
from engine.streams.shared import stopped
from tests.support.services import OwnRedis
from tests.support.shared_nodes import PATIENCE, Node, command, opened, opened_many, until
from tests.support.tcp_proxy import proxied

pytestmark = pytest.mark.service


class Ears:
    """What a node's worker hears."""

    def __init__(self, node: Node) -> None:
        self.heard: list[str] = []
        self.works = 0
        self.trusts: list[bool] = []
        node.bell.on_heard = self.heard.append
        node.bell.on_work = self._work
        node.bell.on_trust = lambda: self.trusts.append(node.bell.trusted)

    def _work(self) -> None:
        self.works += 1


@asynccontextmanager
async def overheard(redis: OwnRedis) -> AsyncIterator[list[Any]]:
    """The messages on the bell's channel."""
    messages: list[Any] = []
    subscribed = asyncio.Event()

    async def listen() -> None:
        async with Redis.from_url(redis.url, protocol=2) as client, client.pubsub() as channel:
            await channel.subscribe(CHANNEL)
            async for message in channel.listen():
                subscribed.set()
                if message["type"] == "message":
                    messages.append(json.loads(message["data"]))

    task = asyncio.create_task(listen())
    async with asyncio.timeout(PATIENCE):
        await subscribed.wait()
    try:
        yield messages
    finally:
        await stopped([task])


async def test_rings_reach_whoever_listens_on_other_nodes(redis: OwnRedis) -> None:
    """To one run, to a user's runs, or to all; and their workers."""
    async with opened_many(redis.url, 3) as nodes:
        ears = [Ears(node) for node in nodes]
        for node in nodes[1:]:
            with (
                node.bell.listen(run_id="run_1") as one,
                node.bell.listen(user_id="alice") as hers,
                node.bell.listen() as every,
            ):
                nodes[0].bell.ring("run_1", "alice")
                nodes[0].bell.ring("run_2", "alice")
                nodes[0].bell.ring("run_3", "bob")
                heard: dict[str, set[str]] = {"one": set(), "hers": set(), "every": set()}
                async with asyncio.timeout(PATIENCE):
                    while len(heard["every"]) < 3:
                        heard["every"] |= await every.wait()
                heard["one"] |= one.take()
                heard["hers"] |= hers.take()
                assert heard == {"one": {"run_1"}, "hers": {"run_1", "run_2"}, "every": {"run_1", "run_2", "run_3"}}
        assert set(ears[1].heard) == {"run_1", "run_2", "run_3"}
        assert ears[1].works == ears[2].works == 0


async def test_work_that_is_free_wakes_the_workers_of_every_node(redis: OwnRedis) -> None:
    """The one where it became free too."""
    async with opened_many(redis.url, 3) as nodes:
        ears = [Ears(node) for node in nodes]
        nodes[0].bell.ring("run_1", "alice", work=True)
        assert ears[0].works == 1
        await until(lambda: ears[1].works == ears[2].works == 1)


async def test_a_ring_of_ones_own_is_not_heard_twice(redis: OwnRedis) -> None:
    """Redis sends it back too: that is left aside."""
    async with opened_many(redis.url, 2) as nodes:
        ears = [Ears(node) for node in nodes]
        with nodes[0].bell.listen() as listener:
            nodes[0].bell.ring("run_1", "alice", work=True)
            assert listener.take() == {"run_1"}
            await until(lambda: ears[1].heard == ["run_1"])
            nodes[1].bell.ring("run_2", "alice")
            await until(lambda: ears[0].heard == ["run_2"])  # all that came before it has come
            assert listener.take() == {"run_2"}
        assert ears[0].works == 1


async def test_rings_travel_together_and_carry_ids_alone(redis: OwnRedis) -> None:
    """A thousand changes of fifty runs at once are one message, each run in it once."""
    async with opened_many(redis.url, 2) as nodes, overheard(redis) as messages:
        ears = Ears(nodes[1])
        for number in range(1_000):
            nodes[0].bell.ring(f"run_{number % 50}", "alice", work=number == 7)
        await until(lambda: len(ears.heard) == 50)
        await until(lambda: len(messages) == 1)
        ((node, rings),) = messages
        assert node == nodes[0].name
        assert sorted(rings) == sorted([f"run_{number}", "alice", number == 7] for number in range(50))


async def test_more_rings_than_one_message_should_carry_are_parted(redis: OwnRedis) -> None:
    """None is lost."""
    async with opened_many(redis.url, 2) as nodes, overheard(redis) as messages:
        ears = Ears(nodes[1])
        for number in range(redis_bell.BATCH * 2 + 1):
            nodes[0].bell.ring(f"run_{number}", "alice")
        await until(lambda: len(ears.heard) == redis_bell.BATCH * 2 + 1)
        await until(lambda: len(messages) == 3)


async def test_the_bell_is_trusted_only_while_it_is_heard(redis: OwnRedis) -> None:
    """Not before it is subscribed to, nor while Redis is away; whoever makes up for that is told of each change."""
    async with opened(redis.url) as node:
        ears = Ears(node)
        assert not node.bell.trusted
        await until(lambda: node.bell.trusted)
        assert ears.trusts == [True]
        await redis.kill()
        await until(lambda: not node.bell.trusted)
        await redis.start()
        await until(lambda: node.bell.trusted)
        assert ears.trusts == [True, False, True]


async def test_rings_that_could_not_be_told_are_told_afterwards(redis: OwnRedis) -> None:
    """By a process that was cut off, to those that were not: each once, and no work among them is forgotten."""
    async with proxied(redis.port) as proxy, opened(proxy.url) as cut, opened(redis.url) as other:
        await until(lambda: cut.bell.trusted and other.bell.trusted)
        ears = Ears(other)
        port, proxy.target = proxy.target, 1
        proxy.cut()
        cut.bell.ring("run_1", "alice", work=True)
        await until(lambda: cut.health.problem is not None)
        cut.bell.ring("run_2", "alice")
        cut.bell.ring("run_1", "alice")
        await asyncio.sleep(0.6)  # several tries
        assert ears.heard == []
        proxy.target = port
        await until(lambda: set(ears.heard) == {"run_1", "run_2"})
        assert ears.works == 1
        await until(lambda: cut.health.problem is None and cut.bell.trusted)


async def test_what_rang_just_before_a_node_closed_is_still_heard(redis: OwnRedis) -> None:
    """A run that is handed back at a shutdown is taken by another at once."""
    async with opened(redis.url) as other:
        await until(lambda: other.bell.trusted)
        ears = Ears(other)
        async with opened(redis.url) as node:
            await until(lambda: node.bell.trusted)
            node.bell.ring("run_1", "alice", work=True)
        await until(lambda: ears.works == 1)
        assert ears.heard == ["run_1"]


async def test_a_half_open_connection_is_noticed_by_the_bell(redis: OwnRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Silence is asked whether it is one: the bell is not trusted for longer than two silences."""
    monkeypatch.setattr(redis_bell, "SILENCE_SECONDS", 0.3)
    async with proxied(redis.port) as proxy, opened(proxy.url) as node, opened(redis.url) as other:
        await until(lambda: node.bell.trusted and other.bell.trusted)
        ears = Ears(node)
        await asyncio.sleep(1)
        assert ears.trusts == []  # a silence that is none changes nothing
        proxy.fall_silent()
        await until(lambda: ears.trusts == [False, True])
        other.bell.ring("run_1", "alice")
        await until(lambda: ears.heard == ["run_1"])


async def test_a_bell_whose_hearing_fails_in_any_way_is_not_trusted(
    redis: OwnRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A defect too: until it hears again, silence means nothing."""
    async with opened(redis.url) as node:
        await until(lambda: node.bell.trusted)
        ears = Ears(node)
        monkeypatch.setattr(node.ringing, "_take", None)
        await command(redis, "PUBLISH", CHANNEL, "[]")
        await until(lambda: ears.trusts[:1] == [False])
        monkeypatch.undo()
        await until(lambda: node.bell.trusted)


@pytest.mark.parametrize("ring", ["", "{", "7", "null", "[]", '["other"]', '["other",[7]]', '["other",[["run_1"]]]'])
async def test_a_ring_that_cannot_be_read_is_left_aside(
    redis: OwnRedis, caplog: pytest.LogCaptureFixture, ring: str
) -> None:
    """It comes from another version; those after it are heard."""
    caplog.set_level(logging.WARNING, "steersman.redis")
    async with opened_many(redis.url, 2) as nodes:
        ears = Ears(nodes[0])
        await command(redis, "PUBLISH", CHANNEL, ring)
        nodes[1].bell.ring("run_2", "alice")
        await until(lambda: ears.heard == ["run_2"])
        assert nodes[0].bell.trusted
    assert [record.getMessage() for record in caplog.records] == ["a ring can't be read"] * 2
