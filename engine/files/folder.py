"""Files in a folder: written under another name, synced and renamed, so that none is ever half there."""

from __future__ import annotations

import logging
import os
import secrets
import time
from pathlib import Path

from engine.files.store import FilesAway, unchanged
from engine.threads import run_in_thread

log = logging.getLogger("steersman.files")
_UNFINISHED = ".unfinished"
_LEFT_AFTER = 86_400.0  # seconds after which a file that is still unfinished was left by a crash


class Folder:
    """A folder, made when the first file comes. Several machines need it on a disk that they share."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def put(self, digest: str, data: bytes) -> None:
        """See FileStore."""
        await run_in_thread(lambda: self._put(digest, data), "files")

    async def get(self, digest: str) -> bytes | None:
        """See FileStore."""
        return await run_in_thread(lambda: self._get(digest), "files")

    async def problem(self) -> str | None:
        """See FileStore."""
        return await run_in_thread(self._problem, "files")

    def _problem(self) -> str | None:
        there = next(folder for folder in (self.path, *self.path.absolute().parents) if folder.exists())
        if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
            return None
        return f"The folder {self.path} can't be {'written' if there == self.path else 'made'}"

    def _put(self, digest: str, data: bytes) -> None:
        file = self._file(digest)
        try:
            if file.is_file() and file.stat().st_size == len(data):
                return
            unfinished = self.path / _UNFINISHED / f"{digest}.{secrets.token_hex(8)}"
            for folder in (unfinished.parent, file.parent):
                folder.mkdir(parents=True, exist_ok=True)
            _forget_what_was_left(unfinished.parent)
            _write(unfinished, data)
            unfinished.replace(file)
            _sync_folders(file.parent, self.path)
        except OSError as error:
            raise FilesAway(f"The folder {self.path} can't be written: {error}") from error

    def _get(self, digest: str) -> bytes | None:
        try:
            data = self._file(digest).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FilesAway(f"The folder {self.path} can't be read: {error}") from error
        if unchanged(digest, data):
            return data
        log.error("the file %s is not what it was stored as; it counts as gone", self._file(digest))
        return None

    def _file(self, digest: str) -> Path:
        return self.path / digest[:2] / digest


def _write(file: Path, data: bytes) -> None:
    with file.open("xb") as opened:
        opened.write(data)
        opened.flush()
        os.fsync(opened.fileno())


def _sync_folders(*folders: Path) -> None:
    """A name is there after a power cut only once its folder was synced."""
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _forget_what_was_left(folder: Path) -> None:
    for file in folder.iterdir():
        try:
            if time.time() - file.stat().st_mtime > _LEFT_AFTER:
                file.unlink()
        except FileNotFoundError:  # finished, or forgotten by another, meanwhile
            continue
