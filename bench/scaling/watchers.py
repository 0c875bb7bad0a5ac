"""Watchers as a process of their own: `python -m bench.scaling.watchers`.

The first line of its input says where, and what each watches: one socket for each. It says `ready` once all of them
watch; on every further line it says how many events have come until then, and it leaves when its input ends.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import Any

import uvloop
import websockets

GATE = 50
"""How many sockets are opened at a time."""


@dataclass(slots=True)
class Count:
    """Events that have come to all watchers."""

    events: int = 0


async def watch(url: str, token: str, operation: dict[str, Any], count: Count, ready: asyncio.Event) -> None:
    """Open a socket, begin the operation, and count what comes."""
    protocol = websockets.Subprotocol("graphql-transport-ws")
    async with websockets.connect(url, subprotocols=[protocol], proxy=None, compression=None) as socket:
        authorization = {"authorization": f"Bearer {token}"}
        await socket.send(json.dumps({"type": "connection_init", "payload": authorization}))
        await socket.recv()
        await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": operation}))
        ready.set()
        async for frame in socket:
            if b'"next"' in frame[:64] if isinstance(frame, bytes) else '"next"' in frame[:64]:
                count.events += 1
            elif '"ping"' in str(frame[:64]):
                await socket.send('{"type":"pong"}')


async def main() -> None:
    """Watch until the input ends."""
    lines = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    wanted = json.loads(await lines.readline())
    count, tasks = Count(), []
    for start in range(0, len(wanted["operations"]), GATE):
        begun = []
        for operation in wanted["operations"][start : start + GATE]:
            ready = asyncio.Event()
            begun.append(ready.wait())
            tasks.append(asyncio.create_task(watch(wanted["url"], wanted["token"], operation, count, ready)))
        await asyncio.gather(*begun)
    print("ready", flush=True)
    while await lines.readline():
        if failed := [task for task in tasks if task.done() and task.exception() is not None]:
            await failed[0]
        print(count.events, flush=True)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    uvloop.run(main())
