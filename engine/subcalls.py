"""ctx.llm: a tool's own question to a model, counted on the run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.budgets import ask_of
from engine.context import LlmReply
from engine.providers.fallback import Again, FallBack, after_failure
from engine.providers.provider import Answer, ModelRequest, ProviderFailure, known_usage
from engine.settlements import spent_words, unpriced_words
from engine.tool_error import ToolError
from models.content import text_of
from models.model_call import ModelCall
from models.spending import tokens_of
from models.text import clean_json
from models.usage import Usage
from models.verbs.errors import Spent, Unaffordable
from models.verbs.subcalling import begin_subcall, finish_subcall

if TYPE_CHECKING:
    from engine.runner import Runner


class SubCalls:
    """Asks a model for one tool call; the same retries as for the run's own steps, and the same models."""

    def __init__(self, runner: Runner, tool_call_id: str) -> None:
        self._runner = runner
        self._tool_call_id = tool_call_id

    async def __call__(
        self, messages: list[dict[str, Any]], *, system: str | None, model: str | None, max_tokens: int | None
    ) -> LlmReply:
        """What the model answers. Raises ToolError where it can't be asked, or not be paid for."""
        shop, agent = self._runner.shop, self._runner.agent
        models = self._runner.models if model is None else (model,)
        request = ModelRequest(
            model=model or self._runner.model,
            messages=clean_json(messages),
            system=system,
            max_tokens=max_tokens or agent.max_tokens,
        )
        if shop.allowed_models is not None and request.model not in shop.allowed_models:
            raise ToolError(f"The model {request.model!r} is not among the allowed ones.")
        tried: list[str] = []
        while True:
            tried.append(request.model)
            try:
                answer = await self._ask(request)
                return LlmReply(text_of(answer.blocks), answer.usage, answer.model, answer.stop_reason)
            except ProviderFailure as failure:
                match after_failure(failure, tried, models, shop.random):
                    case Again(pause):
                        await shop.sleep(pause)
                    case FallBack(following):
                        request = replace(request, model=following)
                    case None:
                        raise ToolError(failure.shown) from failure

    async def _begin(self, request: ModelRequest) -> ModelCall:
        """The call, with what it may take reserved. Raises ToolError where that can't be paid for."""
        shop, run = self._runner.shop, self._runner.run
        size = tokens_of([request.system, request.messages])
        ask = ask_of(
            request.model, size, request.max_tokens, prices=shop.prices, limits=shop.limits, roles=run.roles
        )  # fmt: skip
        try:
            return await shop.store(
                begin_subcall,
                run_id=run.id,
                fence=run.fence,
                model_call_id=shop.ids("mdl"),
                tool_call_id=self._tool_call_id,
                model=request.model,
                ask=ask,
                at=shop.clock(),
            )
        except Unaffordable as refusal:
            words = spent_words(refusal) if isinstance(refusal, Spent) else unpriced_words(refusal)
            raise ToolError(words) from refusal

    async def _ask(self, request: ModelRequest) -> Answer:
        shop = self._runner.shop
        call = await self._begin(request)
        request = replace(request, max_tokens=call.max_tokens or request.max_tokens)
        answer: Answer | None = None
        reported: Usage | None = None  # where it is stopped before anything came, its estimated input counts
        try:
            async with shop.provider.stream(request) as response:
                try:
                    async for _ in response:
                        self._runner.patience.touch()
                    answer = response.answer
                finally:
                    reported = known_usage(response) if answer is None else answer.usage
        except ProviderFailure:
            reported = reported or Usage()  # what a provider refuses it does not count
            raise
        else:
            return answer
        finally:
            run = await shop.store(
                finish_subcall,
                model_call_id=call.id,
                usage=reported,
                model=answer.model if answer else None,
                stop_reason=answer.stop_reason if answer else None,
                request_id=answer.request_id if answer else None,
                at=shop.clock(),
            )
            shop.bell.changed(run)  # its usage and its budget have moved
