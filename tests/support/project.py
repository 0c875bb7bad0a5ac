"""The project's own files, as its checks read them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def project_files() -> list[Path]:
    """Every file that belongs to the project, as git has it: committed or new, but not ignored.

    Raises CalledProcessError outside a git checkout.
    """
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - whichever git there is
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    names = sorted(name for name in listed.stdout.decode().split("\0") if name)
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def pages() -> list[Path]:
    """Every Markdown page of the project."""
    return [path for path in project_files() if path.suffix == ".md"]


def name_of(path: Path) -> str:
    """The path within the project, for messages and test ids."""
    return path.relative_to(ROOT).as_posix()
