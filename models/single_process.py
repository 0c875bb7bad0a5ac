"""One process a SQLite file: the second one is refused, since leases there end with the process that held them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import URL


class FileInUse(Exception):
    """Another process works on this SQLite file."""


@contextmanager
def hold_file(url: URL) -> Iterator[None]:
    """Hold the file beside a SQLite database for as long as this process works on it; PostgreSQL needs none.

    The lock is the operating system's and ends with the process, however it ends. Raises FileInUse.
    """
    if url.get_backend_name() != "sqlite" or url.database is None:
        yield
        return
    path = Path(f"{url.database}.lock")
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(handle, 64).decode(errors="replace").strip() or "unknown"
            message = f"{url.database} is in use by another Steersman process (pid {owner})"
            raise FileInUse(f"{message}; stop it first, or use PostgreSQL.") from None
        os.ftruncate(handle, 0)
        os.write(handle, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(handle)
