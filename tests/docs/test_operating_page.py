"""What docs/operating.md tells of crashes, backups and stopping is what happens to a real process."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sqlite3
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from engine.housekeeping import KEPT_MS
from engine.worker import STRANGERS_MS
from models.verbs.claiming import MAX_TAKEOVERS
from steersman.health import State, Status, answer
from steersman.settings import Settings
from tests.support.commands import Started, environment, started
from tests.support.databases import new_postgres
from tests.support.markdown import blocks
from tests.support.project import ROOT
from tests.support.written import files_of

PAGE = "operating.md"
TEXT = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
GUARD = 120.0
START = """mutation {
  startRun(input: { agent: "slowpoke", input: "Count slowly to 300" }) { run { id } errors { message } }
}"""
RETRY = "mutation ($id: ID!) { retryRun(input: { runId: $id }) { errors { message } } }"
RUN = """query ($id: ID!) {
  run(id: $id) { status finish error { code } toolCalls { nodes { state } } messages { totalCount } }
}"""


class Server:
    """`steersman dev` on the scripted model, in a process of its own."""

    def __init__(self, process: Started, url: str) -> None:
        self.url = url
        self._process = process

    async def ask(self, document: str, **variables: Any) -> Any:
        """The one field of an answer."""
        body = {"query": document, "variables": variables}
        async with httpx2.AsyncClient(timeout=60) as http:
            response = await http.post(f"{self.url}/graphql", json=body)
        (value,) = response.json()["data"].values()
        return value

    async def start(self) -> str:
        """Start a run whose tool takes longer than any test; its id."""
        run_id: str = (await self.ask(START))["run"]["id"]
        return run_id

    async def until(self, run_id: str, status: str, state: str) -> Any:
        """The run, once it has this status and its first tool call this state."""
        while True:
            run = await self.ask(RUN, id=run_id)
            states = [call["state"] for call in run["toolCalls"]["nodes"]]
            if run["status"] == status and states[:1] == [state]:
                return run
            await asyncio.sleep(0.1)

    async def kill(self) -> None:
        """End it without a word."""
        self._process.send(signal.SIGKILL)
        await self._process.ended()


@asynccontextmanager
async def serving(folder: Path, **settings: str) -> AsyncIterator[Server]:
    """A server, on the folder's database where the settings name no other."""
    file = {"STEERSMAN_DATABASE_URL": f"sqlite:///{folder / 'steersman.db'}"}
    env = environment(folder, **{**file, **settings})
    async with started("dev", "--scripted", "--no-reload", env=env) as process:
        await process.until("\nAgents ")
        yield Server(process, await process.address())


async def test_a_backup_of_a_server_at_work_can_be_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's program makes it while a tool runs; the copy opens, and its run goes on to its end."""
    program = files_of(PAGE)["backup.py"]
    live, restored = tmp_path / "live", tmp_path / "restored"
    live.mkdir()
    restored.mkdir()
    async with asyncio.timeout(GUARD):
        async with serving(live) as server:
            run_id = await server.start()
            await server.until(run_id, "RUNNING", "RUNNING")
            monkeypatch.chdir(live)
            await asyncio.to_thread(exec, compile(program, "backup.py", "exec"), {})
            await server.kill()
        shutil.move(live / "backup.db", restored / "steersman.db")
        async with serving(restored) as server:
            run = await server.until(run_id, "COMPLETED", "INTERRUPTED")
    assert run["finish"] == "STOP"


async def test_after_kill_9_the_next_start_goes_on_with_every_run_at_once(tmp_path: Path) -> None:
    """Nothing that was acknowledged is lost; the tool that was at work is reported as interrupted."""
    async with asyncio.timeout(GUARD):
        async with serving(tmp_path) as server:
            run_id = await server.start()
            before = await server.until(run_id, "RUNNING", "RUNNING")
            await server.kill()
        async with serving(tmp_path) as server:
            after = await server.until(run_id, "COMPLETED", "INTERRUPTED")
    assert after["messages"]["totalCount"] > before["messages"]["totalCount"]


async def test_without_its_agent_a_restored_run_stops_and_waits_for_its_owner(tmp_path: Path) -> None:
    """With an empty agents folder nothing is done again: the run is FAILED, and goes on when it is retried."""
    empty = tmp_path / "empty"
    empty.mkdir()
    async with asyncio.timeout(GUARD):
        async with serving(tmp_path) as server:
            run_id = await server.start()
            await server.until(run_id, "RUNNING", "RUNNING")
            await server.kill()
        async with serving(tmp_path, STEERSMAN_AGENTS=str(empty)) as server:
            failed = await server.until(run_id, "FAILED", "INTERRUPTED")
            assert failed["error"]["code"] == "AGENT_NOT_FOUND"
            await server.kill()
        async with serving(tmp_path) as server:
            assert (await server.ask(RETRY, id=run_id))["errors"] == []
            await server.until(run_id, "COMPLETED", "INTERRUPTED")


async def test_the_file_alone_may_lack_what_was_written_last(tmp_path: Path) -> None:
    """Why the page says never to copy it: its log beside it holds the newest writes."""
    async with asyncio.timeout(GUARD), serving(tmp_path) as server:
        run_id = await server.start()
        shutil.copy(tmp_path / "steersman.db", tmp_path / "copied.db")
        assert (tmp_path / "steersman.db-wal").stat().st_size > 0
        await server.kill()
    with closing(sqlite3.connect(tmp_path / "copied.db")) as copied:
        tables = {name for (name,) in copied.execute("SELECT name FROM sqlite_master")}
        found = copied.execute("SELECT id FROM agent_runs").fetchall() if "agent_runs" in tables else []
    assert (run_id,) not in found


@pytest.mark.service
async def test_a_dump_of_postgresql_at_work_can_be_restored(tmp_path: Path) -> None:
    """The page's two commands: one dumps while a tool runs, the other fills an empty database, and the run goes on."""
    async with asyncio.timeout(GUARD):
        with new_postgres(migrated=False) as live, new_postgres(migrated=False) as restored:
            async with serving(tmp_path, STEERSMAN_DATABASE_URL=live) as server:
                run_id = await server.start()
                await server.until(run_id, "RUNNING", "RUNNING")
                await shell("pg_dump ", tmp_path, live)
                await server.kill()
            await shell("psql ", tmp_path, restored)
            async with serving(tmp_path, STEERSMAN_DATABASE_URL=restored, STEERSMAN_LEASE_SECONDS="1") as server:
                run = await server.until(run_id, "COMPLETED", "INTERRUPTED")
    assert run["finish"] == "STOP"


async def shell(program: str, folder: Path, database: str) -> None:
    """Run the page's one command that begins with this word, on this database."""
    (command,) = (block.text for block in blocks(TEXT) if block.text.startswith(program))
    ran = await asyncio.create_subprocess_exec(
        *("bash", "-euc", command), cwd=folder, env={**os.environ, "STEERSMAN_DATABASE_URL": database}, stdout=DEVNULL
    )
    assert await ran.wait() == 0


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    """Takeovers, how long runs of unknown agents wait and keys are kept, the port of probes, the size of a pool."""
    assert (MAX_TAKEOVERS, "a third time" in TEXT) == (3, True)
    assert (STRANGERS_MS, "after a minute in which nobody came who knows its agent" in TEXT) == (60_000, True)
    assert f"| {KEPT_MS // 3_600_000} hours;" in TEXT
    assert f"`STEERSMAN_WORKER_PORT` ({Settings().worker_port} unless set)" in TEXT
    assert f"to PostgreSQL, {Settings().database_pool_size} unless set" in TEXT


def test_every_state_of_readiness_is_on_the_page_with_its_code() -> None:
    """Those that answer 200, and the one that answers 503."""
    described = {
        status: int(code) for code, status in re.findall(r'^\| (\d+) \| `{"status": "(\w+)"', TEXT, re.MULTILINE)
    }
    assert described == {status.value: answer(State(status)).status_code for status in Status}
