"""What processes, PostgreSQL and Redis have used up to a moment; two moments tell what was used in between."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import asyncpg
from redis.asyncio import Redis

_PAGE = os.sysconf("SC_PAGE_SIZE")
_ROWS = """SELECT
  (SELECT sum(xact_commit) FROM pg_stat_database WHERE datname = current_database()) AS transactions,
  pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS commits,
  pg_current_wal_insert_lsn() - '0/0'::pg_lsn AS wal,
  pg_database_size(current_database()) AS stored"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Figures by name: CPU in microseconds and private memory in bytes by process, counts of the services."""

    at: float
    cpu: dict[str, float]
    memory: dict[str, float]
    counts: dict[str, float]


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used in so many seconds. `memory` is what was added."""

    seconds: float
    cpu: dict[str, float]
    memory: dict[str, float]
    counts: dict[str, float]

    def less(self, other: Spent) -> Spent:
        """CPU and counts beyond what `other` used in as long a time; memory as it is."""
        scale = self.seconds / other.seconds
        cpu = {name: value - other.cpu[name] * scale for name, value in self.cpu.items()}
        counts = {name: value - other.counts[name] * scale for name, value in self.counts.items()}
        return Spent(self.seconds, cpu, self.memory, counts)


def spent(before: Usage, after: Usage) -> Spent:
    """What was used between two moments."""
    return Spent(
        after.at - before.at,
        *(
            {name: now - then.get(name, 0.0) for name, now in latter.items()}
            for then, latter in (
                (before.cpu, after.cpu),
                (before.memory, after.memory),
                (before.counts, after.counts),
            )
        ),
    )


@dataclass(frozen=True, slots=True)
class Meter:
    """Reads usage. `processes` are ids by name; PostgreSQL and Redis are asked over connections of their own."""

    processes: dict[str, int]
    postgres: int
    rows: asyncpg.Connection
    redis: Redis | None

    async def read(self) -> Usage:
        """All of it, now."""
        counts: dict[str, float] = {name: float(value) for name, value in (await self.rows.fetchrow(_ROWS)).items()}
        if self.redis is not None:
            counts |= await _redis_counts(self.redis)
        families = {name: [pid] for name, pid in self.processes.items()} | {"postgres": _family(self.postgres)}
        return Usage(
            time.monotonic(),
            {
                name: sum(map(_cpu, pids)) + (_reaped(pids[0]) if len(pids) > 1 else 0)
                for name, pids in families.items()
            },
            {name: float(sum(map(_memory, pids))) for name, pids in families.items()},
            counts,
        )


async def _redis_counts(redis: Redis) -> dict[str, float]:
    info = await redis.info("everything")
    counts = {
        "redis_memory": float(info["used_memory"]),
        "redis_in": float(info["total_net_input_bytes"]),
        "redis_out": float(info["total_net_output_bytes"]),
        "redis_commands": float(info["total_commands_processed"]),
    }
    for command in ("xadd", "xread", "publish"):
        counts[command] = float(info.get(f"cmdstat_{command}", {}).get("calls", 0))
    return counts


# ---------------------------------------------------------------- processes


def _family(pid: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [pid, *map(int, children.split())]


def _cpu(pid: int) -> float:
    """Microseconds on a core, of all its threads; nothing of one that has gone."""
    try:
        tasks: Iterable[Path] = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text(encoding="ascii").split()[0]) for task in tasks) / 1e3
    except OSError:
        return 0.0


def _reaped(pid: int) -> float:
    """Microseconds that its children used that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK") * 1e6


def _memory(pid: int) -> int:
    """Bytes resident that it shares with no other process."""
    try:
        _, resident, shared, *_ = map(int, Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split())
    except OSError:
        return 0
    return (resident - shared) * _PAGE
