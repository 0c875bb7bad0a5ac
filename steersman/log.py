"""Log lines, as text or JSON, with the ids of the request, the user and the run; never a secret."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TextIO

from models.ids import Ids

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
user_id: ContextVar[str | None] = ContextVar("user_id", default=None)
run_id: ContextVar[str | None] = ContextVar("run_id", default=None)

_IDS = {"request_id": request_id, "user_id": user_id, "run_id": run_id}
_REDACTED = "[redacted]"
# Bearer values, JWTs wherever they stand, and the provider's keys.
_SECRETS = re.compile(
    r"(?i)(?<=bearer )\S+|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\bsk-ant-[\w-]+|(?<=authorization: )[^\r\n]+"
)
_ids = Ids()
_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", *_IDS}


def new_request_id() -> str:
    """An id for a request that brought none: `req_…`."""
    return _ids("req")


@contextmanager
def bound(**ids: str | None) -> Iterator[None]:
    """Log lines inside carry these ids: request_id, user_id, run_id."""
    tokens = [(variable, variable.set(ids[name])) for name, variable in _IDS.items() if name in ids]
    try:
        yield
    finally:
        for variable, token in reversed(tokens):
            variable.reset(token)


def configure(log_format: str, level: str, *, secrets: Iterable[str] = (), stream: TextIO | None = None) -> None:
    """Send all log lines to standard error (or `stream`) in this format, from this level up.

    `secrets` are values that no line may hold, whoever writes it.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    redact = Redaction(secrets)
    handler.setFormatter(JsonLines(redact) if log_format == "json" else TextLines(redact))
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(level.upper())
    # At INFO they name each call of the provider, each socket with its whole address, and each look at the schema.
    for chatty in ("httpx2", "httpcore2", "uvicorn.error", "alembic.runtime.migration"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))


class Redaction:
    """Takes secrets out of text: known values, and whatever looks like a token or a key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted({secret for secret in secrets if len(secret) >= 4}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if self._known is not None:
            text = self._known.sub(_REDACTED, text)
        return _SECRETS.sub(_REDACTED, text)


class TextLines(logging.Formatter):
    """Lines for people: time, level, logger, message, then the ids and extra values."""

    def __init__(self, redact: Redaction) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it where there is one."""
        head = f"{_time(record.created)} {record.levelname:<7} {record.name}: {record.getMessage()}"
        ids = " ".join(f"{name}={value}" for name, value in _details(record).items())
        line = f"{head}  [{ids}]" if ids else head
        trace = self._trace(record)
        return self._redact(f"{line}\n{trace}" if trace else line)

    def _trace(self, record: logging.LogRecord) -> str:
        return self.formatException(record.exc_info) if record.exc_info else ""


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, the ids, extra values, and the traceback as `error`."""

    def __init__(self, redact: Redaction) -> None:
        super().__init__()
        self._redact = redact

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON."""
        line: dict[str, Any] = {
            "time": _time(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._redact(record.getMessage()),
        }
        line |= {name: self._redact(str(value)) for name, value in _details(record).items()}
        if record.exc_info:
            line["error"] = self._redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=True)


def _details(record: logging.LogRecord) -> dict[str, Any]:
    """The ids and the extra values of a record; what the caller gave goes before what is bound."""
    ids = {name: getattr(record, name, None) or variable.get() for name, variable in _IDS.items()}
    extra = {name: value for name, value in vars(record).items() if name not in _PLAIN and name != "color_message"}
    return {name: value for name, value in (ids | extra).items() if value is not None}


def _time(created: float) -> str:
    milliseconds = int(created * 1000) % 1000
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(created))}.{milliseconds:03d}Z"
