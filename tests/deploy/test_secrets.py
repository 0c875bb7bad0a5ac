"""`make secrets` makes what compose asks for, once."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy import composed
from tests.deploy.composed import NotGiven
from tests.support.project import ROOT

SCRIPT = ROOT / "deploy" / "secrets.sh"


def make(folder: Path) -> str:
    """Run it on a folder; what it says."""
    ran = subprocess.run([SCRIPT, folder], check=True, capture_output=True, text=True, cwd=folder.parent)
    assert ran.stderr == ""
    return ran.stdout


def made(folder: Path) -> dict[str, str]:
    """The secrets that are there."""
    return {path.name: path.read_text(encoding="utf-8") for path in (folder / "secrets").iterdir()}


def given(folder: Path) -> dict[str, str]:
    """The variables of its .env."""
    lines = (folder / ".env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def test_the_linter_has_nothing_to_say() -> None:
    """Neither of this script nor of the one that checks everything."""
    command = [Path(sys.executable).parent / "shellcheck", SCRIPT, ROOT / ".ci/run"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.stdout + ran.stderr, ran.returncode) == ("", 0)


def test_it_makes_every_secret_that_compose_names(tmp_path: Path) -> None:
    """And no other."""
    make(tmp_path)
    assert set(made(tmp_path)) == set(composed.read({"SECRETS": "x", "ANTHROPIC_API_KEY": "x"})["secrets"])


def test_they_are_long_and_never_the_same(tmp_path: Path) -> None:
    """256 bits from the system's own source; the database's address holds its password."""
    for name in ("a", "b"):
        make(tmp_path / name)
    one, other = made(tmp_path / "a"), made(tmp_path / "b")
    values = [secrets[name].strip() for secrets in (one, other) for name in ("jwt_secret", "postgres_password")]
    assert len(set(values)) == 4
    assert all(len(bytes.fromhex(value)) == 32 for value in values)
    assert one["database_url"] == f"postgresql://steersman:{one['postgres_password'].strip()}@postgres:5432/steersman\n"


def test_what_is_there_is_never_changed(tmp_path: Path) -> None:
    """A password that a database was set up with can't be made again."""
    make(tmp_path)
    (tmp_path / ".env").write_text("SECRETS=elsewhere\n", encoding="utf-8")
    (tmp_path / "secrets/jwt_secret").unlink()
    before = made(tmp_path)
    assert make(tmp_path) == f"made {tmp_path}/secrets/jwt_secret\n"
    assert {**made(tmp_path), **before} == made(tmp_path)
    assert given(tmp_path) == {"SECRETS": "elsewhere"}


def test_they_are_for_their_owner_and_for_containers(tmp_path: Path) -> None:
    """The folder keeps others out; the user of a container, whoever that is, can read what is mounted from it."""
    make(tmp_path)
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "secrets").iterdir()} == {0o444}
    assert stat.S_IMODE((tmp_path / ".env").stat().st_mode) == 0o600


def test_the_key_alone_is_left_to_be_given(tmp_path: Path) -> None:
    """Compose asks for it by its name, and is content once it is there."""
    make(tmp_path)
    with pytest.raises(NotGiven, match=r"^ANTHROPIC_API_KEY: "):
        composed.services(given(tmp_path))
    assert composed.services({**given(tmp_path), "ANTHROPIC_API_KEY": "a key"})
    assert composed.read({**given(tmp_path), "ANTHROPIC_API_KEY": "x"})["secrets"]["jwt_secret"] == {
        "file": "./secrets/jwt_secret"
    }


def test_git_never_sees_them() -> None:
    """Nobody commits them by accident."""
    names = ["deploy/.env", "deploy/secrets/jwt_secret"]
    ran = subprocess.run(["git", "check-ignore", *names], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607 - whichever git there is
    assert ran.stdout.split() == names
