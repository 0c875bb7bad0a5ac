"""Whether a turn goes in circles: told by its transcript alone. Pure.

One that repeats itself without getting anywhere is warned once, behind a result, and then stopped (engine/brakes.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from engine.brakes import Brakes
from models.call import ToolCall
from models.content import blocks_of_type, result_blocks
from models.enums import Role
from models.json_codec import dump_json
from models.message import Message
from models.run import Run

WARNING = "[Steersman: "
"""How every warning begins, on a line of its own behind a result."""
_Step: TypeAlias = tuple[tuple[str, str, str, bool], ...]
"""What one step called and was told: name, arguments, result and whether that was an error, call by call."""


def warning(brakes: Brakes, transcript: Sequence[Message], turn_steps: int) -> str | None:
    """What to tell the model behind the last results, where one more step of the same kind is too many.

    `turn_steps` is how many of the transcript's last steps belong to the turn.
    """
    for what, count, limit in _repetitions(brakes, transcript, turn_steps):
        if count == limit - 1:
            return (
                f"{WARNING}{what} {count} times in a row. If the next step is the same, the run is stopped. Do "
                "something else, or answer with what you have.]"
            )
    return None


def stuck(brakes: Brakes, transcript: Sequence[Message], turn_steps: int) -> str | None:
    """Why a turn of so many steps is to be stopped, in words for its owner; None where it may go on."""
    for what, count, limit in _repetitions(brakes, transcript, turn_steps):
        if count >= limit:
            return f"{what} {count} times in a row"
    return None


def preview(run: Run, transcript: Sequence[Message], calls: Sequence[ToolCall]) -> list[Message] | None:
    """The transcript as it will be with the results of its last answer's calls; None where it has none."""
    if not calls or any(call.is_open for call in calls) or transcript[-1].role is not Role.ASSISTANT:
        return None
    results = Message("", run.id, run.user_id, run.seq + 1, Role.USER, result_blocks(calls), run.steps, 0)
    return [*transcript, results]


def _repetitions(brakes: Brakes, transcript: Sequence[Message], turn_steps: int) -> Iterator[tuple[str, int, int]]:
    """Each way in which the last steps repeat themselves: in words, how often, and how often is too often."""
    most = min(turn_steps, max(brakes.identical, brakes.errors, 2 * brakes.alternating))
    steps = _steps(transcript, most) if most else []
    if not steps:
        return
    if brakes.identical:
        yield "The same calls with the same results came", _run_of(steps, 1), brakes.identical
    if brakes.errors and all(is_error for *_, is_error in steps[-1]):
        failed = [
            [result for _, _, result, _ in step] if all(is_error for *_, is_error in step) else [] for step in steps
        ]
        yield "The same errors came", _run_of(failed, 1), brakes.errors
    if brakes.alternating and len(steps) > 1 and steps[-1] != steps[-2]:
        yield "The same two steps took turns", _run_of(steps, 2) // 2, brakes.alternating


def _run_of(steps: Sequence[Any], period: int) -> int:
    """How many of the last steps repeat with this period."""
    count = min(period, len(steps))
    while count < len(steps) and steps[-count - 1] == steps[-count - 1 + period]:
        count += 1
    return count


def _steps(transcript: Sequence[Message], most: int) -> list[_Step]:
    """The last steps with calls since somebody last said something, `most` of them, each with what it was told."""
    steps: list[_Step] = []
    results: Message | None = None
    for message in reversed(transcript):
        if message.role is Role.USER:
            if _says_something(message):
                break
            results = message
        elif step := tuple(_calls(message, results)):
            steps.append(step)
            if len(steps) == most:
                break
    steps.reverse()
    return steps


def _says_something(message: Message) -> bool:
    blocks = message.content
    return not isinstance(blocks, list) or any(block.get("type") != "tool_result" for block in blocks)


def _calls(answer: Message, results: Message | None) -> Iterator[tuple[str, str, str, bool]]:
    uses = blocks_of_type(answer.content, "tool_use")
    told = blocks_of_type(None if results is None else results.content, "tool_result")
    for use, result in zip(uses, told, strict=False):
        text = str(result.get("content", "")).partition(f"\n{WARNING}")[0]
        yield str(use.get("name")), dump_json(use.get("input")), text, bool(result.get("is_error"))
