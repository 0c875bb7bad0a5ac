"""Checked answers as clients meet them: on the run, in RunResult, and in the transcript."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel

from engine.tool import tool
from tests.support.messages_script import Script
from tests.support.world import helper, kinds, world


class Answer(BaseModel):
    """What was found."""

    summary: str
    sources: list[str] = []


@tool
def search(query: str) -> str:
    """Search.

    Args:
        query: what for.
    """
    return f"something about {query}"


FITS = '{"summary": "They eat fish."}'
VALUE = {"summary": "They eat fish.", "sources": []}


async def test_a_checked_answer_is_the_output_of_run_and_result(tmp_path: Path) -> None:
    """After the tools' work and a correction, which are in the transcript; it is null while the turn is under way."""
    async with world(tmp_path, helper=helper(tools=[search], output=Answer)) as w:
        w.play(Script().tool("search", {"query": "pelicans"}), Script().text("Fish."), Script().text(FITS))
        alice = w.client("alice")
        run = await alice.start("What do pelicans eat?")
        assert run["output"] is None
        feed = await (await alice.watch_stream(run["streamId"])).end()
        assert feed.items[-1]["output"] == VALUE
        assert [kind for kind in kinds(feed.items) if kind != "TextDelta"] == [
            *["StepFinished", "ToolCallStarted", "ToolCallFinished"],
            *["StepFinished", "StepFinished", "RunResult"],
        ]
        end = await alice.run(run["id"])
        assert (end["status"], end["finish"], end["output"], end["steps"]) == ("COMPLETED", "STOP", VALUE, 3)
        *_, wrong, told, right = end["messages"]["nodes"]
        assert (wrong["text"], right["text"]) == ("Fish.", FITS)
        assert (told["role"], told["text"].partition("\n")[0]) == (
            "USER",
            "[Steersman: This is no final answer that fits its JSON schema:",
        )


async def test_an_answer_that_never_fits_fails_the_run_with_its_problems(tmp_path: Path) -> None:
    """OUTPUT_INVALID on the row and in RunResult; the next turn's answer is checked anew."""
    async with world(tmp_path, helper=helper(output=Answer)) as w:
        w.play(*[Script().text('{"sources": []}')] * 4, Script().text(FITS))
        alice = w.client("alice")
        run = await alice.settled((await alice.start())["id"])
        assert (run["status"], run["finish"], run["output"]) == ("FAILED", "ERROR", None)
        assert run["error"]["code"] == "OUTPUT_INVALID"
        assert "- summary: is missing" in run["error"]["message"]
        (*_, result) = await alice.stream(run["streamId"])
        assert (result["error"], result["output"], result["text"]) == (run["error"], None, '{"sources": []}')
        await alice.steer(run["id"], "Sum it up")
        assert (await alice.settled(run["id"]))["output"] == VALUE
