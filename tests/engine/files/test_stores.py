"""Where files are kept: the same promises of a folder and of a bucket."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.files.bucket import Bucket
from engine.files.folder import Folder
from engine.files.opening import folder_beside, open_files
from engine.files.store import FilesAway, FileStore
from tests.support.s3_server import BUCKET, KEYS, s3_server

DATA = b"a picture" * 1_000
DIGEST = hashlib.sha256(DATA).hexdigest()


def files_in(folder: Path) -> list[str]:
    """The names of all files below a folder."""
    return [file.name for file in folder.rglob("*") if file.is_file()]


@pytest.fixture(params=["folder", "bucket"])
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FileStore]:
    """Each kind of store, empty."""
    if request.param == "folder":
        yield Folder(tmp_path / "deep" / "files")
        return
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    async with s3_server() as url:
        yield Bucket(f"s3://{BUCKET}/some/folder", url)


async def test_a_file_is_kept_under_its_hash(store: FileStore) -> None:
    """What was put is got; what was not is None; putting it again, also at once, changes nothing."""
    assert await store.get(DIGEST) is None
    await asyncio.gather(*(store.put(DIGEST, DATA) for _ in range(8)))
    await store.put(DIGEST, DATA)
    assert await store.get(DIGEST) == DATA


async def test_a_store_that_works_has_no_problem(store: FileStore) -> None:
    """Before the first file, when nothing is made by asking, and after it."""
    assert await store.problem() is None
    await store.put(DIGEST, DATA)
    assert await store.problem() is None


async def test_a_file_that_was_changed_counts_as_gone(tmp_path: Path) -> None:
    """Nothing else is ever given in its place; the next upload mends it where its size shows."""
    store = Folder(tmp_path)
    await store.put(DIGEST, DATA)
    file = tmp_path / DIGEST[:2] / DIGEST
    file.write_bytes(DATA[:-1])
    assert await store.get(DIGEST) is None
    await store.put(DIGEST, DATA)
    assert await store.get(DIGEST) == DATA


async def test_nothing_unfinished_stays_in_the_folder(tmp_path: Path) -> None:
    """A file shows under its name once it is whole; nothing else is there afterwards."""
    store = Folder(tmp_path)
    await store.put(DIGEST, DATA)
    assert files_in(tmp_path) == [DIGEST]


async def test_a_folder_that_can_t_be_written_is_told(tmp_path: Path) -> None:
    """A file in the folder's place is FilesAway, in words that name it."""
    (tmp_path / "files").write_text("in the way")
    store = Folder(tmp_path / "files")
    with pytest.raises(FilesAway, match="can't be written"):
        await store.put(DIGEST, DATA)
    with pytest.raises(FilesAway, match="can't be read"):
        await store.get(DIGEST)
    assert str(tmp_path / "files") in str(await store.problem())


async def test_a_bucket_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing bucket, and a server that does not answer, are FilesAway, never a missing file."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    async with s3_server() as url:
        store = Bucket("s3://nobodys", url)
        for asked in (store.put(DIGEST, DATA), store.get(DIGEST)):
            with pytest.raises(FilesAway, match="s3://nobodys"):
                await asked
        assert "s3://nobodys" in str(await store.problem())
    assert "can't be used" in str(await Bucket(f"s3://{BUCKET}", url).problem())


async def test_a_bucket_that_does_not_know_the_keys_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong keys are FilesAway, without the secret in the words."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hidden-word")
    async with s3_server() as url:
        problem = await Bucket(f"s3://{BUCKET}", url).problem()
    assert problem is not None
    assert "can't be used" in problem
    assert "hidden-word" not in problem


def test_the_folder_is_beside_the_database_by_default(tmp_path: Path) -> None:
    """A SQLite file has its files beside it; with PostgreSQL they are in the working directory."""
    assert folder_beside(f"sqlite:///{tmp_path}/steersman.db") == tmp_path / "files"
    assert folder_beside("sqlite:///steersman.db") == Path("files")
    assert folder_beside("postgresql://nobody@db/name") == Path("files")
    store = open_files("sqlite:///steersman.db", folder=tmp_path, url=None, endpoint=None)
    assert isinstance(store, Folder)
    assert store.path == tmp_path
    assert isinstance(open_files("sqlite:///x.db", folder=None, url="s3://bucket", endpoint=None), Bucket)
