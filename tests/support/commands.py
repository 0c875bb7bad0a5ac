"""The `steersman` command as a process of its own, with pipes or in a terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.project import ROOT

GUARD = 90.0
"""Seconds after which a test is ended that waits for something which never comes; far above what anything takes."""
SECRET = "a secret of the tests, long enough for HS256"
_WORDS = (sys.executable, "-m", "steersman.commands")
# Makes standard input the terminal that Ctrl-C comes from, then becomes the command.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """A shell's environment with these settings, a database in `folder`, the example agents, and no key."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEERSMAN_", "ANTHROPIC_"))}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "STEERSMAN_DATABASE_URL": f"sqlite:///{folder / 'test.db'}",
        "STEERSMAN_AGENTS": str(ROOT / "agents"),
        "STEERSMAN_PORT": "0",
        "STEERSMAN_WORKER_PORT": "0",
        **settings,
    }


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


async def steersman(*words: str, env: dict[str, str], given: str | None = None, cwd: Path = ROOT) -> Ended:
    """Run a command to its end; `given` is its standard input."""
    process = await asyncio.create_subprocess_exec(
        *_WORDS, *words, env=env, cwd=cwd, stdin=PIPE, stdout=PIPE, stderr=PIPE
    )
    try:
        async with asyncio.timeout(GUARD):
            out, err = await process.communicate(None if given is None else given.encode())
    finally:
        _kill(process)
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())


class Started:
    """A command under way. `output` is what it has written to both streams until now."""

    def __init__(self, process: Process, write: Callable[[bytes], object]) -> None:
        self.process = process
        self.output = ""
        self._write = write
        self._more = asyncio.Event()

    def feed(self, data: bytes) -> None:
        """More output."""
        self.output += data.decode(errors="replace")
        self._more.set()

    async def until(self, *texts: str, after: int = 0) -> str:
        """Wait until all these texts stand in the output, from the character `after` on; the output."""
        async with asyncio.timeout(GUARD):
            while not all(text in self.output[after:] for text in texts):
                assert self.process.returncode is None or self._more.is_set(), f"it ended:\n{self.output}"
                self._more.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._more.wait(), 0.2)
        return self.output

    def type(self, text: str) -> None:
        """Type into its terminal; the character 3 is Ctrl-C."""
        self._write(text.encode())

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end; its exit code."""
        async with asyncio.timeout(GUARD):
            return await self.process.wait()

    async def address(self, after: int = 0) -> str:
        """Where the server listens, as http://host:port."""
        output = await self.until("http://127.0.0.1:", after=after)
        port = output[after:].split("http://127.0.0.1:", 1)[1]
        return f"http://127.0.0.1:{''.join(character for character in port[:5] if character.isdigit())}"


@asynccontextmanager
async def started(*words: str, env: dict[str, str], cwd: Path = ROOT) -> AsyncIterator[Started]:
    """A command with its output on a pipe; killed at the end where it still runs."""
    process = await asyncio.create_subprocess_exec(
        *_WORDS,
        *words,
        env=env,
        cwd=cwd,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    it = Started(process, lambda data: None)
    reading = asyncio.create_task(_read(process, it))
    try:
        yield it
    finally:
        _kill(process)
        await process.wait()
        await reading


@asynccontextmanager
async def in_terminal(*words: str, env: dict[str, str], cwd: Path = ROOT) -> AsyncIterator[Started]:
    """A command in a terminal of its own; killed at the end where it still runs."""
    ours, theirs = os.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", _IN_TERMINAL, *_WORDS, *words),
        env={**env, "TERM": "xterm"},
        cwd=cwd,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    it = Started(process, lambda data: os.write(ours, data))
    loop = asyncio.get_running_loop()

    def read() -> None:
        try:
            it.feed(os.read(ours, 65_536))
        except OSError:  # how Linux says that the other side is closed
            loop.remove_reader(ours)

    loop.add_reader(ours, read)
    try:
        yield it
    finally:
        _kill(process)
        await process.wait()
        loop.remove_reader(ours)
        os.close(ours)


async def _read(process: Process, it: Started) -> None:
    assert process.stdout is not None
    while data := await process.stdout.read(65_536):
        it.feed(data)


def _kill(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
