"""How runs fail: the ends that the loop gives them, in words for their owners."""

from __future__ import annotations

from engine.agent import Agent
from engine.patience import TURN_FACTOR
from engine.providers.provider import FailureKind, ProviderFailure
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import Failure
from models.model_call import decimal_of
from models.purse import PurseKind
from models.run import Run
from models.verbs.claiming import MAX_TAKEOVERS
from models.verbs.errors import NoPrice, Spent, Unaffordable
from models.verbs.settling import End

_CODES = {
    FailureKind.ERROR: ErrorCode.PROVIDER_ERROR,
    FailureKind.OVERLOADED: ErrorCode.PROVIDER_OVERLOADED,
    FailureKind.TIMEOUT: ErrorCode.PROVIDER_TIMEOUT,
    FailureKind.TOO_LONG: ErrorCode.PROVIDER_ERROR,
}


def failed(code: ErrorCode, message: str) -> End:
    """FAILED with finish ERROR."""
    return End(RunStatus.FAILED, FinishReason.ERROR, Failure(code, message))


def provider_failed(failure: ProviderFailure) -> End:
    """The model's provider has failed as often as it may."""
    return failed(_CODES[failure.kind], failure.shown)


def timed_out(agent: Agent) -> End:
    """The turn took too long."""
    limit = f"{agent.timeout:g} seconds without progress, or {agent.timeout * TURN_FACTOR:g} altogether"
    return failed(ErrorCode.RUN_TIMEOUT, f"The run took longer than its agent allows: {limit}.")


def crashed(agent: Agent, run: Run, why: str) -> End | None:
    """The end of a run whose workers keep dying, or whose agent does not want to go on after a crash."""
    if why != "takeover":
        return None
    if agent.on_crash == "fail":
        return failed(ErrorCode.RUN_INTERRUPTED, "The run was interrupted by a crash; retry it, or send a new input.")
    if run.takeovers >= MAX_TAKEOVERS:
        message = (
            f"The run was interrupted {MAX_TAKEOVERS} times without finishing a step; retry it when the cause is gone."
        )
        return failed(ErrorCode.RUN_INTERRUPTED, message)
    return None


def defect() -> End:
    """Something in the server went wrong; the log has it whole."""
    return failed(ErrorCode.RUN_INTERRUPTED, "The run was interrupted by an error in the server; retry it.")


def going_in_circles(how: str) -> End:
    """The brakes have stopped the turn."""
    message = f"{how}, so the agent was stopped. Say what it should do instead, or retry."
    return End(RunStatus.FAILED, FinishReason.STUCK, Failure(ErrorCode.LOOP_STOPPED, message))


def code_gone(run: Run) -> End:
    """The code of the run's agent, or of its kind, is no longer there."""
    if run.kind is not None:
        message = (
            f"The kind {run.kind!r} of the agent {run.agent!r} is not there any more; put its file back and retry."
        )
        return failed(ErrorCode.KIND_UNAVAILABLE, message)
    message = f"The agent {run.agent!r} is not there any more; put its file back and retry."
    return failed(ErrorCode.AGENT_NOT_FOUND, message)


def model_forbidden(agent: Agent) -> End:
    """None of the agent's models is allowed here."""
    return failed(ErrorCode.MODEL_NOT_ALLOWED, f"{forbidden_words(agent)}.")


def forbidden_words(agent: Agent) -> str:
    """That none of an agent's models is allowed, as a sentence without its full stop."""
    if len(agent.models) == 1:
        return f"The model {agent.models[0]!r} is not among the allowed ones"
    return f"None of the models {', '.join(map(repr, agent.models))} is among the allowed ones"


_SPENT = {
    PurseKind.TURN: (
        FinishReason.BUDGET,
        ErrorCode.BUDGET_SPENT,
        "The budget of this turn",
        "What was done is kept. Retry with a larger budget, or send a new input.",
    ),
    PurseKind.DAY: (
        FinishReason.LIMIT,
        ErrorCode.LIMIT_REACHED,
        "The user's daily limit",
        "What was done is kept. Retry tomorrow: a day begins at midnight UTC.",
    ),
    PurseKind.MONTH: (
        FinishReason.LIMIT,
        ErrorCode.LIMIT_REACHED,
        "The monthly limit of this deployment",
        "What was done is kept. Retry next month, or have the limit raised.",
    ),
    PurseKind.BALANCE: (
        FinishReason.BALANCE,
        ErrorCode.BALANCE_SPENT,
        "The workspace's balance",
        "What was done is kept. Retry when it is topped up.",
    ),
}


def unaffordable(refusal: Unaffordable) -> End:
    """The next call of the model can't be paid for."""
    if isinstance(refusal, Spent):
        finish, code, _, advice = _SPENT[refusal.kind]
        return End(RunStatus.FAILED, finish, Failure(code, f"{spent_words(refusal)} {advice}"))
    return failed(ErrorCode.PRICE_UNKNOWN, f"{unpriced_words(refusal)} What was done is kept.")


def spent_words(spent: Spent) -> str:
    """What has run out, and how much of it is taken, as a sentence."""
    what = _SPENT[spent.kind][2]
    if spent.of_tokens:
        taken, bound = f"{spent.taken.tokens or 0:,}", f"{spent.bounds.tokens or 0:,} tokens"
    else:
        taken, bound = _usd(spent.taken.cost_pico), f"{_usd(spent.bounds.cost_pico)} USD"
    return f"{what} is spent: {taken} of {bound} are used or reserved; too little is left for another call."


def unpriced_words(refusal: Unaffordable) -> str:
    """Why a model without a price is not asked, as a sentence."""
    model = refusal.model if isinstance(refusal, NoPrice) else "asked"
    return f"The model {model!r} has no known price, and money is limited here."


def _usd(pico: int | None) -> str:
    return f"{decimal_of(pico or 0):f}"
