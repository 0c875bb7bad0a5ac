"""Making room: a transcript that has come near its model's context limit is shortened for the requests to come."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.budgets import ask_of, likely_prompt_tokens, likely_tokens
from engine.compacting import SUMMARY_TOKENS, SYSTEM, Plan, limit_of, plan, shortened, to_sum_up, view
from engine.providers.fallback import Again, FallBack, after_failure
from engine.providers.provider import Answer, FailureKind, ModelRequest, ProviderFailure, known_usage
from models.call import ToolCall
from models.compaction import Compacted
from models.content import result_blocks, text_of
from models.model_call import ModelCall
from models.spending import BYTES_A_TOKEN, tokens_of
from models.usage import Usage
from models.verbs.compacting import SummedUp, compact
from models.verbs.errors import NoPrice
from models.verbs.subcalling import begin_subcall, finish_subcall

if TYPE_CHECKING:
    from engine.runner import Runner

log = logging.getLogger("steersman.run")
_MAX_NAME = 255


def is_full(runner: Runner, calls: Sequence[ToolCall] = ()) -> bool:
    """Whether room must be made before the model is asked again, with the results of these calls."""
    if runner.crowded or not runner.agent.compaction.at:
        return False
    inputs = [item.blocks for item in runner.run.pending]
    added = tokens_of([*result_blocks(calls), *inputs]) if calls or inputs else 0
    return _size(runner) + added > _limit(runner, _context(runner))


async def make_room(runner: Runner, *, refused: bool = False) -> bool:
    """Shorten what the model reads, where it has come near the limit, or a provider has `refused` it as too long.

    True where something was done. Raises Stopped, and Unaffordable where the summary can't be paid for. Where none can
    be had for other reasons the turn goes on without.
    """
    if runner.crowded or not runner.agent.compaction.at:
        return False
    await _learn_context(runner)
    if not refused and not is_full(runner):
        return False
    what = _plan(runner, refused=refused)
    if what is None:
        return False
    done = runner.compaction
    if what.summed_to == (done.summed_to if done is not None else 0):
        await _store(runner, what, done.summary if done is not None else None)
        return True
    made = await _sum_up(runner, what)
    runner.crowded = not made
    return made


# ---------------------------------------------------------------- sizes


def _size(runner: Runner) -> int:
    """How many tokens the next request is likely to have."""
    agent, since = runner.agent, runner.compaction.seq if runner.compaction is not None else 0
    return likely_prompt_tokens(agent.prompt, agent.definitions, runner.shown, runner.model, since)


def _context(runner: Runner) -> int:
    """The context of the model that the turn is on, as far as it is known without asking."""
    return runner.agent.compaction.context_tokens or runner.shop.context_of(runner.model)


def _limit(runner: Runner, context: int) -> int:
    agent = runner.agent
    return limit_of(agent.compaction, context, runner.run.step_max_tokens or agent.max_tokens)


async def _learn_context(runner: Runner) -> None:
    """Ask the provider for the model's context, where that may matter and nobody has told it."""
    shop = runner.shop
    if runner.agent.compaction.context_tokens is None and _size(runner) > shop.context_tokens // 4:
        await runner.until_stopped(shop.learn_context(runner.model))


def _plan(runner: Runner, *, refused: bool) -> Plan | None:
    compaction, context = runner.agent.compaction, _context(runner)
    return plan(
        runner.transcript,
        runner.compaction,
        compaction,
        size=likely_tokens,
        before=_size(runner),
        limit=_limit(runner, context),
        keep=int(context * compaction.keep) // (2 if refused else 1),
        must_sum_up=refused,
    )


# ---------------------------------------------------------------- what is done


async def _store(
    runner: Runner, what: Plan, summary: str | None, call: ModelCall | None = None, answer: Answer | None = None
) -> None:
    """Store a compaction, with the end of the call that wrote its summary."""
    shop, run = runner.shop, runner.run
    before = _size(runner)
    made = Compacted(
        id=shop.ids("cmp"),
        run_id=run.id,
        seq=run.seq,
        trimmed_to=what.trimmed_to,
        summed_to=what.summed_to,
        summary=summary,
        model_call_id=call.id if call is not None else None,
        tokens_before=before,
        tokens_after=0,
        created_at=shop.clock(),
    )
    shown = view(runner.transcript, made, runner.agent.compaction.trim)
    agent = runner.agent
    by_bytes = likely_prompt_tokens(agent.prompt, agent.definitions, shown, runner.model, run.seq)
    after = min(before - likely_tokens(runner.shown) + likely_tokens(shown), by_bytes)
    ended = None
    if answer is not None:
        request_id = answer.request_id[:_MAX_NAME] if answer.request_id else None
        reason = answer.stop_reason[:_MAX_NAME] if answer.stop_reason else None
        ended = SummedUp(answer.usage, answer.model[:_MAX_NAME], reason, request_id)
    made = replace(made, tokens_after=max(after, 0))
    await runner.verb(compact, compaction=made, summed_up=ended)
    runner.compaction = made


async def _sum_up(runner: Runner, what: Plan) -> bool:
    """Have the older part summed up, by the first of the models that can, and store that; False where none could."""
    text = to_sum_up(runner.transcript, runner.compaction, what.summed_to, runner.agent.compaction.trim)
    models = _models(runner)
    model, tried = models[0], list[str]()
    while True:
        tried.append(model)
        try:
            call, answer = await runner.until_stopped(_ask(runner, _request(runner, model, text), what.summed_to))
        except NoPrice:
            following = models[models.index(model) + 1 :]
            if not following:
                raise
            model, tried = following[0], []
            continue
        except ProviderFailure as failure:
            log.warning("the transcript could not be summed up", exc_info=failure, extra=runner.ids | {"model": model})
            match after_failure(failure, tried, models, runner.shop.random):
                case Again(pause):
                    await runner.until_stopped(runner.shop.sleep(pause))
                case FallBack(next_model):
                    model = next_model
                case None:
                    return False
            continue
        await _store(runner, what, text_of(answer.blocks), call, answer)
        return True


def _models(runner: Runner) -> tuple[str, ...]:
    """Who may write the summary, the cheaper one first: it gives way to those of the turn."""
    shop, place = runner.shop, runner.models.index(runner.model)
    wanted = runner.agent.compaction.model or shop.summary_model
    own = runner.models[place:]
    if wanted is None or wanted in own or (shop.allowed_models is not None and wanted not in shop.allowed_models):
        return own
    return (wanted, *own)


def _request(runner: Runner, model: str, text: str) -> ModelRequest:
    """What a model is asked that writes a summary: as much of the text as it can take."""
    room = max(runner.shop.context_of(model) - 2 * SUMMARY_TOKENS, SUMMARY_TOKENS) * BYTES_A_TOKEN
    while len(text.encode()) > room:
        text = shortened(text, min(len(text) - 200, room * len(text) // len(text.encode())))
    return ModelRequest(model, [{"role": "user", "content": text}], SYSTEM, max_tokens=SUMMARY_TOKENS)


async def _ask(runner: Runner, request: ModelRequest, summed_to: int) -> tuple[ModelCall, Answer]:
    """The answer of a call that is left open for the verb that stores it. Raises ProviderFailure, Unaffordable."""
    shop, run = runner.shop, runner.run
    size = tokens_of([request.system, request.messages])
    roles = run.roles
    ask = ask_of(request.model, size, request.max_tokens, prices=shop.prices, limits=shop.limits, roles=roles)
    call = await shop.store(
        begin_subcall,
        run_id=run.id,
        fence=run.fence,
        model_call_id=shop.ids("mdl"),
        tool_call_id=None,
        model=request.model,
        at=shop.clock(),
        ask=ask,
        summed_to=summed_to,
    )
    answer: Answer | None = None
    reported: Usage | None = None
    try:
        async with shop.provider.stream(replace(request, max_tokens=call.max_tokens or request.max_tokens)) as response:
            try:
                async for _ in response:
                    runner.patience.touch()
                found = response.answer
            finally:
                reported = known_usage(response)
        answer = _usable(found)
    except ProviderFailure as failure:
        reported = failure.usage or reported or Usage()  # what a provider refuses it does not count
        raise
    else:
        return call, answer
    finally:
        if answer is None:
            await shop.store(
                finish_subcall,
                model_call_id=call.id,
                usage=reported,
                model=None,
                stop_reason=None,
                request_id=None,
                at=shop.clock(),
            )


def _usable(answer: Answer) -> Answer:
    """The answer, where it says something. Raises ProviderFailure."""
    if not text_of(answer.blocks).strip():
        raise ProviderFailure(
            FailureKind.ERROR,
            f"the summary is empty, stop reason {answer.stop_reason}",
            shown="The model's provider sent an empty answer.",
            retryable=False,
            elsewhere=True,
            usage=answer.usage,
        )
    return answer
