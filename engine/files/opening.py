"""Which store is meant."""

from __future__ import annotations

from pathlib import Path

from engine.files.bucket import Bucket
from engine.files.folder import Folder
from engine.files.store import FileStore
from models.database import normalize_url


def folder_beside(database_url: str) -> Path:
    """The folder that is used where none is named: beside a SQLite file, else in the working directory."""
    url = normalize_url(database_url)
    beside = Path(url.database).parent if url.get_backend_name() == "sqlite" and url.database else Path()
    return beside / "files"


def open_files(database_url: str, *, folder: Path | None, url: str | None, endpoint: str | None) -> FileStore:
    """The bucket of that address, else the folder, else the one beside the database. Nothing is asked of it yet."""
    if url is not None:
        return Bucket(url, endpoint)
    return Folder(folder_beside(database_url) if folder is None else folder)
