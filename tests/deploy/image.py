"""Carries out the steps of deploy/Dockerfile where there is no container engine: in a folder, and never as root.

What the image has below /srv is made below `root`: that prefix is replaced wherever it stands. Each stage begins in an
empty `root`, so that what it makes has the same paths as in the stages that copy it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.deploy.account import account, program, python
from tests.deploy.dockerfile import Instruction, Stage, context, stages
from tests.support.project import ROOT

LIMIT = 600.0
"""Seconds after which a step is ended that hangs; far above what any takes."""
_OWN = re.compile(r"(?<![\w.}/-])/srv(?=/|\b)")
_SAYS_NOTHING_HERE = {"LABEL", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD", "USER"}


Tell = Callable[[str], None]
"""Says how far it is."""


class StepFailed(Exception):
    """A step of the image failed; the message has its output."""


@dataclass(frozen=True, slots=True)
class Image:
    """The image as a folder."""

    root: Path

    def placed(self, text: str) -> str:
        """The text with the image's paths as they are here."""
        return _OWN.sub(f"{self.root}/srv", text)

    def environment(self, **more: str) -> dict[str, str]:
        """What a process in it finds set: the machine's own, what ENV sets, and `more`."""
        image = {name: self.placed(value) for name, value in stages()[-1].environment().items()}
        return {**_machine(), **image, "PATH": image["PATH"].replace("$PATH", os.environ["PATH"]), **more}

    def command(self, *words: str) -> list[str]:
        """The command line of a container that is given these words; none: what CMD says."""
        start = stages()[-1].last("ENTRYPOINT").words
        return [*start, *(words or stages()[-1].last("CMD").words)]

    @property
    def workdir(self) -> Path:
        """Where its processes start."""
        return self.path(stages()[-1].last("WORKDIR").rest)

    def path(self, name: str) -> Path:
        """A file or folder of the image, by its path there."""
        return Path(self.placed(name))

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of it to its end; its outputs are text."""
        return run(words, self.environment(**environment), self.workdir)


def build(folder: Path, tell: Tell) -> Image:
    """Build it in an empty folder that the account may enter; each step is told. Raises StepFailed, ProgramMissing."""
    builder = _Builder(folder, tell)
    for stage in stages():
        builder.build(stage)
    return Image(builder.root)


def run(
    words: Sequence[str], environment: Mapping[str, str], workdir: Path, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end as the image's user would, with nothing but this environment."""
    found = shutil.which(words[0], path=environment["PATH"])
    return subprocess.run(
        [found or words[0], *words[1:]],
        env=environment,
        cwd=workdir,
        stdin=subprocess.DEVNULL,
        text=True,
        check=False,
        timeout=LIMIT,
        umask=0o022,
        **{"capture_output": True, **more},
        **account().as_whom(),
    )


class _Builder:
    def __init__(self, folder: Path, tell: Tell) -> None:
        self.root = folder / "root"
        self._tell = tell
        self._stages = folder / "stages"
        self._home = folder / "home"
        self._base = folder / "base"
        self._workdir = self.root
        self._environment: dict[str, str] = {}
        for path in (self._stages, self._home, self._base):
            self._make(path)

    def build(self, stage: Stage) -> None:
        """One stage after another; each leaves its files in `stages`, the last one in `root`."""
        self._workdir, self._environment = self.root, {}
        self._make(self.root)
        self._begin_with(stage.base)
        for instruction in stage.instructions:
            began = time.monotonic()
            self._do(instruction)
            if instruction.word in ("RUN", "COPY"):
                took = time.monotonic() - began
                self._tell(f"{took:6.1f}s  {stage.name}: {instruction.word} {' '.join(instruction.rest.split())[:90]}")
        if stage is not stages()[-1]:
            self.root.rename(self._stages / stage.name)

    def _do(self, instruction: Instruction) -> None:
        if instruction.word == "RUN":
            self._run(["/bin/sh", "-c", self._placed(instruction.rest)])
        elif instruction.word == "COPY":
            self._copy(instruction)
        elif instruction.word == "WORKDIR":
            self._workdir = self._path(instruction.rest)
            self._make(self._workdir)
        elif instruction.word == "ENV":
            pairs = (word.partition("=") for word in instruction.words)
            self._environment |= {name: self._placed(value) for name, _, value in pairs if name != "PATH"}
        else:
            assert instruction.word in _SAYS_NOTHING_HERE, f"{instruction.word}: the rehearsal can't do that"

    # ------------------------------------------------------------------ what a base image brings

    def _begin_with(self, base: str) -> None:
        """Put its program first in PATH."""
        name = base.partition(":")[0]
        bin_folder = self._base / name / "bin"
        if not bin_folder.exists():
            if name == "python":
                self._run([python(), "-m", "venv", str(self._base / name)])
            else:
                assert name == "node", base
                self._make(bin_folder)
                (bin_folder / "node").symlink_to(program("node", "nodejs"))
                (bin_folder / "npm").symlink_to(program("npm", "npm"))
        self._environment["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"

    # ------------------------------------------------------------------ steps

    def _run(self, command: list[str]) -> None:
        environment = {**_machine(), "HOME": str(self._home), **self._environment}
        merged = {"capture_output": False, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        ran = run(command, environment, self._workdir, **merged)
        if ran.returncode:
            raise StepFailed(f"{command[-1]}\n{ran.stdout}")

    def _copy(self, instruction: Instruction) -> None:
        *sources, target = instruction.words
        aim = self._path(target)
        into = target.endswith("/") or len(sources) > 1
        origin = instruction.options.get("from")
        for source in sources:
            if origin is not None:
                _copy_tree(self._stages / origin / source.lstrip("/"), aim)
            elif (ROOT / source).is_dir():
                self._copy_from_context(Path(source), aim)
            else:
                self._copy_from_context(Path(source), aim / Path(source).name if into else aim)
        account().owns(aim)

    def _copy_from_context(self, source: Path, aim: Path) -> None:
        """What .dockerignore lets through of it, and there must be something."""
        found = [path for path in context() if path == source or source in path.parents]
        if not found:
            raise StepFailed(f".dockerignore keeps {source} out of the build")
        for path in found:
            copy = aim / path.relative_to(source)
            self._make(copy.parent)
            shutil.copy(ROOT / path, copy)

    def _path(self, text: str) -> Path:
        return self._workdir / self._placed(text)

    def _placed(self, text: str) -> str:
        return Image(self.root).placed(text)

    def _make(self, path: Path) -> None:
        """A folder of the account, and those above it."""
        if not path.exists():
            self._make(path.parent)
            path.mkdir(mode=0o755)
            account().owns(path)


def _copy_tree(source: Path, aim: Path) -> None:
    if not source.exists():
        raise StepFailed(f"{source} is not there to be copied")
    shutil.copytree(source, aim, symlinks=True, dirs_exist_ok=True)


def _machine() -> dict[str, str]:
    """The environment of this machine, without what is set for the project, its tests and its Python."""
    ours = ("STEERSMAN_", "ANTHROPIC_", "PYTHON", "PYTEST", "VIRTUAL_ENV", "MAKE", "MFLAGS", "npm_")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}
