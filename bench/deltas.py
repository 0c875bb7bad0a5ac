"""Deltas a second from the provider's bytes to one subscriber's socket, against a bare loop over the SDK.

    python -m bench.deltas [--deltas 4000] [--rounds 5]

The server is on one core, the Messages API's stand-in and the client on the other. Rounds of both sides alternate;
medians are shown, and their ratio is what counts. At full speed Steersman gives a subscriber who is behind adjacent
text merged, so fewer frames carry the same text: their number is shown too. With `--pace 2` (milliseconds a delta)
nobody is behind, and each delta is a frame of its own.
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

Watch = Callable[[Started, int], Awaitable[int]]
START = 'mutation { startRun(input: {agent: "bench", input: "go"}) { run { streamId } errors { message } } }'
WATCH = """
subscription ($id: ID!) {
  stream(streamId: $id) { __typename seq step ... on TextDelta { block offset text } ... on RunResult { status } }
}
"""


async def watch_full(server: Started, expected: int) -> int:
    """Start a run and watch it over graphql-transport-ws; how many frames of text came."""
    url = server.url.replace("http", "ws") + "/graphql"
    async with websockets.connect(url, subprotocols=[websockets.Subprotocol("graphql-transport-ws")]) as socket:
        await socket.send('{"type":"connection_init"}')
        await socket.recv()
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": {"query": START}}))
        stream_id = json.loads(await socket.recv())["payload"]["data"]["startRun"]["run"]["streamId"]
        payload = {"query": WATCH, "variables": {"id": stream_id}}
        await socket.send(json.dumps({"id": "2", "type": "subscribe", "payload": payload}))
        texts: list[str] = []
        async for frame in socket:
            message = json.loads(frame)
            event = message.get("payload", {}).get("data", {}).get("stream") if message["type"] == "next" else None
            if event and event["__typename"] == "TextDelta":
                texts.append(event["text"])
            elif event and event["__typename"] == "RunResult":
                return checked(texts, expected)
    raise RuntimeError("the stream ended without its result")


async def watch_bare(server: Started, expected: int) -> int:
    """The same of the bare loop."""
    texts: list[str] = []
    async with websockets.connect(server.url.replace("http", "ws") + "/deltas") as socket:
        async for frame in socket:
            if frame == "end":
                return checked(texts, expected)
            texts.append(json.loads(frame)["text"])
    raise RuntimeError("the socket closed early")


def checked(texts: list[str], expected: int) -> int:
    """How many frames there were. Raises RuntimeError where they do not hold as many words as deltas were sent."""
    if (words := len("".join(texts).split())) < expected:
        raise RuntimeError(f"{expected} deltas were sent, and {words} words came")
    return len(texts)


async def measured(watch: Watch, server: Started, deltas: int) -> tuple[float, float, float]:
    """Seconds by the clock and of the server's CPU, and the frames that came."""
    cpu, begun = server.cpu(), time.perf_counter()
    frames = await watch(server, deltas)
    return time.perf_counter() - begun, server.cpu() - cpu, frames


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deltas", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pace", type=float, default=0.0, help="milliseconds before each delta")
    options = parser.parse_args()
    server_core, other_core = cores()
    model = (
        "tests.support.messages_process",
        "--steps",
        "1",
        "--deltas",
        str(options.deltas),
        "--pace",
        str(options.pace),
    )
    with (
        started(*model, core=other_core) as api,
        started("bench.full", api.url, core=server_core) as full,
        started("bench.bare", api.url, core=server_core) as bare,
    ):
        sides = {"steersman": (watch_full, full), "bare loop": (watch_bare, bare)}
        figures: dict[str, list[tuple[float, float, float]]] = {name: [] for name in sides}
        for round_number in range(options.rounds + 1):
            for name, (watch, server) in sides.items():
                figure = asyncio.run(measured(watch, server, options.deltas))
                if round_number:  # the first warms up
                    figures[name].append(figure)
    print(f"{options.deltas} deltas a run, one subscriber, medians of {options.rounds} rounds")
    medians = {}
    for name, rounds in figures.items():
        wall, cpu, frames = (statistics.median(round_[i] for round_ in rounds) for i in range(3))
        medians[name] = wall, cpu
        rate = options.deltas / wall
        cost = cpu / options.deltas * 1e6
        print(f"{name:10} {rate:9,.0f} deltas/s   {cost:7.1f} us of CPU a delta   {frames:6,.0f} frames")
    (full_wall, full_cpu), (bare_wall, bare_cpu) = medians["steersman"], medians["bare loop"]
    print(f"ratio      time {full_wall / bare_wall:.2f}   CPU {full_cpu / bare_cpu:.2f}   (steersman / bare loop)")


if __name__ == "__main__":
    main()
