"""Listening to a model: its deltas are published as they come, its answer made ready to store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.providers.provider import Answer, ModelRequest, Response, known_usage
from models.usage import Usage
from models.verbs.stepping import Answered, NewCall, StepStart

if TYPE_CHECKING:
    from engine.runner import Runner

MAX_MODEL = 255  # characters of a model's name, a stop reason and a request id that are kept


class Listener:
    """One attempt at one step."""

    def __init__(self, runner: Runner, start: StepStart) -> None:
        self._runner = runner
        self._start = start
        self._response: Response | None = None
        self._first_token_at: int | None = None

    async def listen(self, request: ModelRequest) -> Answer:
        """Publish what comes; the whole answer. Raises ProviderFailure."""
        publisher, patience = self._runner.publisher, self._runner.patience
        step, attempt = self._start.step, self._start.attempt
        publisher.begin_attempt()
        async with self._runner.shop.provider.stream(request) as response:
            self._response = response
            async for delta in response:
                if self._first_token_at is None:
                    self._first_token_at = self._runner.shop.clock()
                publisher.delta(delta.kind, step, attempt, delta.block, delta.text)
                patience.touch()
                if publisher.is_low:
                    await self._runner.reserve()
            return response.answer

    def shown(self) -> Answered | None:
        """What was shown of a response that was stopped; None where nothing was."""
        if self._response is None:
            return None
        partial = self._response.partial()
        return self.answered(partial) if partial.blocks else None

    def answered(self, answer: Answer) -> Answered:
        """An answer of this attempt, as a verb stores it."""
        return _answered(answer, self._start, self._first_token_at)

    def reported(self) -> Usage | None:
        """What the provider had reported of the response until now; None where nothing had come."""
        return None if self._response is None else known_usage(self._response)


def _answered(answer: Answer, start: StepStart, first_token_at: int | None) -> Answered:
    calls: list[NewCall] = []
    for position, block in enumerate(answer.blocks):
        if block.get("type") != "tool_use":
            continue
        given = answer.broken.get(position, block.get("input"))
        name, provider_id = str(block.get("name", "")), str(block.get("id", ""))
        calls.append(NewCall(len(calls), provider_id, name, given))
    return Answered(
        step=start.step,
        attempt=start.attempt,
        blocks=answer.blocks,
        stop_reason=answer.stop_reason[:MAX_MODEL] if answer.stop_reason else None,
        usage=answer.usage,
        model=start.model,
        reported_model=answer.model[:MAX_MODEL],
        request_id=answer.request_id[:MAX_MODEL] if answer.request_id else None,
        calls=tuple(calls),
        first_token_at=first_token_at,
    )
