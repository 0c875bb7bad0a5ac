"""A turn that a server works on, watched over its GraphQL API; a lost connection is made again."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

from steersman.commands.asked import Asked
from steersman.commands.complaints import Complaint
from steersman.commands.event_json import Event
from steersman.commands.following import follow
from steersman.commands.graphql_socket import Gone, GraphQLSocket, Refused, open_socket
from steersman.commands.screen import Screen
from steersman.commands.showing import Show
from steersman.turns import Turn

PATIENCE = 60.0
"""Seconds without a connection after which it is given up; the run goes on at the server."""
_PAUSE = 0.5

_START = """mutation ($input: StartRunInput!) {
  startRun(input: $input) { run { id streamId } queued inputId errors { code message } }
}"""
_CANCEL = "mutation ($input: CancelRunInput!) { cancelRun(input: $input) { errors { code message } } }"
_RUN = "query ($id: ID!) { run(id: $id) { status pendingInput { id } } }"
_WATCH = """subscription ($runId: ID!, $streamId: ID, $after: Int!) {
  runStream(runId: $runId, streamId: $streamId, after: $after) {
    __typename streamId seq step attempt at
    ... on TextDelta { block offset text }
    ... on ReasoningDelta { block offset text }
    ... on ToolCallStarted { toolCallId name input }
    ... on ToolCallProgress { toolCallId message fraction }
    ... on ToolCallFinished { toolCallId name input result isError }
    ... on InputQueued { inputId queued }
    ... on InputApplied { inputIds messageSeq }
    ... on StepFinished { messageSeq stopReason usage { ...used } }
    ... on StepRestarted { reason }
    ... on ModelFellBack { from to reason }
    ... on ContextCompacted { tokensBefore tokensAfter }
    ... on CallsWaiting { calls { id } }
    ... on SubagentStarted { toolCallId runId agent }
    ... on SubagentFinished { toolCallId runId status }
    ... on RunResult {
      runId status finish text output model steps usage { ...used } cancelled error { code message }
    }
  }
}
fragment used on Usage { inputTokens outputTokens cacheReadTokens cacheWriteTokens cost }"""


async def run_there(asked: Asked, url: str, token: str | None, show: Show, screen: Screen) -> int:
    """Run it at the server; the exit code. Raises Complaint."""
    try:
        return await follow(There(asked, url, token, screen), show, screen)
    except Refused as error:
        raise Complaint(str(error)) from error
    except Gone as error:
        raise Complaint(str(error), exit_code=1) from error


class There:
    """A turn at a server; see following.Source."""

    def __init__(
        self, asked: Asked, url: str, token: str | None, screen: Screen, *, patience: float = PATIENCE
    ) -> None:
        self._asked = asked
        self._url = url
        self._token = token
        self._screen = screen
        self._patience = patience
        # The start is asked for again where its answer was lost: the key makes that the same run.
        self._key = str(uuid.uuid4())
        self._socket: GraphQLSocket | None = None
        self._turn: Turn | None = None
        self._run_id = ""
        self._place: dict[str, Any] = {"streamId": None, "after": 0}
        self._cancel = False
        self._lost = 0.0

    async def events(self) -> AsyncGenerator[Event]:
        """The turn's events, over as many connections as it takes. Raises Gone, Refused."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with open_socket(self._url, self._token) as self._socket, aclosing(self._watch()) as events:
                    async for event in events:
                        self._lost = 0.0
                        yield event
                    return
            except Gone as error:
                if not self._run_id:
                    raise
                if not self._lost:
                    self._lost = loop.time()
                    self._screen.note("The connection was lost; trying again.", "dim")
                if loop.time() - self._lost > self._patience:
                    raise Gone(f"{error} The run goes on at the server: {self._run_id}") from error
            finally:
                self._socket = None
            await asyncio.sleep(_PAUSE)

    async def cancel(self) -> bool:
        """Stop the run; where there is no connection, as soon as there is one."""
        self._cancel = True
        if self._socket is not None and self._run_id:
            with suppress(Gone):
                await self._send_cancel(self._socket)
                return True
        return False

    async def _watch(self) -> AsyncGenerator[Event]:
        socket = self._socket
        if socket is None:
            return
        if self._turn is None:
            self._turn = await self._start(socket)
        if self._cancel:
            await self._send_cancel(socket)
        async with aclosing(socket.subscribe(_WATCH, {"runId": self._run_id, **self._place})) as answers:
            async for answer in answers:
                event: Event = answer["runStream"]
                if event["__typename"] == "InputApplied":
                    self._turn.applied(event["inputIds"])
                elif event["__typename"] == "CallsWaiting":
                    event["callIds"] = [call["id"] for call in event.pop("calls")]
                self._place = {"streamId": event["streamId"], "after": event["seq"]}
                over = event["__typename"] == "RunResult" and await self._is_over(socket, self._turn)
                yield event
                if over:
                    return

    async def _start(self, socket: GraphQLSocket) -> Turn:
        given = {"agent": self._asked.agent, "input": self._asked.text, "key": self._key}
        if self._asked.run_id is not None:
            given["runId"] = self._asked.run_id
        payload = (await socket.ask(_START, {"input": given}))["startRun"]
        _raise_first(payload["errors"])
        self._run_id = payload["run"]["id"]
        self._place = {"streamId": payload["run"]["streamId"], "after": 0}
        if payload["queued"]:
            self._screen.note("The run is at work: what you said waits for its next step.", "dim")
        return Turn(payload["inputId"] if payload["queued"] else None)

    async def _send_cancel(self, socket: GraphQLSocket) -> None:
        given = {"runId": self._run_id, "reason": "Ctrl-C in the terminal"}
        _raise_first((await socket.ask(_CANCEL, {"input": given}))["cancelRun"]["errors"])

    async def _is_over(self, socket: GraphQLSocket, turn: Turn) -> bool:
        if turn.ends_with_its_stream:
            return True
        now = (await socket.ask(_RUN, {"id": self._run_id}))["run"]
        running = now is not None and now["status"] in ("RUNNING", "WAITING")
        return turn.is_over(running=running, pending=[item["id"] for item in now["pendingInput"]] if now else [])


def _raise_first(errors: list[dict[str, Any]]) -> None:
    if errors:
        raise Refused(f"{errors[0]['message']} ({errors[0]['code']})")
