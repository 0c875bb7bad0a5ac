"""Schedules as their owners meet them: created over the API, fired by the server, through restarts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.clock import ManualClock
from tests.support import documents
from tests.support.client import Client
from tests.support.messages_script import Script
from tests.support.world import World, helper, world

GIVEN = {"agent": "helper", "input": "Look", "cron": "0 9 * * MON-FRI", "timeZone": "Europe/Berlin"}
FAST = {"cancel_poll_seconds": 0.05}
MINUTE = 60.0


async def created(client: Client, **given: Any) -> dict[str, Any]:
    """A new schedule."""
    schedule: dict[str, Any] = (await client.done(documents.CREATE_SCHEDULE, **{**GIVEN, **given}))["schedule"]
    return schedule


async def refused(client: Client, document: str = documents.CREATE_SCHEDULE, **given: Any) -> tuple[str, list[str]]:
    """Code and field of the one reason why it is refused."""
    payload = await client.do(document, **given)
    assert not payload.get("schedule")
    (error,) = payload["errors"]
    assert error["message"].endswith(".")
    return error["code"], error["field"]


async def listed(client: Client) -> list[dict[str, Any]]:
    """The client's schedules."""
    found: list[dict[str, Any]] = (await client.ask(documents.SCHEDULES))["schedules"]["nodes"]
    return found


async def fired(client: Client, *, after: str | None = None) -> dict[str, Any]:
    """The client's one schedule, once it has a last run, another one than `after`."""
    while True:
        (schedule,) = await listed(client)
        run = schedule["lastRun"]
        if run is not None and run["id"] != after:
            return schedule


def answering(w: World) -> None:
    """Let the model answer everything."""
    w.model.answer(lambda request: Script().text("Looked."))


async def test_a_schedule_is_what_was_created_until_it_is_deleted(tmp_path: Path) -> None:
    """In the list, as a node, and after a restart; 2027-01-15 is a Friday."""
    async with world(tmp_path, clock=ManualClock()) as w:
        alice = w.client("alice")
        schedule = await created(alice)
        assert {name: schedule[name] for name in GIVEN} == GIVEN
        assert (schedule["userId"], schedule["enabled"], schedule["lastRun"], schedule["lastError"]) == (
            "alice", True, None, None,
        )  # fmt: skip
        assert schedule["nextAt"] == "2027-01-18T08:00:00.000Z"
        await w.restart()
        assert await listed(alice) == [schedule]
        node = documents.document("query ($id: ID!) { node(id: $id) { ...Planned } }")
        assert (await alice.ask(node, id=schedule["id"]))["node"] == schedule
        gone = await alice.done(documents.DELETE_SCHEDULE, id=schedule["id"])
        assert gone["deletedId"] == schedule["id"]
        assert await listed(alice) == []
        assert await refused(alice, documents.DELETE_SCHEDULE, id=schedule["id"]) == ("NOT_FOUND", ["input", "id"])


async def test_a_schedule_fires_by_itself_and_shows_its_last_run_and_the_next_tick(tmp_path: Path) -> None:
    """Also after a restart in which a tick was missed; the run is its owner's, and tells which schedule began it."""
    clock = ManualClock()
    async with world(tmp_path, settings=FAST, clock=clock) as w:
        answering(w)
        alice = w.client("alice")
        schedule = await created(alice, cron="* * * * *", timeZone="UTC")
        clock.advance(MINUTE)
        after = await fired(alice)
        assert after["nextAt"] > schedule["nextAt"]
        run = await alice.settled(after["lastRun"]["id"])
        assert (run["status"], run["userId"], run["title"]) == ("COMPLETED", "alice", "Look")
        assert run["metadata"] == {"schedule": schedule["id"]}
        await w.stop()
        clock.advance(60 * MINUTE)
        await w.start()
        again = await fired(alice, after=run["id"])
        await alice.settled(again["lastRun"]["id"])
        assert len(await w.run_ids()) == 2


@pytest.mark.parametrize(
    ("given", "code", "field"),
    [
        ({"cron": "61 * * * *"}, "INVALID_INPUT", "cron"),
        ({"cron": "0 0 31 2 *"}, "INVALID_INPUT", "cron"),
        ({"cron": "x\0" * 400}, "INVALID_INPUT", "cron"),
        ({"timeZone": "Mars/Base"}, "INVALID_INPUT", "timeZone"),
        ({"timeZone": "\ud800"}, "INVALID_INPUT", "timeZone"),
        ({"agent": "nobody"}, "AGENT_NOT_FOUND", "agent"),
        ({"agent": "boss"}, "FORBIDDEN", "agent"),
        ({"input": "  "}, "AGENT_INPUT_REQUIRED", "input"),
        ({"input": "x" * 300_000}, "INPUT_TOO_LARGE", "input"),
        ({"runId": "run_x"}, "RUN_NOT_FOUND", "runId"),
        ({"userId": "svc-nightly"}, "FORBIDDEN", "userId"),
        ({"key": ""}, "INVALID_INPUT", "key"),
    ],
)
async def test_what_can_t_be_a_schedule_is_refused_with_the_field_at_fault(
    tmp_path: Path, given: dict[str, Any], code: str, field: str
) -> None:
    """And nothing is stored."""
    async with world(tmp_path, helper=helper(), boss=helper(auth="boss")) as w:
        alice = w.client("alice")
        assert await refused(alice, **{**GIVEN, **given}) == (code, ["input", field])
        assert await listed(alice) == []


async def test_a_schedule_of_a_run_is_of_that_run_s_agent(tmp_path: Path) -> None:
    """AGENT_MISMATCH where another one is named."""
    async with world(tmp_path, helper=helper(), other=helper()) as w:
        answering(w)
        alice = w.client("alice")
        run = await alice.settled((await alice.start())["id"])
        wrong = await refused(alice, **{**GIVEN, "agent": "other"}, runId=run["id"])
        assert wrong == ("AGENT_MISMATCH", ["input", "agent"])
        assert (await created(alice, runId=run["id"]))["agent"] == "helper"


async def test_the_same_key_creates_one_schedule(tmp_path: Path) -> None:
    """With another input it is KEY_REUSED."""
    async with world(tmp_path) as w:
        alice = w.client("alice")
        first = await created(alice, key="k")
        assert (await created(alice, key="k"))["id"] == first["id"]
        assert await refused(alice, **GIVEN | {"input": "Other"}, key="k") == ("KEY_REUSED", ["input", "key"])
        assert len(await listed(alice)) == 1


async def test_an_administrator_schedules_for_a_service_user(tmp_path: Path) -> None:
    """The runs are the service user's; both see the schedule and its last run, and either deletes it."""
    clock = ManualClock()
    async with world(tmp_path, settings={**FAST, "admin_role": "chief"}, clock=clock) as w:
        answering(w)
        root, service = w.client("root", "chief"), w.client("svc-nightly")
        assert await refused(w.client("eve", "admin"), **GIVEN, userId="svc-nightly") == (
            "FORBIDDEN", ["input", "userId"],
        )  # fmt: skip
        schedule = await created(root, cron="@hourly", timeZone="UTC", userId="svc-nightly")
        assert (schedule["userId"], schedule["cron"]) == ("svc-nightly", "0 * * * *")
        clock.advance(60 * MINUTE)
        after = await fired(service)
        run = await service.settled(after["lastRun"]["id"])
        assert run["userId"] == "svc-nightly"
        (seen,) = await listed(root)
        assert (seen["id"], seen["lastRun"]) == (schedule["id"], {"id": run["id"]})
        assert await listed(w.client("bob")) == []
        await root.done(documents.DELETE_SCHEDULE, id=schedule["id"])
        assert await listed(service) == []
