"""Records for tests, with sensible values for what a test does not care about, and a way to store them."""

from __future__ import annotations

from typing import Any

from models.call import ToolCall, call_to_row, tool_calls
from models.clock import ManualClock
from models.database import Database
from models.enums import Role, RunStatus
from models.events import StreamEvent
from models.ids import Ids
from models.message import Message, agent_messages, message_to_row
from models.model_call import ModelCall, model_call_to_row, model_calls
from models.run import Run, agent_runs, run_to_row
from models.stream import Stream, event_to_row, stream_events, streams
from models.usage import Usage

NOW = 1_800_000_000_000
new_id = Ids(ManualClock(NOW))

Record = Run | Message | ToolCall | ModelCall | Stream | StreamEvent


def a_run(**values: Any) -> Run:
    """A completed run of alice with the agent "helper"."""
    given = {"id": new_id("run"), "user_id": "alice", "agent": "helper", "status": RunStatus.COMPLETED}
    return Run(**{**given, "created_at": NOW, "updated_at": NOW, **values})


def a_message(run: Run, seq: int, content: Any = "Hello", **values: Any) -> Message:
    """A message of a run; the user's unless told otherwise."""
    given: dict[str, Any] = {"id": new_id("msg"), "run_id": run.id, "user_id": run.user_id, "role": Role.USER}
    return Message(**{**given, "seq": seq, "content": content, "step": 0, "created_at": NOW, **values})


def a_call(run: Run, step: int, index: int = 0, **values: Any) -> ToolCall:
    """A tool call of a run."""
    given: dict[str, Any] = {"id": new_id("call"), "run_id": run.id, "agent": run.agent, "user_id": run.user_id}
    given |= {"step": step, "index": index, "provider_id": "toolu_1", "name": "add", "input": {"a": 1}}
    return ToolCall(**{**given, **values})


def a_model_call(run: Run, step: int, usage: Usage, **values: Any) -> ModelCall:
    """A finished model call of a run."""
    given: dict[str, Any] = {"id": new_id("mdl"), "run_id": run.id, "user_id": run.user_id, "stream_id": new_id("str")}
    given |= {"step": step, "attempt": 1, "model": "model-a", "usage": usage, "started_at": NOW, "finished_at": NOW}
    return ModelCall(**{**given, **values})


def a_stream(run: Run, generation: int = 1, **values: Any) -> Stream:
    """An ended stream of a run."""
    given: dict[str, Any] = {"id": new_id("str"), "run_id": run.id, "generation": generation, "reserved": 100}
    given |= {"steps_before": 0, "seq_before": 0, "ended": True, "created_at": NOW}
    return Stream(**{**given, **values})


async def store(database: Database, *records: Record) -> None:
    """Insert the records as rows, in their order."""
    await database.write(_insert, records)


def _insert(connection: Any, records: tuple[Record, ...]) -> None:
    for record in records:
        match record:
            case Run():
                connection.execute(agent_runs.insert(), run_to_row(record))
            case Message():
                connection.execute(agent_messages.insert(), message_to_row(record))
            case ToolCall():
                connection.execute(tool_calls.insert(), call_to_row(record))
            case ModelCall():
                connection.execute(model_calls.insert(), model_call_to_row(record))
            case Stream():
                values = {name: getattr(record, name) for name in Stream.__slots__}
                connection.execute(streams.insert(), values)
            case StreamEvent():
                connection.execute(stream_events.insert(), event_to_row(record))
