"""The image, built once, and everything that compose.yaml describes, started once for the tests of this folder."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from tests.deploy.account import account
from tests.deploy.image import Image, Tell, build
from tests.deploy.rehearsal import Rehearsal, start
from tests.support.project import ROOT


@pytest.fixture(scope="session")
def tell(request: pytest.FixtureRequest) -> Tell:
    """Prints at once, so that who waits sees how far it is."""
    capture = request.config.pluginmanager.get_plugin("capturemanager")

    def say(text: str) -> None:
        with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()

    return say


@pytest.fixture(scope="session")
def image(tell: Tell) -> Iterator[Image]:
    """The image's files, made by the steps of the Dockerfile."""
    with _folder("image") as folder:
        yield build(folder, tell)


@pytest.fixture(scope="session")
def model() -> Iterator[str]:
    """The address of a model that talks for a while: three steps of text, a tool after each but the last."""
    command = [sys.executable, "-m", "tests.support.messages_process"]
    command += ["--steps", "3", "--deltas", "60", "--pace", "25"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


@pytest.fixture(scope="session")
def stage(image: Image, model: str, tell: Tell, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsal]:
    """Everything, started as compose would; pytest keeps the logs."""
    given = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": model}
    with _folder("rehearsal") as folder:
        rehearsal = asyncio.run(start(folder, image, given, tmp_path_factory.mktemp("logs"), tell))
        try:
            yield rehearsal
        finally:
            asyncio.run(rehearsal.close())


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    """A folder that the image's user may enter, which pytest's own are not."""
    path = Path(tempfile.mkdtemp(prefix=f"steersman-{name}-"))
    try:
        path.chmod(0o755)
        account().owns(path)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
