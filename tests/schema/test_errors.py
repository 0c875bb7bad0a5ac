"""Refusals become data that names the argument at fault."""

from __future__ import annotations

import pytest

from engine.errors import InvalidInput, Refused, RunBusy, RunNotFound
from schema.errors import AgentRequiresUser, BadUserInput, RunIsMissing, user_errors


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (RunNotFound(field=("runId",)), ["input", "runId"]),
        (InvalidInput("too large", field=("metadata",)), ["input", "metadata"]),
        (InvalidInput("no such thing", field=("run_id",)), ["input", "runId"]),
        (InvalidInput("no field", field=("config", "system_prompt")), ["input", "config", "system_prompt"]),
        (InvalidInput("no option", field=("value", "config", "max_rows")), ["input", "value", "config", "max_rows"]),
        (RunBusy(), None),
    ],
)
def test_a_refusal_names_the_argument_at_fault(refused: Refused, field: list[str] | None) -> None:
    """The path is what the client sent, in its own spelling; null where no argument is at fault."""
    (error,) = user_errors(refused)
    assert (error.code, error.message, error.field) == (refused.code, refused.message, field)


@pytest.mark.parametrize(
    ("kind", "code"),
    [(AgentRequiresUser, "AGENT_REQUIRES_USER"), (BadUserInput, "BAD_USER_INPUT"), (RunIsMissing, "RUN_NOT_FOUND")],
)
def test_a_top_level_error_has_a_stable_code(kind: type[BadUserInput], code: str) -> None:
    """The code stands in the extensions, the docstring is the message unless another is given."""
    assert kind().extensions == {"code": code}
    assert kind().message
    assert kind("other words").message == "other words"
