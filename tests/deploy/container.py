"""One container as a plain process: started, asked for its health, told to stop, and killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy.account import account
from tests.deploy.composed import Service
from tests.deploy.dockerfile import stages
from tests.deploy.image import run

PATIENCE = 90.0
"""Seconds after which something that does not come, or does not end, is given up; far above what anything takes."""


class NotStarted(Exception):
    """A process ended, or did not become healthy; the message has the end of its log."""


@dataclass
class Container:
    """A process that stands for one container of a service.

    `check` is the command that tells its health, `address` is where it answers, as host:port.
    """

    name: str
    service: Service
    command: list[str]
    environment: dict[str, str]
    workdir: Path
    log: Path
    check: list[str] = field(default_factory=list)
    address: str = ""
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                env=self.environment,
                cwd=self.workdir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **account().as_whom(),
            )

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command as `docker compose exec` would."""
        return run(words, self.environment, self.workdir)

    def is_healthy(self) -> bool:
        """What the image's own check says."""
        return self.run(*self.check).returncode == 0

    def stop(self) -> float:
        """Stop it as the engine does, by the image's signal; how many seconds it took. Raises NotStarted."""
        began = time.monotonic()
        self.send(signal.Signals[stages()[-1].last("STOPSIGNAL").rest])
        code = self.ended()
        if code != 0:
            raise NotStarted(f"{self.name} ended with {code}:\n{self.said()[-4_000:]}")
        return time.monotonic() - began

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end; its exit code."""
        assert self.process is not None
        return self.process.wait(PATIENCE)

    def kill(self) -> None:
        """End it, if it still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def said(self) -> str:
        """Its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")


async def healthy(container: Container) -> None:
    """Wait until the image's check finds it healthy. Raises NotStarted."""
    until = time.monotonic() + PATIENCE
    while not await asyncio.to_thread(container.is_healthy):
        if time.monotonic() > until or (container.process and container.process.poll() is not None):
            raise NotStarted(f"{container.name} is not healthy:\n{container.said()[-4_000:]}")
