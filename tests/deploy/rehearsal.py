"""What compose.yaml describes, as plain processes: the image's own files, the file's own environment, free ports.

Everything is started in the order that `depends_on` asks for, by the same commands, and is asked for its health by the
same checks. What differs is told by `places`: one machine has one network, so addresses are replaced.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from tests.deploy import composed
from tests.deploy.account import account, program
from tests.deploy.composed import SECRETS, Service
from tests.deploy.container import PATIENCE, Container, NotStarted, healthy
from tests.deploy.dockerfile import stages
from tests.deploy.image import Image, Tell
from tests.support import services
from tests.support.project import ROOT
from tests.support.services import OwnPostgres, OwnRedis


@dataclass
class Rehearsal:
    """The whole of it. `url` is the proxy's address, `health` where the proxy tells of its own."""

    folder: Path
    image: Image
    places: dict[str, str]
    containers: dict[str, Container] = field(default_factory=dict)
    databases: list[OwnPostgres | OwnRedis] = field(default_factory=list)
    url: str = ""
    health: str = ""

    def placed(self, text: str) -> str:
        """The text with the addresses as they are here."""
        for there, here in self.places.items():
            text = text.replace(there, here)
        return text

    def of(self, service: str) -> list[Container]:
        """The containers of a service."""
        return [one for one in self.containers.values() if one.service.name == service]

    def one(self, service: str) -> Container:
        """The one container of a service."""
        (container,) = self.of(service)
        return container

    def ours(self) -> list[Container]:
        """The containers of servers and workers."""
        return [one for one in self.containers.values() if one.check and one.service.body["restart"] != "no"]

    def token(self, user: str) -> str:
        """A token that signs this user in, as an operator makes one."""
        made = self.one("server-1").run("steersman", "token", "--sub", user)
        assert made.returncode == 0, made.stderr
        return made.stdout.strip()

    async def close(self) -> None:
        """End everything."""
        for container in reversed(self.containers.values()):
            container.kill()
        for database in reversed(self.databases):
            await database.__aexit__()


class ComposedRedis(OwnRedis):
    """Redis, told what compose.yaml tells it."""

    def __init__(self, folder: Path, words: list[str]) -> None:
        super().__init__(folder)
        self._words = words

    def _command(self) -> list[str]:
        assert self._words[0] == "redis-server"
        return [*super()._command(), *self._words[1:]]


async def start(folder: Path, image: Image, given: Mapping[str, str], logs: Path, tell: Tell) -> Rehearsal:
    """Start everything in a folder that the account may enter. Raises NotStarted, NotGiven, ProgramMissing.

    `given` are the variables that compose takes from outside, beside those that `make secrets` writes. `logs` is where
    everything's log is kept.
    """
    rehearsal = Rehearsal(folder, image, {SECRETS: f"{folder}/secrets/"})
    starter = _Starter(rehearsal, given, logs, tell)
    try:
        for name in starter.services:
            await starter.start(name)
    except BaseException:
        await rehearsal.close()
        raise
    return rehearsal


class _Starter:
    def __init__(self, rehearsal: Rehearsal, given: Mapping[str, str], logs: Path, tell: Tell) -> None:
        self._rehearsal = rehearsal
        self._tell = tell
        self._started: set[str] = set()
        self._logs = logs
        self.services = composed.services({**self._make_secrets(), **given})

    def _make_secrets(self) -> dict[str, str]:
        subprocess.run([ROOT / "deploy/secrets.sh", self._rehearsal.folder], check=True, capture_output=True)
        lines = (self._rehearsal.folder / ".env").read_text(encoding="utf-8").splitlines()
        # A container engine reads these as root, and shows a container the file; here the process itself reads it.
        account().owns(self._rehearsal.folder / "secrets")
        return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))

    async def start(self, name: str) -> None:
        """Start a service after those that it depends on, and wait as they are waited for."""
        if name in self._started:
            return
        self._started.add(name)
        service = self.services[name]
        depends = service.body.get("depends_on", {})
        for other in depends:
            await self.start(other)
        began = time.monotonic()
        if name == "postgres":
            await self._start_postgres(service)
        elif name == "redis":
            await self._start_redis(service)
        elif name == "proxy":
            self._start_proxy(service)
        else:
            await self._start_ours(service)
        self._tell(f"{time.monotonic() - began:6.1f}s  {name}")

    async def _start_postgres(self, service: Service) -> None:
        """An empty cluster, in which the image's own entrypoint would make this role and this database."""
        postgres = OwnPostgres(self._logs)
        self._rehearsal.databases.append(await postgres.__aenter__())
        password = self._read(service.environment["POSTGRES_PASSWORD_FILE"])
        role, database = service.environment["POSTGRES_USER"], service.environment["POSTGRES_DB"]
        connection = await asyncpg.connect(postgres.url, ssl=False)
        await connection.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{password}'")
        await connection.execute(f"CREATE DATABASE {database} OWNER {role}")
        await connection.close()
        self._rehearsal.places["postgres:5432"] = f"127.0.0.1:{postgres.port}"
        self._place_secrets()

    def _read(self, secret: str) -> str:
        return Path(self._rehearsal.placed(secret)).read_text(encoding="utf-8").strip()

    def _place_secrets(self) -> None:
        for secret in (self._rehearsal.folder / "secrets").iterdir():
            placed = self._rehearsal.placed(secret.read_text(encoding="utf-8"))
            secret.chmod(0o600)
            secret.write_text(placed, encoding="utf-8")

    async def _start_redis(self, service: Service) -> None:
        redis = ComposedRedis(self._logs, service.command)
        self._rehearsal.databases.append(await redis.__aenter__())
        self._rehearsal.places["redis:6379"] = f"127.0.0.1:{redis.port}"

    async def _start_ours(self, service: Service) -> None:
        containers = [self._container(service, number + 1) for number in range(service.replicas)]
        for container in containers:
            container.start()
        for container in containers:
            if service.body["restart"] == "no":
                if container.ended():
                    raise NotStarted(f"{container.name}:\n{container.said()[-4_000:]}")
            else:
                await healthy(container)

    def _container(self, service: Service, number: int) -> Container:
        name = service.name if service.replicas == 1 else f"{service.name}-{number}"
        port = str(services._free_port())
        if service.command == ["serve"]:
            self._rehearsal.places[f"{name}:8000"] = f"127.0.0.1:{port}"
        image, placed = self._rehearsal.image, self._rehearsal.placed
        environment = image.environment(
            **{key: placed(value) for key, value in service.environment.items()},
            STEERSMAN_HOST="127.0.0.1",
            STEERSMAN_PORT=port,
            STEERSMAN_WORKER_PORT=port,
        )
        start, *words = image.command(*service.command)
        command = [shutil.which(start, path=environment["PATH"]) or start, *words]
        log = self._logs / f"{name}.log"
        check = [image.placed(word) for word in stages()[-1].health_check()]
        container = Container(name, service, command, environment, image.workdir, log, check, f"127.0.0.1:{port}")
        self._rehearsal.containers[name] = container
        return container

    def _start_proxy(self, service: Service) -> None:
        """The shipped file, with the addresses of this machine."""
        port, health = (f"127.0.0.1:{services._free_port()}" for _ in range(2))
        text = self._rehearsal.placed((ROOT / "deploy/haproxy.cfg").read_text(encoding="utf-8"))
        text = text.replace("bind :8080", f"bind {port}").replace("bind :8404", f"bind {health}")
        file = self._rehearsal.folder / "haproxy.cfg"
        file.write_text(text, encoding="utf-8")
        # As the image's entrypoint does; a warning is an error here.
        command = [program("haproxy", "haproxy"), "-W", "-db", "-dW", "-f", str(file)]
        log = self._logs / "proxy.log"
        container = Container("proxy", service, command, {}, self._rehearsal.folder, log)
        self._rehearsal.containers["proxy"] = container
        self._rehearsal.url, self._rehearsal.health = f"http://{port}", f"http://{health}"
        container.start()


def probe(url: str) -> tuple[int, Any]:
    """The status of an address, and what it says."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as response:  # noqa: S310 - an address of this machine
            return response.status, _json(response.read())
    except urllib.error.HTTPError as error:
        return error.code, _json(error.read())
    except OSError:
        return 0, None


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return None
