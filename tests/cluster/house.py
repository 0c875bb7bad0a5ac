"""The whole of it: services, nodes and clients are brought up, faults happen, and everything is ended again."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import asyncpg

from models.database import open_database
from models.migrate import migrate
from tests.cluster import audit
from tests.cluster.measures import Measures
from tests.cluster.nodes import Node, die_with_parent
from tests.cluster.options import Options
from tests.cluster.usage import Lag, Usage, usage_of
from tests.support.commands import SECRET, environment
from tests.support.project import ROOT
from tests.support.services import OwnPostgres, OwnRedis

AGENTS = Path(__file__).parent / "agents"
DRAIN = 5.0
"""STEERSMAN_DRAIN_SECONDS."""
PATIENCE = DRAIN + 10
"""Seconds that a node may take to end once it is told to."""
_EXPLAINED = 5.0
"""Seconds after a service's outage for which it explains what fails."""


@dataclass(eq=False)
class House:
    """All that is up."""

    options: Options
    folder: Path
    postgres: OwnPostgres
    redis: OwnRedis | None
    model: str
    model_pid: int
    servers: list[Node]
    workers: list[Node]
    measures: Measures = field(default_factory=Measures)
    failures: Counter[str] = field(default_factory=Counter)
    odd: list[tuple[float, str, str]] = field(default_factory=list)
    """Errors that operations were answered with: when, by their codes, and in which words."""
    busy: float = 0.0
    """The share of the machine's cores that was at work meanwhile."""
    lag: Lag = field(default_factory=Lag)
    costs: dict[str, Usage] = field(default_factory=dict)
    """What each process cost, by name, as it was at the end."""

    @property
    def executions(self) -> Path:
        """Where the tools note what they do."""
        return self.folder / "executions.jsonl"

    def database_url(self, role: str = "postgres") -> str:
        """The database's address for one of its roles."""
        return self.postgres.url.replace("//postgres@", f"//{role}@")

    def server(self, dice: Random) -> str:
        """The address of any server, alive or not: a client can't know."""
        return dice.choice(self.servers).url

    def note_odd(self, codes: str, words: str) -> None:
        """An operation was answered with errors."""
        self.failures[codes] += 1
        self.odd.append((time.monotonic(), codes, words))

    def unexplained(self) -> list[str]:
        """Those errors that no outage explains: the API says UNAVAILABLE while it is away, and nothing else ever."""
        outages = self.measures.outages
        return [
            f"{codes}: {words}"
            for at, codes, words in self.odd
            if codes != "UNAVAILABLE" or not any(one.began <= at <= one.ended + _EXPLAINED for one in outages)
        ]

    def costs_now(self) -> dict[str, Usage]:
        """What each process that lives has cost until now, by name."""
        pids = {node.name: node.pid for node in (*self.servers, *self.workers)}
        pids |= {"harness": os.getpid(), "model": self.model_pid}
        return {name: used for name, pid in pids.items() if pid is not None and (used := usage_of(pid)) is not None}

    async def held(self, pid: int) -> list[str] | None:
        """The runs whose lease the process with this number has; None where the database can't be asked."""
        try:
            connection = await asyncpg.connect(self.database_url(), timeout=0.5, ssl=False)
        except (OSError, TimeoutError, asyncpg.PostgresError):
            return None
        try:
            found = await connection.fetch(
                # Who waits for a run below, and the runs below, which nobody watches, tell nothing of a recovery.
                "SELECT id FROM agent_runs r WHERE status = 'RUNNING' AND worker LIKE $1 AND parent_id IS NULL"
                " AND NOT EXISTS (SELECT FROM tool_calls c WHERE c.run_id = r.id AND c.state = 'RUNNING'"
                " AND c.child_run_id IS NOT NULL)",
                f"%:{pid}:%",
            )
            return [row["id"] for row in found]
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return None
        finally:
            connection.terminate()


# ---------------------------------------------------------------- up and down


@asynccontextmanager
async def opened(options: Options, folder: Path) -> AsyncIterator[House]:
    """Everything, ready; all of it is ended at the end, whatever happens."""
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(OwnPostgres(folder))
        redis = await stack.enter_async_context(OwnRedis(folder)) if options.redis else None
        model = await stack.enter_async_context(_model(options))
        house = House(options, folder, postgres, redis, *model, [], [])
        names = [f"server-{number}" for number in range(options.servers)]
        names += [f"{audit.WORKERS}-{number}" for number in range(options.workers)]
        async with open_database(house.database_url()) as database:
            await database.write(migrate)
            await database.write(audit.set_up, names)
        for name in names:
            role = "worker" if name.startswith(audit.WORKERS) else "serve"
            node = Node(name, role, _environment(house, name), folder)
            (house.workers if role == "worker" else house.servers).append(node)
            stack.push_async_callback(node.end)
        await house.servers[0].start()  # one compiles what is imported, and the others find it
        await asyncio.gather(*(node.start() for node in (*house.servers[1:], *house.workers)))
        yield house


def _environment(house: House, name: str) -> dict[str, str]:
    options = house.options
    settings = {
        "STEERSMAN_DATABASE_URL": house.database_url(name),
        "STEERSMAN_AGENTS": str(AGENTS),
        "STEERSMAN_WORKER": "off",
        "STEERSMAN_WORKER_PORT": "0",
        "STEERSMAN_JWT_SECRET": SECRET,
        "STEERSMAN_LEASE_SECONDS": f"{options.lease:g}",
        "STEERSMAN_CANCEL_POLL_SECONDS": "1",
        "STEERSMAN_DRAIN_SECONDS": f"{DRAIN:g}",
        "STEERSMAN_MAX_RUNS": str(max(100, options.runs)),
        "STEERSMAN_LOG_FORMAT": "json",
        "STEERSMAN_CONSOLE": "off",
        "ANTHROPIC_BASE_URL": house.model,
        "CLUSTER_EXECUTIONS": str(house.executions),
    }
    if house.redis is not None:
        settings["STEERSMAN_REDIS_URL"] = house.redis.url
    made = environment(house.folder, **settings)
    # A node that is started again is to be back as soon as an installed one would be: with its imports compiled.
    made.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**made, "PYTHONPYCACHEPREFIX": str(house.folder / "bytecode")}


@asynccontextmanager
async def _model(options: Options) -> AsyncIterator[tuple[str, int]]:
    """The address of the stories' model, and the number of its process."""
    words = ("--words", str(options.words), "--pace", str(options.pace * 1000), "--longest", str(options.tool))
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.cluster.model", *words),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        start_new_session=True,
        preexec_fn=die_with_parent,
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip(), process.pid
    finally:
        process.kill()
        await process.wait()
