"""Transitions: a run's status moves as the table says, and is written in one place alone."""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.enums import ErrorCode, FinishReason, RunStatus, ToolCallState
from models.events import Failure
from models.transitions import TRANSITIONS, IllegalTransition, check_transition
from models.verbs.errors import Busy, LeaseLost, NothingToAnswer
from models.verbs.settling import End
from tests.support.desk import COMPLETED, Desk, Hands

ROOT = Path(__file__).parents[2]
FAILED = End(RunStatus.FAILED, FinishReason.ERROR, Failure(ErrorCode.PROVIDER_ERROR, "It broke."))
_statuses = st.sampled_from([None, *RunStatus])


@given(st.sampled_from(sorted(TRANSITIONS)), _statuses, st.sampled_from(RunStatus))
def test_only_the_moves_of_the_table_are_allowed(verb: str, before: RunStatus | None, after: RunStatus) -> None:
    """Every other one raises, whoever asks for it."""
    if after in TRANSITIONS[verb].get(before, ()):
        check_transition(verb, before, after)
    else:
        with pytest.raises(IllegalTransition):
            check_transition(verb, before, after)


def test_every_status_can_be_reached_and_left() -> None:
    """No status is a dead end, and none is made up."""
    moves = [(before, after) for moves in TRANSITIONS.values() for before, afters in moves.items() for after in afters]
    changed = [(before, after) for before, after in moves if before is not after]
    assert {after for _, after in changed} == set(RunStatus)
    assert {before for before, _ in changed} == {None, *RunStatus}


# ---------------------------------------------------------------- each verb from each status


async def _send(hands: Hands) -> None:
    await hands.desk.send(hands.id, "more")


async def _withdraw(hands: Hands) -> None:
    pending = (await hands.desk.run(hands.id)).pending
    await hands.desk.withdraw(hands.id, pending[0].id if pending else "inp_none")


async def _retry(hands: Hands) -> None:
    await hands.desk.retry(hands.id)


async def _cancel(hands: Hands) -> None:
    await hands.desk.cancel(hands.id)


async def _cancel_dead(hands: Hands) -> None:
    await hands.desk.lapse()
    await hands.desk.cancel(hands.id)


async def _take_over(hands: Hands) -> None:
    await hands.desk.lapse()
    await hands.desk.take()


async def _beat(hands: Hands) -> None:
    await hands.desk.beat(hands.pair)


async def _start(hands: Hands) -> None:
    await hands.start((await hands.desk.calls(hands.id, 1))[0])


async def _finish(hands: Hands) -> None:
    await hands.finish((await hands.desk.calls(hands.id, 1))[0], "no", ToolCallState.FAILED)


async def _settle(hands: Hands) -> None:
    await hands.settle(COMPLETED)


async def _fail(hands: Hands) -> None:
    await hands.settle(FAILED)


async def _settle_cancelled(hands: Hands) -> None:
    await hands.desk.force(hands.id, cancel_requested=True, cancel_ordinal=10)
    await hands.settle(COMPLETED)


VERBS: list[tuple[str, Callable[[Hands], Awaitable[object]]]] = [
    ("send", _send),
    ("withdraw", _withdraw),
    ("retry", _retry),
    ("request_cancel", _cancel),
    ("request_cancel", _cancel_dead),
    ("take_over", _take_over),
    ("beat", _beat),
    ("begin_step", Hands.begin),
    ("announce", Hands.announce),
    ("append_answer", Hands.answer),
    ("start_call", _start),
    ("finish_call", _finish),
    ("append_results", Hands.results),
    ("hand_back", Hands.hand_back),
    ("settle", _settle),
    ("settle", _fail),
    ("settle", _settle_cancelled),
]


async def _run_in(desk: Desk, status: RunStatus, *, queued: bool) -> Hands:
    """A run of that status whose last answer has an open call, with or without input that waits."""
    hands = await desk.open()
    await hands.call_tools()
    if queued:
        await desk.queue(hands.id, "waits")
    if status is not RunStatus.RUNNING:
        await desk.force(hands.id, status=str(status), lease_until=0)
    return hands


@pytest.mark.parametrize("queued", [False, True], ids=["empty", "queued"])
@pytest.mark.parametrize("status", RunStatus)
async def test_each_verb_from_each_status_lands_where_the_table_says(
    desk: Desk, status: RunStatus, queued: bool
) -> None:
    """Or it raises, or does nothing: then the row is as it was."""
    for name, verb in VERBS:
        hands = await _run_in(desk, status, queued=queued)
        allowed = TRANSITIONS[name].get(status, frozenset())
        before = await desk.run(hands.id)
        refused = False
        try:
            await verb(hands)
        except (LeaseLost, Busy, NothingToAnswer):
            refused = True
        after = await desk.run(hands.id)
        if refused or not allowed:
            assert after.status is before.status, name
            assert after.revision == before.revision, name
        else:
            assert after.status in allowed, name
        await desk.force(hands.id, status="COMPLETED")  # out of the way of the next one's take_over


async def test_a_fork_leaves_its_source_as_it_is(desk: Desk) -> None:
    """Whatever the source's status."""
    for status in RunStatus:
        hands = await _run_in(desk, status, queued=False)
        before = await desk.run(hands.id)
        for text in (None, "go on"):
            copy = await desk.fork(hands.id, 1, text)
            assert copy.run.status in TRANSITIONS["fork"][None]
        assert await desk.run(hands.id) == before


# ---------------------------------------------------------------- one place


def _sources() -> Iterator[tuple[str, ast.Module]]:
    for package in ("steersman", "resolvers", "schema", "engine", "models", "agents"):
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield str(path.relative_to(ROOT)), ast.parse(path.read_text())


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def _writes_runs(node: ast.AST) -> bool:
    """Whether it is `update(agent_runs)`, `agent_runs.insert()` or the like."""
    if not isinstance(node, ast.Call):
        return False
    words = ("insert", "update", "delete")
    if isinstance(node.func, ast.Name):
        return node.func.id in words and any(ast.unparse(argument) == "agent_runs" for argument in node.args)
    return isinstance(node.func, ast.Attribute) and node.func.attr in words and "agent_runs" in ast.unparse(node.func)


def test_a_status_is_written_in_one_place_alone() -> None:
    """insert_run, change_run and change_runs, all behind the table; what else touches a row writes the lease alone."""
    writers: dict[tuple[str, str], ast.AST] = {}
    for path, tree in _sources():
        for function in _functions(tree):
            if any(_writes_runs(node) for node in ast.walk(function)):
                writers[path, function.name] = function
        raw = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        assert not any("update agent_runs" in text.lower() for text in raw), path
    row, claiming = "models/verbs/row.py", "models/verbs/claiming.py"
    behind_table = {(row, "insert_run"), (row, "change_run"), (row, "change_runs")}
    lease_alone = {(claiming, "beat"), (claiming, "release_all")}
    assert set(writers) == behind_table | lease_alone
    for key in behind_table:
        assert "check_transition(verb, " in ast.unparse(writers[key])
    for key in lease_alone:
        values = [
            node
            for node in ast.walk(writers[key])
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "values"
        ]
        assert values
        for call in values:
            assert [keyword.arg for keyword in call.keywords] == ["lease_until"]
            assert call.args == []


def test_only_verbs_change_runs() -> None:
    """Nothing outside of models/verbs calls what writes a row, and each names a verb of the table."""
    named: set[str] = set()
    for path, tree in _sources():
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            if node.func.id in ("insert_run", "change_run", "change_runs", "begin_turn"):
                assert path.startswith("models/verbs/"), path
                named |= {str(word.value) for word in ast.walk(node.args[1]) if isinstance(word, ast.Constant)}
    assert named <= set(TRANSITIONS) | {"claim"}
    assert {"open", "fork", "settle", "request_cancel", "append_answer"} <= named
