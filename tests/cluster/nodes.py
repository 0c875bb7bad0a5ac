"""The nodes: processes that are killed, frozen and stopped, and that a supervisor starts again; a log for each life."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import sys
import time
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.project import ROOT

PATIENCE = 180.0
"""Seconds for a node to start, or to end, far above what either takes."""
_POLL = 0.05
_READY = re.compile(r"serving at (http://[\d.]+:\d+)|working; answers come from")
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_libc = ctypes.CDLL(None)


class NodeFailed(Exception):
    """A node did not start, or did not end."""


def die_with_parent() -> None:
    """In a child, before it becomes its program: no child outlives the harness, however that ends."""
    _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)


@dataclass(eq=False)
class Node:
    """One server or worker, life after life; `role` is the command, `name` its place in the cluster.

    `lock` is held by whoever does something to it: one thing at a time.
    """

    name: str
    role: str
    env: Mapping[str, str]
    logs: Path
    url: str = ""
    """Where it listens; while it is away, where it last did."""
    life: int = 0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    frozen: bool = False
    starts: list[float] = field(default_factory=list)
    """How many seconds each start took."""
    odd_ends: list[str] = field(default_factory=list)
    """Ends that nobody had asked for, or that were not as they were asked for."""
    _process: Process | None = None
    _watching: asyncio.Task[None] | None = None

    @property
    def log(self) -> Path:
        """The log of this life."""
        return self.logs / f"{self.name}.{self.life:03}.log"

    @property
    def pid(self) -> int | None:
        """The number of its process while it lives."""
        return self._process.pid if self._process is not None else None

    # ------------------------------------------------------------------ its life

    async def start(self) -> None:
        """Start it, as often as it takes; returns once it is ready. Raises NodeFailed."""
        began = time.monotonic()
        while not await self._begin():
            if time.monotonic() - began > PATIENCE:
                raise NodeFailed(f"{self.name} does not start; see {self.log}")
            await asyncio.sleep(0.5)  # as a supervisor would: what it needs may be away
        self.starts.append(time.monotonic() - began)
        self._watching = asyncio.create_task(self._watch(self._process), name=f"watch {self.name}")

    async def _begin(self) -> bool:
        """One try to start it; whether it became ready."""
        self.life += 1
        with self.log.open("ab") as log:
            self._process = process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "steersman.commands", self.role),
                env=self.env,
                cwd=ROOT,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        until = time.monotonic() + PATIENCE
        while process.returncode is None and time.monotonic() < until:
            if found := _READY.search(self.log.read_text(encoding="utf-8", errors="replace")):
                self.url = found[1] or ""
                return True
            await asyncio.sleep(_POLL)
        await self.end()
        return False

    async def _watch(self, process: Process | None) -> None:
        """Note an end that nobody asked for, and start it again."""
        if process is None:
            return
        code = await process.wait()
        if process is self._process:
            self.odd_ends.append(f"{self.name} ended by itself with code {code}; see {self.log}")
            self._process = None
            async with self.lock:
                await self.start()

    # ------------------------------------------------------------------ what is done to it

    def signal(self, number: signal.Signals) -> None:
        """Send its process a signal; a process that has gone gets none."""
        self.frozen = number is signal.SIGSTOP
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, number)

    async def end(self) -> None:
        """Kill it, with whatever it has started, and wait until it is gone."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()

    async def stop(self, patience: float) -> None:
        """Ask it to end by SIGTERM, and wait; an end that takes too long, or has another code than 0, is noted."""
        process = self._process
        if process is None:
            return
        self._process = None
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(patience):
                code = await process.wait()
        except TimeoutError:
            self.odd_ends.append(f"{self.name} was still there {patience:g} s after SIGTERM; see {self.log}")
            os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
            return
        if code:
            self.odd_ends.append(f"{self.name} ended with code {code} after SIGTERM; see {self.log}")
