"""open: an accepted run is there before its caller gets an answer."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from models.enums import Role, RunStatus
from models.key import KeyUsedOtherwise, purge_keys
from models.run import RunQuery, count_runs
from models.verbs.opening import NewRun, open_run
from tests.support.desk import LEASE_MS, Desk, a_key


async def test_an_accepted_run_is_there_with_its_first_message_and_its_stream(desk: Desk) -> None:
    """Status, message and stream are one transaction, committed before anybody hears of it."""
    hands = await desk.open("Hi", metadata={"a": 1}, context={"t": 2}, roles=["admin"], title="Greeting")
    run = await desk.run(hands.id)
    assert (run.status, run.finish, run.seq, run.steps, run.fence, run.generation) == (
        RunStatus.RUNNING,
        None,
        1,
        0,
        1,
        1,
    )
    assert (run.title, run.metadata, run.context, run.roles) == ("Greeting", {"a": 1}, {"t": 2}, ["admin"])
    (message,) = await desk.messages(hands.id)
    assert (message.seq, message.role, message.content, message.user_id) == (1, Role.USER, "Hi", "alice")
    assert await desk.events(hands.id) == []


async def test_the_opener_holds_the_lease_in_one_process(desk: Desk) -> None:
    """No other worker takes the run while the lease lives."""
    hands = await desk.open()
    run = await desk.run(hands.id)
    assert run.lease_until == desk.leases.now + LEASE_MS
    assert run.started_at == desk.clock.now
    assert await desk.take() == []


async def test_a_run_opened_without_a_worker_is_free_to_claim(desk: Desk) -> None:
    """It has not started until somebody takes it."""
    hands = await desk.open(worker=None)
    assert hands.run.started_at is None
    (taken,) = await desk.take()
    assert (taken.run.id, taken.why, taken.numbers.next) == (hands.id, "claim", 1)
    assert taken.run.started_at == desk.clock.now


async def test_the_same_key_gives_the_same_run(desk: Desk) -> None:
    """A second call under the key opens nothing, and says so by giving no numbers."""
    first = await desk.open(key=a_key())
    again = await desk.open(key=a_key())
    assert again.id == first.id
    assert await desk.database.read(count_runs, RunQuery()) == 1
    assert again.numbers.ceiling == 0


async def test_ten_calls_at_once_under_one_key_open_one_run(desk: Desk) -> None:
    """Whoever is second waits for the first and gets its answer."""
    hands = await asyncio.gather(*(desk.open(key=a_key()) for _ in range(10)))
    assert len({one.id for one in hands}) == 1
    assert sum(one.numbers.ceiling > 0 for one in hands) == 1


async def test_the_same_key_with_another_input_is_refused(desk: Desk) -> None:
    """Nothing is written for it."""
    await desk.open(key=a_key())
    before = await desk.everything()
    with pytest.raises(KeyUsedOtherwise):
        await desk.open(key=a_key(digest="other"))
    assert await desk.everything() == before


async def test_keys_belong_to_the_user_and_the_operation(desk: Desk) -> None:
    """Another user's key of the same name, or another operation's, is another key."""
    keys = [a_key(), a_key(user="bob"), a_key(operation="steerRun"), a_key("key-2")]
    opened = {(await desk.open(key=key)).id for key in keys}
    assert len(opened) == 4


async def test_keys_are_forgotten_in_time(desk: Desk) -> None:
    """Those made before a moment; later ones stay."""
    first = await desk.open(key=a_key())
    desk.clock.advance(10)
    second = await desk.open(key=a_key("key-2"))
    assert await desk.database.write(purge_keys, desk.clock.now) == 1
    assert (await desk.open(key=a_key())).id != first.id
    assert (await desk.open(key=a_key("key-2"))).id == second.id


async def test_a_nul_in_an_input_is_stored_as_its_replacement(desk: Desk) -> None:
    """The insert does not fail, on either database."""
    new = NewRun("alice", "helper", "W\0s\0", metadata={"k\0": "v\0"})
    verb = partial(open_run, new=new, key=None, holder=desk.holder(), ids=desk.ids, at=desk.clock())
    hands = (await desk.database.write(verb))[0].run
    assert await desk.contents(hands.id) == ["W\ufffds\ufffd"]
    assert (await desk.run(hands.id)).metadata == {"k\ufffd": "v\ufffd"}
