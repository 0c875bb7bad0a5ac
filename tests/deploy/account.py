"""Who the image's steps and processes run as: never root, as in the image; and the programs that such a one has."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.deploy.dockerfile import stages

_SYSTEM = ("/usr/local/sbin", "/usr/sbin", "/sbin")
_FITS = "import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))"


class ProgramMissing(Exception):
    """A program is not installed, or not for this account; the message says what to install."""


@dataclass(frozen=True, slots=True)
class Account:
    """A user by number: that of the image where root runs the tests, else who runs them."""

    uid: int
    gid: int

    def as_whom(self) -> dict[str, Any]:
        """The user in the words of `subprocess`."""
        if os.geteuid() != 0:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def owns(self, path: Path) -> None:
        """Give the account a file or folder, with all that is in it."""
        if os.geteuid() != 0:
            return
        for folder, _, files in os.walk(path):
            for one in (folder, *(os.path.join(folder, name) for name in files)):  # noqa: PTH118 - thousands of them
                os.chown(one, self.uid, self.gid, follow_symlinks=False)
        if not path.is_dir():
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


@cache
def account() -> Account:
    """The account of the image."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    uid, _, gid = stages()[-1].last("USER").rest.partition(":")
    return Account(int(uid), int(gid))


def program(name: str, package: str) -> str:
    """Where a program is that everybody may run. Raises ProgramMissing."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *_SYSTEM])
    for folder in path.split(os.pathsep):
        found = shutil.which(name, path=folder)
        if found is not None and _runs([found, "-v"]):
            return found
    raise ProgramMissing(f"{name} is not installed. On Debian and Ubuntu: apt-get install {package}")


@cache
def python() -> str:
    """A Python that can make environments. Raises ProgramMissing."""
    version = stages()[-1].base.removeprefix("python:").partition("-")[0]
    names = (f"python{version}", "python3")
    candidates = [str(Path(sys.base_prefix) / "bin" / "python3"), *(f"/usr/bin/{name}" for name in names)]
    candidates += [found for name in names if (found := shutil.which(name))]
    for candidate in candidates:
        if _runs([candidate, "-c", _FITS]):
            return candidate
    raise ProgramMissing(
        f"No Python 3.11 or newer with venv that the user {account().uid} may run. "
        "On Debian and Ubuntu: apt-get install python3-venv"
    )


def _runs(command: list[str]) -> bool:
    try:
        ran = subprocess.run(command, cwd="/", capture_output=True, check=False, timeout=60, **account().as_whom())
    except OSError:
        return False
    return ran.returncode == 0
