"""A command beside a server of its own: what it can do with it, and that the server never outlives it."""

from __future__ import annotations

import asyncio
import shutil
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import asyncpg
import pytest

from tests.support.project import ROOT

pytestmark = pytest.mark.service
ASK = """
import asyncio, asyncpg, os, sys, time
url = os.environ["STEERSMAN_TEST_POSTGRES_URL"]
async def ask():
    connection = await asyncpg.connect(url)
    print(url, await connection.fetchval("SHOW data_directory"), flush=True)
    await connection.close()
asyncio.run(ask())
"""


@asynccontextmanager
async def beside_a_server(then: str) -> AsyncIterator[tuple[Process, str]]:
    """A command that tells the server's address and goes on so; its whole group is ended at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.support.with_postgres", "--", sys.executable, "-c", f"{ASK}{then}\n"),
        cwd=ROOT,
        stdout=PIPE,
        start_new_session=True,
    )
    folder = ""
    try:
        assert process.stdout is not None
        url, folder = (await process.stdout.readline()).decode().split()
        yield process, url
        while await answers(url):
            await asyncio.sleep(0.01)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def answers(url: str) -> bool:
    """Whether anything is there."""
    try:
        await (await asyncpg.connect(url)).close()
    except ConnectionRefusedError:
        return False
    except (OSError, asyncpg.PostgresError):
        return True
    return True


async def test_a_command_has_a_server_that_ends_with_it() -> None:
    """Its exit code is handed on."""
    async with beside_a_server("sys.exit(7)") as (process, _):
        assert await process.wait() == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
async def test_one_that_is_ended_early_leaves_no_server(number: signal.Signals) -> None:
    """However it is ended; the command is ended too."""
    async with beside_a_server("time.sleep(600)") as (process, _):
        process.send_signal(number)
        assert await process.wait() == (143 if number is signal.SIGTERM else -9)
