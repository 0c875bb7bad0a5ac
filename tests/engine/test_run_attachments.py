"""Runs with attachments: kept once, sent whole each time, and never what ends a run."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from engine.attachments.given import Given
from engine.errors import AgentInputQueueFull, AttachmentRefused, InputTooLarge, KeyReused
from engine.tool import tool
from models.attachment import attachments
from models.enums import RunStatus, SteerMode
from tests.support.messages_script import Script
from tests.support.pictures import encoded, noise, pdf, picture
from tests.support.stage import ALICE, Node, Stage

PNG, PDF = picture(), pdf(3)
IMAGE = Given(encoded(PNG), "image/png", "cat.png")
DOCUMENT = Given(encoded(PDF), "application/pdf", "terms.pdf")
SENT_IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": encoded(PNG)}}
SENT_DOCUMENT = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": encoded(PDF)},
    "title": "terms.pdf",
}


def text(said: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": said}


def sent(stage: Stage, request: int) -> list[list[dict[str, Any]]]:
    """The contents of a request's turns, without the cache's breakpoints."""
    return [
        [{name: value for name, value in block.items() if name != "cache_control"} for block in turn["content"]]
        for turn in stage.server.requests[request].messages
    ]


def stored(folder: Path) -> list[Path]:
    """The files that are kept."""
    return sorted(file for file in (folder / "files").rglob("*") if file.is_file())


def count(c: Connection) -> int:
    """How many attachments have a row."""
    return int(c.execute(select(func.count()).select_from(attachments)).scalar_one())


async def settled(node: Node, run_id: str) -> None:
    """The run has completed."""
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def left(stage: Stage, node: Node, run_id: str) -> None:
    """The process has ended, and who watched the run in it has seen all of it."""
    await stage.check_run(run_id)
    await stage.retire(node)


async def test_a_model_is_sent_the_file_and_the_row_has_its_id(stage: Stage) -> None:
    """Attachments come before the text, whole to the model and by reference in the transcript."""
    node = await stage.open()
    stage.play(Script().text("A cat, and terms."))
    run_id = await node.start("Look", attachments=[IMAGE, DOCUMENT])
    await settled(node, run_id)
    assert sent(stage, 0) == [[SENT_IMAGE, SENT_DOCUMENT, text("Look")]]
    image, document, words = (await stage.messages(run_id))[0].content
    assert (image["source"]["type"], image["source"]["media_type"]) == ("file", "image/png")
    assert image["source"]["file_id"].startswith("att_")
    assert (document["source"]["media_type"], document["title"]) == ("application/pdf", "terms.pdf")
    assert words == text("Look")


async def test_the_same_file_is_kept_once(stage: Stage) -> None:
    """Two uploads of one image are two rows and one file."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Two."))
    for _ in range(2):
        await settled(node, await node.start("Look", attachments=[IMAGE]))
    assert len(stored(stage.folder)) == 1
    assert await stage.database.read(count) == 2


async def test_later_steps_and_turns_have_it_too_after_a_restart(stage: Stage) -> None:
    """Every request carries what the transcript refers to, also from a process that has not seen it before."""

    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    node = await stage.open(tools=[look])
    stage.play(Script().tool("look"), Script().text("One."))
    run_id = await node.start("Look", attachments=[IMAGE])
    await settled(node, run_id)
    await left(stage, node, run_id)
    node = await stage.open(tools=[look])
    stage.play(Script().text("Two."))
    await node.steer(run_id, "And this?", attachments=[DOCUMENT])
    await settled(node, run_id)
    assert [turns[0] for turns in (sent(stage, number) for number in range(3))] == [[SENT_IMAGE, text("Look")]] * 3
    assert sent(stage, 2)[-1] == [SENT_DOCUMENT, text("And this?")]


@pytest.mark.parametrize("mode", [SteerMode.QUEUE, SteerMode.INTERRUPT])
async def test_what_is_queued_keeps_its_attachments(stage: Stage, mode: SteerMode) -> None:
    """An input that waits, or cuts the response, is folded in with what is attached to it, before its text."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    await stage.screen(run_id).shows("One.")
    await node.steer(run_id, "This", mode, attachments=[IMAGE])
    if mode is SteerMode.QUEUE:
        (waiting,) = (await stage.run(run_id)).pending
        assert [block["type"] for block in waiting.attached] == ["image"]
        release.set()
    await settled(node, run_id)
    assert sent(stage, 1)[-1] == [SENT_IMAGE, text("This")]
    release.set()


async def test_an_input_after_a_cancel_begins_its_turn_with_its_attachments(stage: Stage) -> None:
    """What is sent between a cancel and its end is the next turn, whole."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    await stage.screen(run_id).shows("One.")
    await asyncio.gather(node.cancel(run_id), node.steer(run_id, "This", attachments=[IMAGE]))
    release.set()
    await node.settled(run_id)
    image_turns = [message.content for message in await stage.messages(run_id) if isinstance(message.content, list)]
    assert any(block["type"] == "image" for content in image_turns for block in content)


async def test_a_fork_has_its_source_s_attachments(stage: Stage) -> None:
    """The copy refers to the same files, and a model is sent them."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Two."))
    run_id = await node.start("Look", attachments=[IMAGE])
    await settled(node, run_id)
    fork = await node.runs.fork(ALICE, run_id=run_id, seq=2, input="Again")
    await settled(node, fork.id)
    assert sent(stage, 1)[0] == [SENT_IMAGE, text("Look")]


async def test_a_file_that_has_gone_is_told_to_the_model(stage: Stage) -> None:
    """A run goes on without a file that somebody deleted; the model reads which one it lacks."""
    node = await stage.open()
    stage.play(Script().text("One."))
    run_id = await node.start("Look", attachments=[IMAGE])
    await settled(node, run_id)
    shutil.rmtree(stage.folder / "files")
    await left(stage, node, run_id)
    node = await stage.open()
    stage.play(Script().text("Two."))
    await node.steer(run_id, "And now?")
    await settled(node, run_id)
    gone = text("[The attachment 'cat.png' (image/png) can't be shown: its file is gone.]")
    assert sent(stage, 1)[0] == [gone, text("Look")]


async def test_a_store_that_is_away_is_waited_for(stage: Stage) -> None:
    """A model is asked again once the files can be read, as after any outage of its provider."""
    node = await stage.open()
    stage.play(Script().text("One."))
    run_id = await node.start("Look", attachments=[IMAGE])
    await settled(node, run_id)
    await left(stage, node, run_id)
    files, away = stage.folder / "files", stage.folder / "away"
    files.rename(away)
    files.write_text("in the way")
    stage.pauses.released.clear()
    node = await stage.open()
    stage.play(Script().text("Two."))
    await node.steer(run_id, "And now?")
    await stage.pauses.begun.wait()
    files.unlink()
    away.rename(files)
    stage.pauses.released.set()
    await settled(node, run_id)
    assert sent(stage, 1)[0] == [SENT_IMAGE, text("Look")]


async def test_no_row_names_what_a_refused_input_brought(stage: Stage) -> None:
    """Where the transaction does not commit, the file may stay, and nothing refers to it."""
    release = asyncio.Event()
    node = await stage.open()
    stage.play(Script().text("One.").hold(release), Script().text("Two."))
    run_id = await node.start()
    await node.steer(run_id, "x" * 32_768)
    with pytest.raises(AgentInputQueueFull):
        await node.steer(run_id, "This", attachments=[IMAGE])
    assert await stage.database.read(count) == 0
    assert len(stored(stage.folder)) == 1
    release.set()
    await settled(node, run_id)


async def test_nothing_is_stored_of_what_is_refused(stage: Stage) -> None:
    """A bad attachment, or a bad input beside a good one, leaves no run, no row and no file."""
    node = await stage.open()
    with pytest.raises(AttachmentRefused):
        await node.start("Look", attachments=[IMAGE, Given(encoded(b"no image"), "image/png")])
    with pytest.raises(InputTooLarge):
        await node.start("x" * 300_000, attachments=[IMAGE])
    assert await stage.database.read(count) == 0
    assert stored(stage.folder) == []
    assert stage.screens == {}


async def test_a_store_that_can_t_be_written_refuses_the_input(stage: Stage) -> None:
    """Nothing begins without its attachments: the caller is told to try again."""
    (stage.folder / "files").write_text("in the way")
    node = await stage.open()
    with pytest.raises(AttachmentRefused, match="try again"):
        await node.start("Look", attachments=[IMAGE])
    assert await stage.database.read(count) == 0


async def test_a_key_stands_for_the_attachments_too(stage: Stage) -> None:
    """The same key with the same files gives the same run; with another, or none, it is KEY_REUSED."""
    node = await stage.open()
    stage.play(Script().text("One."))
    large = Given(encoded(noise(size=(2_000, 100))), "image/png")
    first = await node.start("Look", attachments=[large], key="k")
    again = await node.runs.start(ALICE, agent="helper", input="Look", attachments=[large], key="k")
    assert again.run.id == first
    assert await stage.database.read(count) == 1
    for others in ([IMAGE], [], [large, large]):
        with pytest.raises(KeyReused):
            await node.runs.start(ALICE, agent="helper", input="Look", attachments=others, key="k")
    await settled(node, first)


async def test_a_request_never_grows_beyond_what_a_provider_takes(stage: Stage) -> None:
    """Where a conversation has more pages than one request carries, the oldest document is left out, and said to be."""
    node = await stage.open()
    stage.play(Script().text("One."), Script().text("Two."))
    run_id = await node.start("First", attachments=[Given(pdf(60), name="old.pdf")])
    await settled(node, run_id)
    await node.steer(run_id, "Second", attachments=[Given(pdf(61), name="new.pdf")])
    await settled(node, run_id)
    old, new = sent(stage, 1)[0][0], sent(stage, 1)[-1][0]
    assert "'old.pdf' (application/pdf) can't be shown" in old["text"]
    assert new["title"] == "new.pdf"
