"""The Dockerfile is sound, and what is built from it holds what it must and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from steersman.settings import read_settings
from tests.deploy.dockerfile import DOCKERFILE, Instruction, Stage, context, stages
from tests.support.project import ROOT

BIN = Path(sys.executable).parent
IMAGE = stages()[-1]
ALL = [instruction for stage in stages() for instruction in stage.instructions]
RUNS = [instruction for instruction in ALL if instruction.word == "RUN"]
COPIES = [copy for copy in ALL if copy.word == "COPY" and "from" not in copy.options]


def test_the_linter_has_nothing_to_say() -> None:
    """Hadolint takes it, with every rule on."""
    ran = subprocess.run([BIN / "hadolint", DOCKERFILE], capture_output=True, text=True, check=False)
    assert (ran.stdout + ran.stderr, ran.returncode) == ("", 0)


def test_the_linter_sees_what_is_wrong(tmp_path: Path) -> None:
    """A Dockerfile that ends as root, on any version, is refused: the linter is at work."""
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM python\nUSER root\n", encoding="utf-8")
    ran = subprocess.run([BIN / "hadolint", bad], capture_output=True, text=True, check=False)
    assert ran.returncode != 0
    assert "DL3002" in ran.stdout
    assert "DL3006" in ran.stdout


@pytest.mark.parametrize("stage", stages(), ids=lambda stage: stage.name)
def test_a_base_is_a_plain_name_with_a_version(stage: Stage) -> None:
    """Where it comes from is the engine's own setting; which version it is stands here."""
    assert re.fullmatch(r"[a-z]+:\d[\w.-]*", stage.base)


def test_it_runs_as_a_user_who_is_not_root() -> None:
    """By number, so that it needs no look into the image to know it."""
    uid, gid = (int(number) for number in IMAGE.last("USER").rest.split(":"))
    assert uid >= 10_000
    assert gid >= 10_000


def test_it_begins_with_the_command_and_is_stopped_by_its_signal() -> None:
    """`docker run steersman` serves, `docker run steersman worker` works; SIGTERM drains."""
    assert IMAGE.last("ENTRYPOINT").words == ["steersman"]
    assert IMAGE.last("CMD").words == ["serve"]
    assert IMAGE.last("STOPSIGNAL").rest == "SIGTERM"


def test_its_environment_is_one_of_settings_that_exist() -> None:
    """A setting that is gone would stop every start."""
    settings = read_settings(IMAGE.environment())
    assert settings.host == "0.0.0.0"  # noqa: S104 - in a container, from where it is published as its owner says
    assert str(settings.agents) == "/srv/steersman/agents"


def test_the_ports_that_it_names_are_those_that_are_listened_at() -> None:
    """`serve` and the probes of `worker`, by their defaults."""
    settings = read_settings(IMAGE.environment())
    assert IMAGE.last("EXPOSE").words == [str(settings.port), str(settings.worker_port)]


def test_nothing_that_builds_is_in_the_image() -> None:
    """Its last stage runs nothing; it takes what the others have made."""
    assert [instruction.word for instruction in IMAGE.instructions if instruction.word in ("RUN", "ADD")] == []


def test_packages_are_installed_by_their_hashes_and_never_compiled() -> None:
    """Each install is from a lock with hashes, or of the project's own wheel without any other."""
    installs = re.findall(r"pip (?:--python \S+ )?install (.*?)(?:&&|$)", " ".join(run.rest + " &&" for run in RUNS))
    assert len(installs) == 3
    for words in installs:
        assert ("--require-hashes" in words and "--only-binary :all:" in words) or "--no-deps --no-index" in words


@pytest.mark.parametrize("copy", COPIES, ids=lambda copy: copy.rest)
def test_what_is_copied_is_let_in(copy: Instruction) -> None:
    """.dockerignore leaves of each source at least one file."""
    there = context()
    for source in map(Path, copy.words[:-1]):
        assert [path for path in there if path == source or source in path.parents], source


def test_every_package_of_the_project_is_copied() -> None:
    """A folder that is imported and was forgotten here would be missed at the first start."""
    packages = {path.parent.relative_to(ROOT).parts[0] for path in ROOT.glob("*/__init__.py")}
    copied = {word for copy in COPIES for word in copy.words[:-1]}
    assert packages <= copied
    assert packages


@pytest.mark.parametrize(
    "name", [".env", ".git/config", "deploy/.env", "deploy/secrets/jwt_secret", "steersman.db", "agents/x.db"]
)
def test_what_is_secret_or_of_the_checkout_stays_out(name: str, tmp_path: Path) -> None:
    """Whoever has the image has none of it."""
    shutil.copy(ROOT / ".dockerignore", tmp_path)
    for path in (tmp_path / name, tmp_path / "pyproject.toml"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert context(tmp_path) == [Path("pyproject.toml")]


def test_the_health_check_needs_a_process_that_answers() -> None:
    """It fails where nobody listens; what it says of a real process is seen in the rehearsal."""
    environment = {**os.environ, "STEERSMAN_HOST": "127.0.0.1", "STEERSMAN_PORT": "1", "STEERSMAN_WORKER_PORT": "1"}
    ran = subprocess.run(
        [sys.executable, ROOT / "deploy/healthy.py"], env=environment, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, b"", b"")
