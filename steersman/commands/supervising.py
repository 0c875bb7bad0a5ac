"""Starting the development server anew when a file changes: the port stays open, the runs go on.

The supervisor holds the listening socket and runs the server as a child. Requests that come while the child is
replaced wait in the socket's queue. A pipe tells the child that the supervisor has gone, however it went.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
from watchfiles import Change, DefaultFilter, awatch

from steersman.commands.loop import STOPPING

CHILD_OPTION = "--child"
PACKAGES = ("steersman", "resolvers", "schema", "engine", "models")
_CODE = Path(__file__).resolve().parents[2]
_READ_BY_AGENTS = (".py", ".md", ".txt", ".json", ".toml", ".yaml", ".yml", ".jinja", ".j2")


class SourceFilter(DefaultFilter):
    """Passes what people write: Python anywhere, and texts in the agents folder; not what a tool may write there."""

    def __init__(self, agents: Path) -> None:
        super().__init__()
        self._agents = agents.resolve()

    def __call__(self, change: Change, path: str) -> bool:
        """Whether a change of this file starts the server anew."""
        suffixes = _READ_BY_AGENTS if Path(path).is_relative_to(self._agents) else (".py",)
        return path.endswith(suffixes) and super().__call__(change, path)


async def supervise(listening: socket.socket, agents: Path) -> int:
    """Run the server as a child until it is told to stop, and give its exit code. Signals are handed on to it."""
    supervisor = _Supervisor(listening)
    for number in STOPPING:
        asyncio.get_running_loop().add_signal_handler(number, supervisor.hand_on, number)
    watching = asyncio.create_task(_watch(agents, supervisor.changes))
    try:
        return await supervisor.run()
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


class _Supervisor:
    """The child of the moment. `changes` has the files that changed, and None where a signal came."""

    def __init__(self, listening: socket.socket) -> None:
        self.changes: asyncio.Queue[str | None] = asyncio.Queue()
        self._listening = listening
        self._child: Process | None = None
        self._stopping = asyncio.Event()

    def hand_on(self, number: signal.Signals) -> None:
        """Tell the child to stop, as this process was told; at the second Ctrl-C, to leave at once."""
        again = self._stopping.is_set()
        self._stopping.set()
        self.changes.put_nowait(None)
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.send_signal(number if again else signal.SIGTERM)

    async def run(self) -> int:
        """Start children one after the other; the code of the last one."""
        code = await self._run_one(first=True)
        while not self._stopping.is_set() and code is None:
            code = await self._run_one(first=False)
        return code or 0

    async def _run_one(self, *, first: bool) -> int | None:
        """Run one child; None where another should follow."""
        reader, writer = os.pipe()
        try:
            self._child = child = await self._start(reader, first=first)
            os.close(reader)
            if self._stopping.is_set():  # told while it was being started
                child.terminate()
            code = await self._until_changed(child)
        finally:
            os.close(writer)
        if code == -signal.SIGTERM and self._stopping.is_set():
            code = 0  # it had not even begun
        if self._stopping.is_set() or (first and code is not None):
            return code if code is None or code >= 0 else 128 - code
        if code is not None:
            click.echo(f"The server has ended ({code}); it is started anew when a file changes.", err=True)
            await self.changes.get()
        while not self.changes.empty():
            self.changes.get_nowait()  # the next child reads all that has changed until now
        return 0 if self._stopping.is_set() else None

    async def _start(self, parent: int, *, first: bool) -> Process:
        fds = (self._listening.fileno(), parent)
        words = [*sys.orig_argv[1:], CHILD_OPTION, f"{fds[0]},{fds[1]},{int(first)}"]
        # In a session of its own: Ctrl-C reaches it once, through this process.
        return await asyncio.create_subprocess_exec(sys.executable, *words, pass_fds=fds, start_new_session=True)

    async def _until_changed(self, child: Process) -> int | None:
        """The code of a child that ended; None where it was ended because a file has changed."""
        ended = asyncio.create_task(child.wait())
        changed = asyncio.create_task(self.changes.get())
        await asyncio.wait({ended, changed}, return_when=asyncio.FIRST_COMPLETED)
        if ended.done() or self._stopping.is_set():
            changed.cancel()
            return await ended
        click.echo(f"\n{changed.result()} has changed: starting anew.")
        with suppress(ProcessLookupError):
            child.terminate()
        await ended
        return None


async def _watch(agents: Path, changes: asyncio.Queue[str | None]) -> None:
    folders: Sequence[Path] = [agents, *(_CODE / package for package in PACKAGES if (_CODE / package).is_dir())]
    async for found in awatch(*folders, watch_filter=SourceFilter(agents), debounce=300):
        changes.put_nowait(_shown(min(path for _, path in found)))


def _shown(path: str) -> str:
    with suppress(ValueError):
        return str(Path(path).relative_to(Path.cwd()))
    return path
