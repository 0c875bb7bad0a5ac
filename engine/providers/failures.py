"""The SDK's exceptions as our one: what kind of failure it is, whether asking again may help, what its owner reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import anthropic
import httpx2

from engine.providers.provider import FailureKind, ProviderFailure
from models.clock import Clock
from models.usage import Usage


class _Meaning(NamedTuple):
    kind: FailureKind
    retryable: bool
    shown: str
    of_model: bool = False
    """Whether it is this model alone that can't be asked."""


_ERROR = _Meaning(FailureKind.ERROR, True, "The model's provider failed.")
_OVERLOADED = _Meaning(FailureKind.OVERLOADED, True, "The model's provider is overloaded.")
_LIMITED = _Meaning(FailureKind.OVERLOADED, True, "The model's provider is limiting our requests.")
_TIMEOUT = _Meaning(FailureKind.TIMEOUT, True, "The model's provider took too long.")
_LOST = _Meaning(FailureKind.ERROR, True, "The connection to the model's provider was lost.")
_UNREACHED = _Meaning(FailureKind.ERROR, True, "The model's provider could not be reached.")
_GARBLED = _Meaning(FailureKind.ERROR, True, "The model's provider sent an answer that can't be read.")
_INCOMPLETE = _Meaning(FailureKind.ERROR, True, "The model's provider ended its answer too early.")
_SURPRISE = _Meaning(FailureKind.ERROR, False, "The model's provider could not be asked.")
_REFUSED = _Meaning(FailureKind.ERROR, False, "The model's provider refused the request.")
# Never there, or retired: a retired model is told apart by nothing in the answer.
_UNKNOWN = _Meaning(FailureKind.ERROR, False, "The model's provider does not know this model.", of_model=True)

_TOO_LONG = _Meaning(FailureKind.TOO_LONG, False, "The conversation is too long for the model.")
_SAYS_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (the )?(available |maximum )?context|maximum context length|context_length_exceeded",
    re.IGNORECASE,
)  # of the API, and of other servers that speak it

_BY_STATUS = {
    401: _Meaning(FailureKind.ERROR, False, "The model's provider refused the API key."),
    402: _Meaning(FailureKind.ERROR, False, "The model's provider asks for payment."),
    403: _Meaning(FailureKind.ERROR, False, "The model's provider does not allow this request."),
    404: _UNKNOWN,
    408: _TIMEOUT,
    409: _ERROR,
    410: _UNKNOWN,
    413: _Meaning(FailureKind.ERROR, False, "The request is too large for the model's provider."),
    429: _LIMITED,
    503: _OVERLOADED,
    504: _TIMEOUT,
    529: _OVERLOADED,
}
_BY_TYPE = {  # of an error that comes inside a stream, whose status was 200
    "overloaded_error": _OVERLOADED,
    "rate_limit_error": _LIMITED,
    "timeout_error": _TIMEOUT,
}
_SHOULD_RETRY = {"true": True, "false": False}


def failure_of(error: Exception, clock: Clock, usage: Usage | None = None) -> ProviderFailure:
    """The failure that an exception of the SDK, or of what lies under it, stands for."""
    meaning = _meaning(error)
    retryable, retry_after = meaning.retryable, None
    if isinstance(error, anthropic.APIStatusError):
        headers = error.response.headers
        retryable = _SHOULD_RETRY.get(headers.get("x-should-retry", ""), retryable)
        retry_after = retry_after_of(headers, clock)
    detail = f"{type(error).__name__}: {error}"
    return ProviderFailure(
        meaning.kind,
        detail,
        shown=meaning.shown,
        retryable=retryable,
        elsewhere=meaning.retryable or meaning.of_model,  # what the provider says of asking again is said of this model
        retry_after=retry_after,
        usage=usage,
    )


def incomplete(usage: Usage) -> ProviderFailure:
    """The failure of a response that ended without saying that it had."""
    detail = "the stream ended without message_stop, or without a stop reason"
    meaning = _INCOMPLETE
    return ProviderFailure(meaning.kind, detail, shown=meaning.shown, retryable=meaning.retryable, usage=usage)


def retry_after_of(headers: Mapping[str, str], clock: Clock) -> float | None:
    """Seconds that the provider asks to wait, from 0; None where it names no time that can be read."""
    seconds = _number(headers.get("retry-after-ms"))
    if seconds is not None:
        return max(0.0, seconds / 1000)
    named = headers.get("retry-after")
    seconds = _number(named)
    if seconds is None and named is not None:
        seconds = _until(named, clock)
    return None if seconds is None else max(0.0, seconds)


def _meaning(error: Exception) -> _Meaning:
    match error:
        case anthropic.APIStatusError(status_code=status) if status < 300:
            return _BY_TYPE.get(str(error.type), _ERROR)
        case anthropic.APIStatusError(status_code=400) if _SAYS_TOO_LONG.search(str(error)):
            return _TOO_LONG
        case anthropic.APIStatusError(status_code=status):
            return _BY_STATUS.get(status) or (_ERROR if status >= 500 else _REFUSED)
        case anthropic.APITimeoutError() | httpx2.TimeoutException():
            return _TIMEOUT
        case anthropic.APIConnectionError():
            return _UNREACHED
        case httpx2.TransportError() | httpx2.StreamError():
            return _LOST
        case json.JSONDecodeError() | UnicodeDecodeError() | httpx2.DecodingError():
            return _GARBLED
    return _SURPRISE


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _until(date: str, clock: Clock) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp() - clock() / 1000
    except (ValueError, OverflowError):
        return None
