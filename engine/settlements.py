"""How runs fail: the ends that the loop gives them, in words for their owners."""

from __future__ import annotations

from engine.agent import Agent
from engine.patience import TURN_FACTOR
from engine.providers.provider import FailureKind, ProviderFailure
from models.enums import ErrorCode, FinishReason, RunStatus
from models.events import Failure
from models.run import Run
from models.verbs.claiming import MAX_TAKEOVERS
from models.verbs.settling import End

_CODES = {
    FailureKind.ERROR: ErrorCode.PROVIDER_ERROR,
    FailureKind.OVERLOADED: ErrorCode.PROVIDER_OVERLOADED,
    FailureKind.TIMEOUT: ErrorCode.PROVIDER_TIMEOUT,
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


def agent_gone(name: str) -> End:
    """The run's agent is no longer there."""
    return failed(ErrorCode.AGENT_NOT_FOUND, f"The agent {name!r} is not there any more; put its file back and retry.")


def model_forbidden(model: str) -> End:
    """The agent's model is not allowed here."""
    return failed(ErrorCode.MODEL_NOT_ALLOWED, f"The model {model!r} is not among the allowed ones.")
