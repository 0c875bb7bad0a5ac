"""One process a SQLite file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from models.single_process import FileInUse, hold_file

_HOLD = """
import sys
from sqlalchemy.engine import make_url
from models.single_process import hold_file
with hold_file(make_url(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_a_second_holder_is_refused_and_told_who_holds_the_file(tmp_path: Path) -> None:
    """Also within one process: the message names the process that has it."""
    url = make_url(f"sqlite:///{tmp_path}/a.db")
    with hold_file(url), pytest.raises(FileInUse, match=str(os.getpid())), hold_file(url):
        pass
    with hold_file(url):
        pass


def test_the_hold_ends_with_the_process_however_it_ends(tmp_path: Path) -> None:
    """A process that is killed leaves the file free."""
    address = f"sqlite:///{tmp_path}/a.db"
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD, address],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        with pytest.raises(FileInUse, match=str(child.pid)), hold_file(make_url(address)):
            pass
        child.kill()
    with hold_file(make_url(address)):
        pass


def test_a_file_held_is_let_go_where_the_work_fails(tmp_path: Path) -> None:
    """An exception within does not keep the file."""
    url = make_url(f"sqlite:///{tmp_path}/a.db")
    with pytest.raises(LookupError), hold_file(url):
        raise LookupError
    with hold_file(url):
        pass


def test_postgresql_needs_no_hold() -> None:
    """Any number of processes work on one PostgreSQL database."""
    url = make_url("postgresql://u@h/n")
    with hold_file(url), hold_file(url):
        pass
