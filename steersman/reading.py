"""How the text of a setting becomes its value; what can't be read raises Unreadable with what to do instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

_DRIVERS = {
    "sqlite": "sqlite",
    "sqlite+aiosqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgres": "postgresql",
    "postgresql": "postgresql",
    "postgres+asyncpg": "postgresql",
    "postgresql+asyncpg": "postgresql",
}
_SWITCH = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}
_REDACTED = "[redacted]"
_PASSWORD = re.compile(r"(?<=://)([^/?#@:]*):[^/?#]*@")
_SECRET_PARAMETER = re.compile(r"(?i)((?:^|&)[^=&]*(?:password|secret|token|sslkey)[^=&]*=)[^&]*")


class Unreadable(Exception):
    """A value can't be read; the text follows the setting's name and says what to do."""


def text(value: str) -> str:
    """The text itself."""
    return value


def switch(value: str) -> bool:
    """`on` or `off` (true/false, yes/no and 1/0 too)."""
    try:
        return _SWITCH[value.lower()]
    except KeyError:
        raise Unreadable(f"must be on or off, not {value!r}.") from None


def whole(least: int, most: int) -> Callable[[str], int]:
    """A reader of whole numbers from `least` to `most`."""

    def read(value: str) -> int:
        # int() would take underscores and digits of every script, and refuse very long ones with an error of its own.
        if re.fullmatch(r"[+-]?[0-9]{1,9}", value) and least <= int(value) <= most:
            return int(value)
        raise Unreadable(f"must be a whole number from {least} to {most}, not {value!r}.")

    return read


def seconds(least: float) -> Callable[[str], float]:
    """A reader of seconds, `least` or more and at most a day."""

    def read(value: str) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if least <= number <= 86_400:
            return number
        raise Unreadable(f"must be a number of seconds from {least:g} to 86400, not {value!r}.")

    return read


def secret(least_bytes: int) -> Callable[[str], str]:
    """A reader of secrets of at least so many bytes; the message never holds the value."""

    def read(value: str) -> str:
        if len(value.encode()) >= least_bytes:
            return value
        raise Unreadable(
            f"must have at least {least_bytes} bytes; make one with: "
            "python -c 'import secrets; print(secrets.token_urlsafe(48))'"
        )

    return read


def one_of(*choices: str) -> Callable[[str], str]:
    """A reader of one of these words, in any case."""

    def read(value: str) -> str:
        if value.lower() in choices:
            return value.lower()
        raise Unreadable(f"must be one of {', '.join(choices)}, not {value!r}.")

    return read


def names(value: str) -> frozenset[str]:
    """Names separated by commas."""
    return frozenset(name for name in (part.strip() for part in value.split(",")) if name)


def origins(value: str) -> tuple[str, ...]:
    """Web origins separated by commas: scheme, host and port, without a path."""
    found = tuple(part.strip().rstrip("/") for part in value.split(",") if part.strip())
    for origin in found:
        if not re.fullmatch(r"https?://[^/?#@*\s]+", origin):
            raise Unreadable(f"must list origins such as https://app.example.com, not {origin!r}.")
    return found


def existing_file(value: str) -> Path:
    """The path of a file that is there."""
    path = Path(value)
    if not path.is_file():
        raise Unreadable(f"names no file: {value!r}.")
    return path


def http_url(value: str) -> str:
    """An http or https address."""
    parts = _split(value)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise Unreadable("must be an https:// address.")
    return value


def database_url(value: str) -> str:
    """A database's address without a driver's name: `sqlite:///…` or `postgresql://…`."""
    scheme, separator, rest = value.partition("://")
    kind = _DRIVERS.get(scheme.lower())
    if not separator or kind is None:
        raise Unreadable("must be sqlite:///file.db or postgresql://user:password@host:5432/name.")
    if kind == "sqlite" and not rest.startswith("/"):
        raise Unreadable("needs three slashes for a file here (sqlite:///file.db), four for an absolute path.")
    if kind == "sqlite" and rest.partition("?")[0] in ("/", "/:memory:"):
        raise Unreadable(
            "must name a file, such as sqlite:///steersman.db: a database in memory would outlive nothing."
        )
    address = f"{kind}://{rest}"
    if kind == "postgresql":
        parts = _split(address)
        if parts is None or not parts.path.strip("/"):
            raise Unreadable("must name the database: postgresql://user:password@host:5432/name.")
    return address


def password_of(url: str) -> str | None:
    """The password inside an address, or None."""
    parts = _split(url)
    return parts.password if parts is not None else None


def without_password(url: str) -> str:
    """The address with its password, and whatever secret its query holds, redacted."""
    if _split(url) is None:
        return _REDACTED
    address, mark, query = url.partition("?")
    address = _PASSWORD.sub(rf"\1:{_REDACTED}@", address)
    return address + mark + _SECRET_PARAMETER.sub(rf"\1{_REDACTED}", query)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        return None
    return parts
