"""When the database is away: every failure that says so, told in one way, so that what was asked can be asked again."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.engine.interfaces import ExceptionContext
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

CONNECT_SECONDS = 10.0
"""How long a connection may take to be made before the database counts as away."""
TURN_SECONDS = 30.0
"""How long one of the pool may take to be free: many who wait for their turn are slow, and no outage yet."""
SILENCE_SECONDS = 15
"""How long a server may leave unanswered what its machine should acknowledge at once, before it counts as gone."""

_KINDS = (
    "08",  # the connection is gone, or could not be made
    "57P",  # the server starts, stops, has crashed, or ended the session
)
_STATES = {
    "25P03",  # the transaction was left idle for too long, and ended
    "40001",  # transactions got into each other's way, and this one was undone
    "40P01",  # likewise: a deadlock
    "53000",  # the server lacks something for now
    "53100",  # the server's disk is full
    "53200",  # the server lacks memory
    "53300",  # the server has as many connections as it takes
}
_STANDBY = "25006"
_CONFUSED = "InternalClientError"  # asyncpg's, as SQLAlchemy hands it on


class DatabaseAway(Exception):
    """The database can't be reached, or cut the connection: a read may be asked again, and so may a repeatable write.

    Whether a write was committed is not known. `cut` tells that there had been a connection.
    """

    def __init__(self, message: str, *, cut: bool = False) -> None:
        super().__init__(message)
        self.cut = cut


@contextmanager
def outages_told() -> Iterator[None]:
    """Raise DatabaseAway in the place of whatever says that the server is away; the cause is chained."""
    try:
        yield
    except (DBAPIError, PoolTimeout, OSError) as error:
        if not _says_away(error):
            raise
        cut = isinstance(error, DBAPIError) and error.connection_invalidated
        raise DatabaseAway(f"The database is away: {_first_line(error)}", cut=cut) from error
    except Exception as error:
        # While a connection is being set up, SQLAlchemy hands the driver's own failures on as they are.
        if not type(error).__module__.startswith("asyncpg.") or not _driver_says_away(error):
            raise
        raise DatabaseAway(f"The database is away: {_first_line(error)}", cut=True) from error


def _says_away(error: DBAPIError | PoolTimeout | OSError) -> bool:
    if isinstance(error, OSError):
        return error.filename is None  # of a socket; that of a file which can't be read names it
    if isinstance(error, PoolTimeout) or error.connection_invalidated:
        return True
    state = _state(error.orig)
    return state in _STATES or state.startswith(_KINDS)


def _driver_says_away(error: Exception) -> bool:
    """Whether a failure of the driver's own, which SQLAlchemy did not see, says that the server is away."""
    state = _state(error)
    return state in _STATES or state.startswith(_KINDS) or type(error).__name__ in ("InterfaceError", _CONFUSED)


def _state(error: BaseException | None) -> str:
    return str(getattr(error, "sqlstate", None) or "")


def _first_line(error: Exception) -> str:
    cause = error.orig if isinstance(error, DBAPIError) else error
    words = str(error.args[0] if isinstance(error, PoolTimeout) else cause)
    return (words.splitlines() or [""])[0] or type(cause).__name__


def leave_useless(context: ExceptionContext) -> None:
    """Let go of connections that will serve nobody again.

    Those to a server that only follows another, as a former primary does after a failover; and one whose driver has
    lost its place in the protocol, as when the server ended the session of a process that was frozen in the middle of
    a statement. For SQLAlchemy's event "handle_error".
    """
    error = context.original_exception
    if _state(error) == _STANDBY or type(error).__name__ == _CONFUSED:
        context.is_disconnect = True


def notice_silence(connection: Any, _record: object) -> None:
    """Have the kernel end a connection whose other machine has vanished without a word, instead of waiting for hours.

    For SQLAlchemy's event "connect".
    """
    transport = connection.driver_connection._transport  # noqa: SLF001 - asyncpg shows it nowhere else
    found = transport.get_extra_info("socket")
    if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
        return
    found.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        ("TCP_KEEPIDLE", 5),
        ("TCP_KEEPINTVL", 5),
        ("TCP_KEEPCNT", SILENCE_SECONDS // 5 - 1),
        ("TCP_USER_TIMEOUT", SILENCE_SECONDS * 1_000),
    ):
        if hasattr(socket, option):  # not every system has each of them
            found.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
