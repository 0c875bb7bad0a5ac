"""What an event tells beyond its envelope, as a JSON object and back: for rows, and on the way between processes."""

from __future__ import annotations

import dataclasses
from typing import Any

from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import KINDS, Failure, RunResult, StreamEvent, SubagentFinished
from models.usage import Usage

ENVELOPE = ("stream_id", "seq", "step", "attempt", "at")


def body_of(event: StreamEvent) -> dict[str, Any]:
    """The event's own fields, by name, of JSON values alone."""
    body = {field.name: getattr(event, field.name) for field in dataclasses.fields(event) if field.name not in ENVELOPE}
    for name, value in body.items():
        if isinstance(value, Usage):
            body[name] = value.to_json()
        elif isinstance(value, Failure):
            body[name] = {"code": value.code, "message": value.message}
    return body


def event_of(kind: str, body: dict[str, Any], **envelope: Any) -> StreamEvent:
    """Back from `body_of`. Raises KeyError, TypeError or ValueError where the body is not one of this kind."""
    made = KINDS[kind]
    fields = dict(body)
    if "usage" in fields:
        fields["usage"] = Usage.from_json(fields["usage"])
    if issubclass(made, SubagentFinished):
        fields["status"] = RunStatus(fields["status"])
    if issubclass(made, RunResult):
        error = fields["error"]
        fields["status"], fields["finish"] = RunStatus(fields["status"]), FinishReason(fields["finish"])
        fields["error"] = Failure(ErrorCode(error["code"]), error["message"]) if error else None
    return made(**envelope, **fields)
