"""ctx.llm: a tool's own question to a model, counted on the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.context import LlmReply
from engine.providers.provider import Answer, ModelRequest, ProviderFailure
from engine.providers.retrying import delay
from engine.tool_error import ToolError
from models.content import text_of
from models.text import clean_json
from models.usage import Usage
from models.verbs.stepping import begin_subcall, finish_subcall

if TYPE_CHECKING:
    from engine.runner import Runner


class SubCalls:
    """Asks a model for one tool call; the same retries as for the run's own steps."""

    def __init__(self, runner: Runner, tool_call_id: str) -> None:
        self._runner = runner
        self._tool_call_id = tool_call_id

    async def __call__(
        self, messages: list[dict[str, Any]], *, system: str | None, model: str | None, max_tokens: int | None
    ) -> LlmReply:
        """What the model answers. Raises ToolError where it can't be asked."""
        shop, agent = self._runner.shop, self._runner.agent
        request = ModelRequest(
            model=model or agent.models[0],
            messages=clean_json(messages),
            system=system,
            max_tokens=max_tokens or agent.max_tokens,
        )
        if shop.allowed_models is not None and request.model not in shop.allowed_models:
            raise ToolError(f"The model {request.model!r} is not among the allowed ones.")
        tries = 0
        while True:
            tries += 1
            try:
                answer = await self._ask(request)
                return LlmReply(text_of(answer.blocks), answer.usage, answer.model, answer.stop_reason)
            except ProviderFailure as failure:
                pause = delay(tries, failure, shop.random)
                if pause is None:
                    raise ToolError(failure.shown) from failure
            await shop.sleep(pause)

    async def _ask(self, request: ModelRequest) -> Answer:
        shop, run = self._runner.shop, self._runner.run
        call = await shop.database.write(
            begin_subcall,
            run_id=run.id,
            fence=run.fence,
            tool_call_id=self._tool_call_id,
            model=request.model,
            ids=shop.ids,
            at=shop.clock(),
        )
        answer: Answer | None = None
        reported = Usage()
        try:
            async with shop.provider.stream(request) as response:
                try:
                    async for _ in response:
                        self._runner.patience.touch()
                    answer = response.answer
                finally:
                    reported = response.partial().usage if answer is None else answer.usage
            return answer
        finally:
            await shop.database.write(
                finish_subcall,
                model_call_id=call.id,
                usage=reported,
                model=answer.model if answer else None,
                stop_reason=answer.stop_reason if answer else None,
                request_id=answer.request_id if answer else None,
                at=shop.clock(),
            )
