"""How long a cancel and an input take from one machine to another, where a third one watches."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bench.scaling import clients
from bench.scaling.clients import CANCEL
from bench.scaling.extent import Extent
from bench.scaling.figures import Sheet
from bench.scaling.house import FAR, NEAR, House
from bench.scaling.plot import Plot
from bench.scaling.streams import ENDLESS
from tests.support.clients import JsonClient, TransportWsClient, connected

STEER = """mutation ($input: SteerRunInput!) {
  steerRun(input: $input) { queued errors { message } }
}"""
WATCH = "subscription ($id: ID!) { stream(streamId: $id) { __typename at ... on RunResult { status } } }"


@dataclass(slots=True)
class Delays:
    """Milliseconds from sending a mutation until the run had followed it, and until a watcher saw that."""

    done: list[float] = field(default_factory=list)
    seen: list[float] = field(default_factory=list)


async def measure_signals(house: House, sheet: Sheet, extent: Extent, *, name: str, where: str) -> None:
    """Each run is interrupted by an input, and then cancelled."""
    begun = await clients.start(house, Plot(deltas=ENDLESS, size=20, pace=100), extent.signals)
    await house.until("SELECT count(*) FROM agent_runs WHERE status = 'RUNNING' AND step = 1", len(begun))
    await asyncio.sleep(extent.settling)
    steered, cancelled = Delays(), Delays()
    async with (
        JsonClient(f"{house.urls[NEAR]}/graphql", house.token) as client,
        connected(f"ws{house.urls[FAR].removeprefix('http')}/graphql", house.token) as socket,
    ):
        spread = extent.spread / len(begun)
        await asyncio.gather(
            *(_signal(client, socket, run, place * spread, steered, cancelled) for place, run in enumerate(begun))
        )
    how = f"{len(begun)} runs, over {extent.spread:g} s; server, worker and watched server are three processes"
    for what, called, delays in (("steer", "an interrupting input", steered), ("cancel", "a cancel", cancelled)):
        for share, part in ((0.5, "p50"), (0.99, "p99")):
            done, seen = (sorted(values)[int(share * len(values))] for values in (delays.done, delays.seen))
            sheet.add(f"{what}_{part}_{name}", done, "ms", f"{called} has been followed, {part}, {where}", how)
            sheet.add(f"{what}_seen_{part}_{name}", seen, "ms", f"{called} is seen to have been, {part}, {where}", how)


async def _signal(
    client: JsonClient, socket: TransportWsClient, run: clients.Begun, after: float, steered: Delays, cancelled: Delays
) -> None:
    events = await socket.subscribe(WATCH, {"id": run.stream_id})
    async with aclosing(events.payloads()) as payloads:  # type: ignore[type-var]  # an async generator is closable
        await asyncio.sleep(after)
        given = {"runId": run.id, "input": "Go on differently.", "mode": "INTERRUPT"}
        await _followed(client, STEER, given, payloads, "InputApplied", steered)
        await asyncio.sleep(0.3)
        await _followed(client, CANCEL, {"runId": run.id}, payloads, "RunResult", cancelled)


async def _followed(
    client: JsonClient, mutation: str, given: dict[str, Any], payloads: Any, kind: str, delays: Delays
) -> None:
    """Send a mutation, and wait for the event that it leads to."""
    sent, clock = time.time(), time.monotonic()
    asking = asyncio.create_task(client.execute(mutation, {"input": given}))
    async for payload in payloads:
        event = payload["data"]["stream"]
        if event["__typename"] == kind:
            delays.seen.append((time.monotonic() - clock) * 1000)
            delays.done.append((datetime.fromisoformat(event["at"]).timestamp() - sent) * 1000)
            break
    (answer,) = (await asking).values()
    if answer["errors"]:
        raise RuntimeError(answer["errors"])
