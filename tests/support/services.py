"""A PostgreSQL and a Redis server of one's own, from installed packages, on free ports of 127.0.0.1: to be killed.

    async with OwnPostgres(folder) as postgres, OwnRedis(folder) as redis:
        ...  # postgres.url, redis.url
        await postgres.kill()
        await postgres.start()

They are bound to no event loop, so that a session of tests may share one, but to the main thread: none outlives it,
however it ends. They need Linux, whose /proc tells of the processes that PostgreSQL begins.
"""

from __future__ import annotations

import abc
import asyncio
import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self

import asyncpg

PATIENCE = 120.0
"""Seconds after which a server that does not start, or does not end, is given up; far above what either takes."""
_POLL = 0.01
_ANSWER = 1.0  # seconds after which one that does not answer is asked again
_PORT_TRIES = 20
_libc = ctypes.CDLL(None)
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of <sys/prctl.h>
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


class ServiceMissing(Exception):
    """A server's program is not installed; the message names the package."""


class ServiceFailed(Exception):
    """A server did not start, or did not end; the message holds the end of its log."""


class _Own(abc.ABC):
    """A server: started when its context is entered; at the end it is killed, and its data are thrown away.

    Its log is in `folder`. Its data are not: where the tests are run by root, PostgreSQL runs as another user, who may
    not enter the folders of tests.
    """

    name: ClassVar[str]
    _stop_signal: ClassVar[signal.Signals]

    def __init__(self, folder: Path) -> None:
        self._log = folder / f"{self.name}.log"
        self._data = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        """The port of 127.0.0.1; the same after every start."""

    @property
    @abc.abstractmethod
    def url(self) -> str:
        """The address, without a password; the same after every start."""

    @property
    def pid(self) -> int:
        """The number of the process, of PostgreSQL that of the postmaster; a new one after every start."""
        assert self._process is not None, f"{self.name} is not running"
        return self._process.pid

    # ------------------------------------------------------------------ its life

    async def __aenter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._data = Path(tempfile.mkdtemp(prefix=f"steersman-{self.name}-"))
        try:
            self._prepare()
            await self._start_somewhere()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.kill()
        shutil.rmtree(self._data, ignore_errors=True)

    async def start(self) -> None:
        """Start it again, on the same port and data; returns once it answers. Raises ServiceFailed."""
        assert self._process is None, f"{self.name} is running"
        self._spawn()
        until = time.monotonic() + PATIENCE
        while not await self._answers():
            if self._ended() or time.monotonic() > until:
                await self.kill()
                raise ServiceFailed(f"{self.name} did not start at port {self.port}:\n{self._end_of_log()}")
            await asyncio.sleep(_POLL)

    async def kill(self) -> None:
        """End it by SIGKILL, with every process that it began, and wait until all are gone.

        Does nothing where it is not running. Raises ServiceFailed.
        """
        if self._process is None:
            return
        self._process.send_signal(signal.SIGSTOP)  # so that it begins no more processes while we look for them
        processes = [self.pid, *_children(self.pid)]
        for pid in processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self._gone(processes)

    async def stop(self) -> None:
        """End it in good order, whoever is connected; does nothing where it is not running. Raises ServiceFailed."""
        if self._process is None:
            return
        processes = [self.pid, *_children(self.pid)]
        self._process.send_signal(self._stop_signal)
        await self._gone(processes)

    async def restart(self) -> None:
        """Stop it in good order, and start it again. Raises ServiceFailed."""
        await self.stop()
        await self.start()

    async def _start_somewhere(self) -> None:
        """Start it on a free port, and on another where somebody has taken that one meanwhile."""
        for left in reversed(range(_PORT_TRIES)):
            self.port = _free_port()
            try:
                return await self.start()
            except ServiceFailed:
                if not left or "in use" not in self._end_of_log():
                    raise
        raise AssertionError("never reached")

    def _spawn(self) -> None:
        assert threading.current_thread() is threading.main_thread(), "it would end with this thread"
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C in a terminal is for the tests, who end their servers themselves
                preexec_fn=die_with_parent,  # noqa: PLW1509 - it takes no lock
                **self._as_whom(),
            )

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    async def _gone(self, processes: Sequence[int]) -> None:
        until = time.monotonic() + PATIENCE
        while not self._ended() or any(_runs(pid) for pid in processes[1:]):
            if time.monotonic() > until:
                raise ServiceFailed(f"{self.name} did not end:\n{self._end_of_log()}")
            await asyncio.sleep(_POLL)
        self._process = None

    def _end_of_log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-2_000:]

    # ------------------------------------------------------------------ what each kind does in its own way

    @abc.abstractmethod
    def _prepare(self) -> None:
        """Make the data that it starts with."""

    @abc.abstractmethod
    def _command(self) -> list[str]:
        """The command that is the server, in the foreground."""

    def _as_whom(self) -> dict[str, Any]:
        """The user that it runs as, in the words of `subprocess`; ours by default."""
        return {}

    @abc.abstractmethod
    async def _answers(self) -> bool:
        """Whether it serves now: it, and not another at its port."""


class OwnPostgres(_Own):
    """A PostgreSQL server with one role, `postgres`, who needs no password. Its data survive `kill`."""

    name = "postgresql"
    _stop_signal = signal.SIGINT  # "fast": ends what its clients have under way

    @property
    def url(self) -> str:
        """The address of the database `postgres`."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def _prepare(self) -> None:
        command = [_postgres_program("initdb"), "--pgdata", str(self._data), "--username", "postgres"]
        command += ["--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions"]
        user = self._as_whom()
        if user:
            os.chown(self._data, user["user"], user["group"])
        made = subprocess.run(command, cwd=self._data, capture_output=True, text=True, check=False, **user)
        if made.returncode:
            raise ServiceFailed(f"initdb failed:\n{made.stdout}{made.stderr}")

    def _command(self) -> list[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 200,
            "fsync": "off",  # what was committed is with the kernel, and survives SIGKILL; no test cuts the power
        }
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        return [_postgres_program("postgres"), "-D", str(self._data), *words]

    def _as_whom(self) -> dict[str, Any]:
        if os.geteuid() != 0:
            return {}
        known = {account.pw_name: account for account in pwd.getpwall()}
        account = known.get("postgres") or known["nobody"]  # it refuses to be run by root
        return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}

    async def _answers(self) -> bool:
        try:
            connection = await asyncpg.connect(self.url, timeout=_ANSWER, ssl=False)
            try:
                return bool(await connection.fetchval("SHOW data_directory") == str(self._data))
            finally:
                connection.terminate()
        except (OSError, TimeoutError, asyncpg.PostgresError):
            return False


class OwnRedis(_Own):
    """A Redis (or Valkey) server with 64 databases. Nothing is kept: its data are lost by `kill`, and by `stop`."""

    name = "redis"
    _stop_signal = signal.SIGTERM

    @property
    def url(self) -> str:
        """The address of database 0."""
        return f"redis://127.0.0.1:{self.port}/0"

    def _prepare(self) -> None:
        """It starts with nothing."""

    def _command(self) -> list[str]:
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(self._data),
            "databases": "64",
            "save": "",
            "appendonly": "no",
        }
        return [_redis_program(), *(word for name, value in settings.items() for word in (f"--{name}", value))]

    async def _answers(self) -> bool:
        try:
            async with asyncio.timeout(_ANSWER):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                try:
                    writer.write(b"INFO server\r\n")
                    answer = await reader.readuntil(b"process_id:") + await reader.readline()
                finally:
                    writer.close()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return False
        return answer.endswith(f"process_id:{self.pid}\r\n".encode())


# ---------------------------------------------------------------- programs, ports and processes


def die_with_parent() -> None:
    """In a child, before it becomes its program: the kernel ends it with the thread that began it."""
    _libc.prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _postgres_program(name: str) -> str:
    """A program of PostgreSQL's server; Debian keeps these out of PATH. The newest version wins."""
    versions = [folder for folder in Path("/usr/lib/postgresql").glob("*") if folder.name.isdigit()]
    versions.sort(key=lambda folder: int(folder.name), reverse=True)
    path = os.pathsep.join([*(f"{folder}/bin" for folder in versions), os.environ.get("PATH", "")])
    return _program("PostgreSQL", "postgresql", name, path=path)


def _redis_program() -> str:
    return _program("Redis", "redis-server", "redis-server", "valkey-server")


def _program(what: str, package: str, *names: str, path: str | None = None) -> str:
    for name in names:
        if found := shutil.which(name, path=path):
            return found
    raise ServiceMissing(
        f"{what}'s server ({' or '.join(names)}) is not installed. On Debian and Ubuntu: apt-get install {package}"
    )


def _free_port() -> int:
    """A port that nobody listens on, below those that the kernel gives to connections.

    While a server of ours is away, none of those who try to reach it can be given its port for their own end.
    """
    highest = int(_EPHEMERAL.read_text(encoding="ascii").split()[0]) - 1
    while True:
        port = random.randint(min(15_000, highest - 1_000), highest)  # noqa: S311 - no secret
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def _children(pid: int) -> list[int]:
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [number for number in numbers if _stat(number)[1:2] == [str(pid)]]


def _runs(pid: int) -> bool:
    return _stat(pid)[:1] not in ([], ["Z"])


def _stat(pid: int) -> list[str]:
    """A process's state, its parent, and more; nothing of one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
