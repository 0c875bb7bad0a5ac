"""The brakes: what counts as going in circles, and what becomes of a run that does."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from engine.brakes import OFF, Brakes
from engine.circles import WARNING, stuck, warning
from engine.tool import tool
from engine.tool_error import ToolError
from models.enums import ErrorCode, FinishReason, Role, RunStatus
from models.message import Message
from tests.support.messages_script import Script
from tests.support.stage import ALICE, Stage

Step = list[tuple[str, Any, str, bool]]
BRAKES = Brakes(identical=4, errors=4, alternating=3)


def turn(*steps: Step | str) -> list[Message]:
    """A transcript: steps with their calls and results, or what the user says."""
    messages: list[Message] = []

    def add(role: Role, content: Any) -> None:
        seq = len(messages) + 1
        messages.append(Message(f"msg_{seq}", "run_1", "alice", seq, role, content, seq, 0))

    add(Role.USER, "Go")
    for step in steps:
        if isinstance(step, str):
            add(Role.USER, [{"type": "text", "text": step}])
            continue
        uses = [{"type": "tool_use", "id": str(n), "name": c[0], "input": c[1]} for n, c in enumerate(step)]
        told = [
            {"type": "tool_result", "tool_use_id": str(n), "content": c[2], "is_error": c[3]}
            for n, c in enumerate(step)
        ]
        add(Role.ASSISTANT, uses)
        add(Role.USER, told)
    return messages


def call(name: str = "look", given: Any = None, told: str = "nothing", *, failed: bool = False) -> Step:
    """A step of one call."""
    return [(name, given or {}, told, failed)]


SAME, OTHER = call(), call("find", {"q": 1}, "none")
FAILED = [call("look", {"n": n}, "tool failed (KeyError)", failed=True) for n in range(6)]


@pytest.mark.parametrize(
    ("steps", "warned", "stopped"),
    [
        ([SAME] * 2, False, False),
        ([SAME] * 3, True, False),
        ([SAME] * 4, False, True),
        ([OTHER, *[SAME] * 3], True, False),
        ([SAME, SAME, "Look again", SAME, SAME], False, False),
        ([call(told=str(n)) for n in range(9)], False, False),
        (FAILED[:3], True, False),
        (FAILED[:4], False, True),
        ([*FAILED[:3], SAME, FAILED[3]], False, False),
        ([SAME, OTHER] * 2, True, False),
        ([SAME, OTHER] * 3, False, True),
        ([SAME, OTHER, SAME, call("find", {"q": 1}, "found")] * 1, False, False),
        ([[*SAME, *OTHER]] * 4, False, True),
        ([], False, False),
    ],
)
def test_what_goes_in_circles_is_warned_once_and_then_stopped(
    steps: list[Step | str], warned: bool, stopped: bool
) -> None:
    """Identical steps, the same errors, two steps that take turns; what the user says begins anew."""
    told = turn(*steps)
    assert (warning(BRAKES, told, 99) is not None) == warned
    assert (stuck(BRAKES, told, 99) is not None) == stopped
    assert (warning(OFF, told, 99), stuck(OFF, told, 99)) == (None, None)


def test_a_warning_is_no_news_to_the_brakes() -> None:
    """A result with the warning behind it counts as the one without."""
    said = warning(BRAKES, turn(*[SAME] * 3), 3)
    assert stuck(BRAKES, turn(SAME, SAME, call(told=f"nothing\n{said}"), SAME), 4) is not None


@pytest.mark.parametrize("bad", [-1, 1, 2, True, 2.5, "3"])
def test_thresholds_that_make_no_sense_are_refused(bad: Any) -> None:
    """0 is off; below 3 there is no room for a warning."""
    with pytest.raises(ValueError, match="identical"):
        Brakes(identical=bad)


async def test_the_same_failing_call_is_not_made_for_ever(stage: Stage) -> None:
    """The model reads the warning with a result; then the run ends as STUCK, and a retry goes on."""

    @tool
    def fetch(page: str) -> str:
        """Fetch a page.

        Args:
            page: which.
        """
        raise ToolError("There is no such page.")

    node = await stage.open(tools=[fetch], brakes=BRAKES)
    stage.play(*[Script().tool("fetch", {"page": "x"})] * 4, Script().text("I give up."))
    run_id = await node.start()
    run = await node.settled(run_id)
    assert (run.status, run.finish) == (RunStatus.FAILED, FinishReason.STUCK)
    assert run.error is not None
    assert (run.error.code, "4 times in a row" in run.error.message) == (ErrorCode.LOOP_STOPPED, True)
    results = [
        request.messages[-1]["content"][0]["content"] for request in stage.server.requests if len(request.messages) > 1
    ]
    assert [WARNING in result for result in results] == [False, False, True]
    assert [one.result for one in (await stage.story(run_id)).calls] == ["There is no such page."] * 4
    await node.runs.retry(ALICE, run_id=run_id)
    assert (await node.settled(run_id)).status is RunStatus.COMPLETED


async def test_progress_is_left_alone(stage: Stage) -> None:
    """The same call with another result each time may go on to max_steps."""
    numbers = count()

    @tool
    def poll() -> int:
        """How far it is."""
        return next(numbers)

    node = await stage.open(tools=[poll], brakes=BRAKES)
    stage.play(*[Script().tool("poll")] * 12, Script().text("Done."))
    assert (await node.settled(await node.start())).status is RunStatus.COMPLETED
