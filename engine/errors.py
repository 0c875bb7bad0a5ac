"""Expected failures, each with a stable code; a class's docstring is its message unless it is given another."""

from __future__ import annotations

from typing import ClassVar

from models.enums import ErrorCode


class Refused(Exception):
    """What was asked for can't be done; `code` is stable, the text is for people, `field` names the input at fault."""

    code: ClassVar[ErrorCode]

    def __init__(self, message: str | None = None, *, field: tuple[str, ...] | None = None) -> None:
        self.message = message or (type(self).__doc__ or "").strip()
        self.field = field
        super().__init__(self.message)


class RunNotFound(Refused):
    """There is no such run."""

    code = ErrorCode.RUN_NOT_FOUND


class AgentNotFound(Refused):
    """There is no such agent."""

    code = ErrorCode.AGENT_NOT_FOUND


class AgentMismatch(Refused):
    """This run belongs to another agent."""

    code = ErrorCode.AGENT_MISMATCH


class AgentInputRequired(Refused):
    """The run needs an input to go on."""

    code = ErrorCode.AGENT_INPUT_REQUIRED


class AgentInputQueueFull(Refused):
    """Too much input waits already: at most 32 messages and 32,768 characters."""

    code = ErrorCode.AGENT_INPUT_QUEUE_FULL


class RunBusy(Refused):
    """The run is generating or waiting; cancel it, or wait until it has ended."""

    code = ErrorCode.RUN_BUSY


class ModelNotAllowed(Refused):
    """This model is not among the allowed ones."""

    code = ErrorCode.MODEL_NOT_ALLOWED


class PriceUnknown(Refused):
    """Money is limited, and this model has no known price."""

    code = ErrorCode.PRICE_UNKNOWN


class InputTooLarge(Refused):
    """The input is too large."""

    code = ErrorCode.INPUT_TOO_LARGE


class InvalidInput(Refused):
    """The input is not valid."""

    code = ErrorCode.INVALID_INPUT


class AttachmentRefused(Refused):
    """The attachment can't be taken."""

    code = ErrorCode.ATTACHMENT_REFUSED


class CallNotFound(Refused):
    """There is no such call that waits for this."""

    code = ErrorCode.CALL_NOT_FOUND


class CallAlreadyDecided(Refused):
    """This call has been decided or answered already, or waits no more."""

    code = ErrorCode.CALL_ALREADY_DECIDED


class NotAllowedToDecide(Refused):
    """Others decide about this call."""

    code = ErrorCode.NOT_ALLOWED_TO_DECIDE


class KeyReused(Refused):
    """This key was used before with other arguments."""

    code = ErrorCode.KEY_REUSED


class Forbidden(Refused):
    """You may not do this."""

    code = ErrorCode.FORBIDDEN


class NotFound(Refused):
    """There is no such thing."""

    code = ErrorCode.NOT_FOUND


class HandleTaken(Refused):
    """Another agent has this handle."""

    code = ErrorCode.HANDLE_TAKEN


class InvalidConfig(Refused):
    """The configuration does not fit its kind."""

    code = ErrorCode.INVALID_CONFIG


class KindUnavailable(Refused):
    """The code of this kind is not there."""

    code = ErrorCode.KIND_UNAVAILABLE
