"""Deltas a second from the provider's bytes to one subscriber's socket, against a bare loop over the SDK.

    python -m bench.deltas [--deltas 4000] [--rounds 5]

The server is on one core, the Messages API's stand-in and the client on the other. Rounds of both sides alternate;
medians are shown, and their ratio is what counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable

import websockets

from bench.processes import Started, cores, started

START = 'mutation { startRun(input: {agent: "bench", input: "go"}) { run { streamId } errors { message } } }'
WATCH = """
subscription ($id: ID!) {
  stream(streamId: $id) { __typename seq step ... on TextDelta { block offset text } ... on RunResult { status } }
}
"""


async def watch_full(server: Started) -> int:
    """Start a run and watch it over graphql-transport-ws; how many deltas came (merged ones count as one)."""
    url = server.url.replace("http", "ws") + "/graphql"
    async with websockets.connect(url, subprotocols=[websockets.Subprotocol("graphql-transport-ws")]) as socket:
        await socket.send('{"type":"connection_init"}')
        await socket.recv()
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": START}}))
        stream_id = json.loads(await socket.recv())["payload"]["data"]["startRun"]["run"]["streamId"]
        payload = {"query": WATCH, "variables": {"id": stream_id}}
        await socket.send(json.dumps({"id": "2", "type": "subscribe", "payload": payload}))
        characters = 0
        async for frame in socket:
            message = json.loads(frame)
            event = message.get("payload", {}).get("data", {}).get("stream") if message["type"] == "next" else None
            if event and event["__typename"] == "TextDelta":
                characters += len(event["text"])
            elif event and event["__typename"] == "RunResult":
                return characters
    raise RuntimeError("the stream ended without its result")


async def watch_bare(server: Started) -> int:
    """The same of the bare loop."""
    characters = 0
    async with websockets.connect(server.url.replace("http", "ws") + "/deltas") as socket:
        async for frame in socket:
            if frame == "end":
                return characters
            characters += len(json.loads(frame)["text"])
    raise RuntimeError("the socket closed early")


async def measured(watch: Callable[[Started], Awaitable[int]], server: Started) -> tuple[float, float, int]:
    """Seconds by the clock and of the server's CPU, and the characters that came."""
    cpu, begun = server.cpu(), time.perf_counter()
    characters = await watch(server)
    return time.perf_counter() - begun, server.cpu() - cpu, characters


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deltas", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    server_core, other_core = cores()
    model = ("tests.support.messages_process", "--steps", "1", "--deltas", str(options.deltas))
    with (
        started(*model, core=other_core) as api,
        started("bench.full", api.url, core=server_core) as full,
        started("bench.bare", api.url, core=server_core) as bare,
    ):
        sides = {"steersman": (watch_full, full), "bare loop": (watch_bare, bare)}
        figures: dict[str, list[tuple[float, float, int]]] = {name: [] for name in sides}
        for round_number in range(options.rounds + 1):
            for name, (watch, server) in sides.items():
                figure = asyncio.run(measured(watch, server))
                if round_number:  # the first warms up
                    figures[name].append(figure)
    print(f"{options.deltas} deltas a run, one subscriber, medians of {options.rounds} rounds")
    medians = {}
    for name, rounds in figures.items():
        wall, cpu = (statistics.median(round_[i] for round_ in rounds) for i in (0, 1))
        medians[name] = wall, cpu
        rate = options.deltas / wall
        print(f"{name:10} {rate:9,.0f} deltas/s   {cpu / options.deltas * 1e6:7.1f} us of CPU a delta")
    (full_wall, full_cpu), (bare_wall, bare_cpu) = medians["steersman"], medians["bare loop"]
    print(f"ratio      time {full_wall / bare_wall:.2f}   CPU {full_cpu / bare_cpu:.2f}   (steersman / bare loop)")


if __name__ == "__main__":
    main()
