"""What clients do to the measured processes: start runs, watch them, cancel them."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from bench.processes import ROOT
from bench.scaling.house import FAR, NEAR, House
from bench.scaling.plot import Plot
from tests.support.clients import JsonClient

START = """mutation ($input: StartRunInput!) {
  startRun(input: $input) { run { id streamId } errors { message } }
}"""
CANCEL = "mutation ($input: CancelRunInput!) { cancelRun(input: $input) { errors { message } } }"
PAGE = """{ viewer { id } runs(first: 20) { totalCount nodes { id title status agent createdAt updatedAt }
  pageInfo { hasNextPage endCursor } } }"""
WATCH_STREAM = """subscription ($id: ID!) {
  stream(streamId: $id) {
    __typename seq step attempt ... on TextDelta { block offset text } ... on RunResult { status }
  }
}"""
WATCH_MESSAGES = "subscription ($id: ID!) { messages(runId: $id) { id seq role content } }"
AT_ONCE = 10


@dataclass(frozen=True, slots=True)
class Begun:
    """A run that was started."""

    id: str
    stream_id: str


async def start(house: House, plot: Plot, count: int) -> list[Begun]:
    """Start so many runs, ten at a time."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with JsonClient(f"{house.urls[NEAR]}/graphql", house.token) as client:

        async def one() -> Begun:
            async with gate:
                given = {"agent": "measured", "input": plot.input}
                answer = (await client.execute(START, {"input": given}))["startRun"]
                if answer["errors"]:
                    raise RuntimeError(answer["errors"])
                return Begun(answer["run"]["id"], answer["run"]["streamId"])

        return await asyncio.gather(*(one() for _ in range(count)))


async def cancel(house: House, runs: Sequence[Begun]) -> None:
    """Cancel these runs, and wait until none is left."""
    gate = asyncio.Semaphore(AT_ONCE)
    async with JsonClient(f"{house.urls[NEAR]}/graphql", house.token) as client:

        async def one(run: Begun) -> None:
            async with gate:
                await client.execute(CANCEL, {"input": {"runId": run.id}})

        await asyncio.gather(*(one(run) for run in runs))
    await all_ended(house)


async def all_ended(house: House) -> None:
    """Wait until no run is under way."""
    await house.until("SELECT count(*) FROM agent_runs WHERE status = 'RUNNING'", 0)


async def pages(house: House, count: int) -> None:
    """Ask for the first page of the list of runs so often, four at a time."""
    gate = asyncio.Semaphore(4)
    async with JsonClient(f"{house.urls[NEAR]}/graphql", house.token) as client:

        async def one() -> None:
            async with gate:
                await client.execute(PAGE)

        await asyncio.gather(*(one() for _ in range(count)))


class Watchers:
    """One socket for each of some runs, at the far server, from a process of their own."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def events(self) -> int:
        """How many events have come until now."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        return int(await self._line())

    async def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the watchers have ended")
        return line

    async def begin(self, wanted: dict[str, Any]) -> None:
        """Open all sockets."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(wanted).encode() + b"\n")
        await self._line()


@asynccontextmanager
async def watching(house: House, query: str, ids: Sequence[str]) -> AsyncIterator[Watchers]:
    """Watch each of these, by a subscription that takes one id."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.scaling.watchers"), cwd=ROOT, stdin=PIPE, stdout=PIPE
    )
    try:
        watchers = Watchers(process)
        url = f"ws{house.urls[FAR].removeprefix('http')}/graphql"
        operations = [{"query": query, "variables": {"id": one}} for one in ids]
        await watchers.begin({"url": url, "token": house.token, "operations": operations})
        yield watchers
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
