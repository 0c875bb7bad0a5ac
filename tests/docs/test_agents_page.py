"""The code of docs/agents.md is real: its agents load and run, its tests pass, its messages are the ones that come."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from engine.agent import Agent
from engine.context import Context
from engine.executing import CANCELLED, GRACE_SECONDS
from engine.loading import load_agents
from engine.tool import tool
from models.content import INTERRUPTED, NOT_RUN
from steersman.testing import Call, ScriptedModel, no_real_models, open_client
from tests.support.markdown import prose
from tests.support.project import ROOT
from tests.support.written import blocks_of, files_of, write_files

PAGE = "agents.md"
FILES = files_of(PAGE)
CALLS = {
    "orders": [Call("find_order", {"order": "A-1042"})],
    "exporter": [Call("export"), Call("compress", {"parts": 2}), Call("summarize", {"text": "All went well."})],
    "refunds": [Call("refund", {"order": "A-1042"})],
}
"""What a model would call of each agent of the page: every tool once."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the files of the page."""
    write_files(FILES, tmp_path)
    return tmp_path


def test_the_agents_of_the_page_load_without_a_complaint(folder: Path) -> None:
    """No error and no warning."""
    agents = load_agents(folder / "agents")
    assert (agents.names(), agents.errors, agents.warnings) == (sorted(CALLS), [], [])


@pytest.mark.parametrize("name", CALLS)
async def test_every_tool_of_the_page_does_its_work(name: str, folder: Path) -> None:
    """Called by a scripted model, in a real run."""
    calls = CALLS[name]
    assert {call.name for call in calls} == set(load_agents(folder / "agents")[name].toolbox)
    sub_calls = ["In short: well."] if name == "exporter" else []
    model = ScriptedModel(calls, *sub_calls, "Done.")
    with no_real_models():
        async with open_client(folder / "agents", model) as client:
            result = await client.run(name, "Go on")
    assert [(call.state, call.is_error) for call in result.tool_calls] == [("SUCCEEDED", False)] * len(calls)
    assert (result.status, result.text) == ("COMPLETED", "Done.")


def test_the_tests_of_the_page_pass(folder: Path) -> None:
    """As they stand, in a folder that has the page's agents beside them."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "tests"]
    ours = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEERSMAN_", "ANTHROPIC_"))}
    ran = subprocess.run(command, cwd=folder, env=kept | ours, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"\b3 passed", ran.stdout)


def test_the_message_about_a_file_that_does_not_load_is_the_one_that_comes(folder: Path) -> None:
    """Word for word, as far as it is shown."""
    (shown,) = blocks_of(PAGE, "text")
    (error,) = load_agents(folder / "broken").errors
    assert shown.text.strip() in str(error)


async def test_the_call_from_python_gives_the_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's last block, run as a program beside an open engine."""
    (program,) = [block.text for block in blocks_of(PAGE, "python") if block.info == "python"]
    async with open_client(folder / "agents", ScriptedModel("It left yesterday.")):
        await asyncio.to_thread(exec, compile(program, PAGE, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == "COMPLETED It left yesterday.\n"


def test_the_tables_of_options_name_what_there_is_with_its_defaults() -> None:
    """Every option of `tool` and of Agent, and every member of the context; nothing else."""
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    tables = re.split(r"\n(?!\|)", page)
    rows = [dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", table, re.MULTILINE)) for table in tables]
    of_tool = next(row for row in rows if "max_result_chars" in row)
    of_agent = next(row for row in rows if "max_steps" in row)
    made = tool(test_the_tables_of_options_name_what_there_is_with_its_defaults)
    assert set(of_tool) == {"name", "description", "timeout", "max_result_chars", "on_crash"}
    for name in ("timeout", "max_result_chars", "on_crash"):
        assert _value(of_tool[name]) == str(getattr(made, name)).removesuffix(".0"), name
    fields = {field.name: field.default for field in dataclasses.fields(Agent) if field.init}
    assert set(of_agent) == set(fields) - {"system", "model", "tools", "name"}
    for name in set(of_agent) - {"description"}:
        assert _value(of_agent[name]) == str(fields[name]).removesuffix(".0"), name


def _value(cell: str) -> str:
    return cell.strip('`"').replace(",", "")


def test_every_member_of_the_context_is_explained() -> None:
    """Its public attributes and methods, but for what the engine alone uses."""
    page = prose((ROOT / "docs" / PAGE).read_text(encoding="utf-8"))
    context = Context[None](user_id="u", run_id="run_1", agent="a", tool_call_id="call_1")
    members = {name for name in {*vars(context), *dir(Context)} if not name.startswith("_")} - {"close"}
    assert [name for name in sorted(members) if f"`{name}" not in page and f"ctx.{name}" not in page] == []


def test_what_the_page_says_that_a_model_reads_is_what_it_reads() -> None:
    """The words that code has as constants, and the grace in its seconds."""
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert f"`{INTERRUPTED}`" in page
    assert f"`{CANCELLED}`" in page
    assert f"`{NOT_RUN}`" in page
    assert (GRACE_SECONDS, "within two seconds" in page) == (2.0, True)
