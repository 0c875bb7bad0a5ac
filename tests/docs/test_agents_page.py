"""The code of docs/agents.md is real: its agents load and run, its tests pass, its messages are the ones that come."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest

import steersman
from engine.agent import Agent
from engine.builtin.registry import BUILTIN
from engine.compaction import Compaction
from engine.context import Context
from engine.decide import MAX_CORRECTIONS
from engine.engine import Engine
from engine.errors import NotAllowedToDecide
from engine.executing import CANCELLED, GRACE_SECONDS
from engine.kinds import configured
from engine.loading import load_agents
from engine.output import CORRECTION
from engine.tool import tool
from engine.user import User
from models.content import INTERRUPTED, NOT_RUN
from steersman import testing
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
    "receptionist": [Call("opening_hours")],
    "digest": [Call("digest", {"topics": ["one", "two", "three", "four", "five"]})],
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
    names = sorted([*CALLS, "companion", "concierge", "greeter", "payments", "triage"])
    assert (agents.names(), agents.errors, agents.warnings) == (names, [], [])


def test_the_kind_of_the_page_is_what_its_configuration_says(folder: Path) -> None:
    """Its system prompt and its model."""
    kind = load_agents(folder / "agents")["receptionist"]
    agent = configured(kind, {"company": "Pen & Co", "thorough": True})
    assert agent.system == "You are the receptionist of Pen & Co. Be brief."
    assert agent.models == ("claude-opus-5-5",)


@pytest.mark.parametrize("name", CALLS)
async def test_every_tool_of_the_page_does_its_work(name: str, folder: Path) -> None:
    """Called by a scripted model, in a real run."""
    calls = CALLS[name]
    assert {call.name for call in calls} == set(load_agents(folder / "agents")[name].toolbox)
    sub_calls = ["In short: well."] * {"exporter": 1, "digest": 5}.get(name, 0)
    model = ScriptedModel(calls, *sub_calls, "Done.")
    with no_real_models():
        async with open_client(folder / "agents", model) as client:
            result = await client.run(name, "Go on")
    assert [(call.state, call.is_error) for call in result.tool_calls] == [("SUCCEEDED", False)] * len(calls)
    assert (result.status, result.text) == ("COMPLETED", "Done.")


async def test_the_concierge_of_the_page_hands_tasks_on(folder: Path) -> None:
    """To a run of the other agent, whose answer is what it reads."""
    model = ScriptedModel([Call("orders", {"task": "Where is A-1042?"})], "On its way.", "It is on its way.")
    async with open_client(folder / "agents", model) as client:
        result = await client.run("concierge", "Where is A-1042?")
    (call,) = result.tool_calls
    assert (result.text, call.name, call.result) == ("It is on its way.", "orders", "On its way.")
    assert call.child_run_id not in (None, result.run_id)


async def test_large_payments_of_the_page_wait_for_the_accountants(folder: Path) -> None:
    """And for nobody else; small ones are paid at once."""
    small, large = (
        Call("pay", {"supplier": "Ink & Co", "amount": 20}),
        Call("pay", {"supplier": "Ink & Co", "amount": 500}),
    )
    async with open_client(folder / "agents", ScriptedModel([small, large], "Paid.")) as client:
        result = await client.run("payments", "Pay both")
        (call,) = result.pending
        assert (result.status, result.finish, call.approvers) == ("WAITING", "APPROVAL", "accounting")
        with pytest.raises(NotAllowedToDecide):
            await client.decide(result.run_id, approve=[call.id])
        paid = await client.decide(result.run_id, approve=[call.id], as_user="ada", roles=["accounting"])
    assert (paid.status, paid.text) == ("COMPLETED", "Paid.")
    assert [one.result.partition(" under")[0] for one in paid.tool_calls] == ["Paid 500 to Ink & Co"]


def test_the_tests_of_the_page_pass(folder: Path) -> None:
    """As they stand, in a folder that has the page's agents beside them."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto", "tests"]
    ours = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("STEERSMAN_", "ANTHROPIC_"))}
    ran = subprocess.run(command, cwd=folder, env=kept | ours, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert re.search(r"\b10 passed", ran.stdout)


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
    options = {"timeout", "max_result_chars", "on_crash", "approval", "approvers", "expires", "client"}
    assert set(of_tool) == {"name", "description"} | options
    for name in sorted(options):
        assert _value(of_tool[name]) == str(getattr(made, name)).removesuffix(".0"), name
    fields = {field.name: field.default for field in dataclasses.fields(Agent) if field.init}
    assert set(of_agent) == set(fields) - {"system", "model", "tools", "name", "config"}
    for name in set(of_agent) - {"description", "output", "budget", "brakes", "compaction", "fields", "configure"}:
        assert _value(of_agent[name]) == str(fields[name]).removesuffix(".0"), name


def test_the_table_of_compaction_names_what_there_is_with_its_defaults() -> None:
    """Every option, and nothing else."""
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    tables = [dict(re.findall(r"^\| `(\w+)` \| ([^|]+?) \|", one, re.MULTILINE)) for one in re.split(r"\n(?!\|)", page)]
    table = next(rows for rows in tables if "keep" in rows)
    usual = {field.name: field.default for field in dataclasses.fields(Compaction)}
    assert set(table) == set(usual)
    assert {name: _value(table[name]) for name in ("at", "keep", "trim")} == {
        name: str(usual[name]) for name in ("at", "keep", "trim")
    }


def _value(cell: str) -> str:
    return cell.strip('`"').replace(",", "")


def test_the_table_of_tool_types_names_what_there_is_and_what_each_takes() -> None:
    """Every type with every option of its own, and nothing else."""
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    part = page.partition("## Built-in tool types")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", part, re.MULTILINE)
    own = {
        name: sorted(set(one.config.model_fields) - {"description"}) if one.config else []
        for name, one in BUILTIN.items()
    }
    assert {name: sorted(re.findall(r"`(\w+)`", cell)) for name, cell in rows} == own


def test_every_member_of_the_context_is_explained() -> None:
    """Its public attributes and methods, but for what the engine alone uses."""
    page = prose((ROOT / "docs" / PAGE).read_text(encoding="utf-8"))
    context = Context[None](user_id="u", run_id="run_1", agent="a", tool_call_id="call_1")
    members = {name for name in {*vars(context), *dir(Context)} if not name.startswith("_")} - {"close"}
    assert [name for name in sorted(members) if f"`{name}" not in page and f"ctx.{name}" not in page] == []


def test_every_argument_of_a_call_and_every_field_of_its_result_is_explained() -> None:
    """Of `steersman.run`, `start_run` and Result; nothing else."""
    part = (ROOT / "docs" / PAGE).read_text(encoding="utf-8").partition("## Calling agents from Python")[2]
    arguments, fields = (
        {name for cell in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", cell)}
        for table in (part.partition("| field |")[0], part.partition("| field |")[2])
    )
    assert arguments == set(inspect.signature(steersman.run).parameters) - {"agent", "input"}
    assert arguments - {"on_event"} == set(inspect.signature(steersman.start_run).parameters) - {"agent", "input"}
    assert fields == {field.name for field in dataclasses.fields(steersman.Result)}


def test_every_part_of_the_testing_kit_is_explained() -> None:
    """What it exports, and every public member of its client; the table names nothing else."""
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    part = page.partition("## Testing an agent")[2].partition("\n## ")[0]
    assert [name for name in testing.__all__ if not re.search(rf"\b{name}\b", part)] == []
    cells = re.findall(r"^\| (`[^|]+) \|", part, re.MULTILINE)
    named = {name for cell in cells for name in re.findall(r"`(\w+)", cell)}
    client = testing.Client(cast(Engine, None), User("tester", frozenset()))
    assert named == {name for name in {*vars(client), *dir(client)} if not name.startswith("_")}


def test_what_the_page_says_that_a_model_reads_is_what_it_reads() -> None:
    """The words that code has as constants, and the grace in its seconds."""
    page = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    assert f"`{INTERRUPTED}`" in page
    assert f"`{CANCELLED}`" in page
    assert f"`{NOT_RUN}`" in page
    assert CORRECTION.startswith("[Steersman: ")
    assert "begins with `[Steersman: `" in page
    assert (MAX_CORRECTIONS, "up to three times in a turn" in page) == (3, True)
    assert (GRACE_SECONDS, "within two seconds" in page) == (2.0, True)
