"""How the text of a setting becomes its value; what can't be read raises Unreadable with what to do instead."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from engine.budget import MOST_USD
from engine.limits import ByRole

Amount = TypeVar("Amount", Decimal, int)

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
_SECRET_PARAMETER = re.compile(r"(?i)((?:^|&)[^=&]*(?:password|secret|token|sslkey)[^=&]*=)([^&]*)")
# What an address of Redis may say behind its question mark: the client takes these, and stumbles over others.
_REDIS_OPTIONS = {"db": r"[0-9]{1,4}", "username": r".+", "password": r".+"}
_REDIS_TLS_OPTIONS = {
    "ssl_ca_certs": r".+",
    "ssl_ca_path": r".+",
    "ssl_certfile": r".+",
    "ssl_keyfile": r".+",
    "ssl_password": r".+",
    "ssl_cert_reqs": r"none|optional|required",
    "ssl_check_hostname": r"(?i)true|false",
}


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


def amount(value: str) -> Decimal:
    """An amount of money in USD, 0 or more."""
    if re.fullmatch(r"[0-9]{1,7}(\.[0-9]{1,12})?", value) and Decimal(value) <= MOST_USD:
        return Decimal(value)
    raise Unreadable(f"must be an amount in USD such as 2.50, at most {MOST_USD:,} without the comma, not {value!r}.")


def tokens(value: str) -> int:
    """A number of tokens, 0 or more."""
    if re.fullmatch(r"[0-9]{1,15}", value):
        return int(value)
    raise Unreadable(f"must be a whole number of tokens, not {value!r}.")


def by_role(read: Callable[[str], Amount]) -> Callable[[str], ByRole[Amount]]:
    """A reader of one amount for everybody and others by role, separated by commas: `5,staff=50`."""

    def read_all(value: str) -> ByRole[Amount]:
        everybody: Amount | None = None
        roles: dict[str, Amount] = {}
        for part in (part.strip() for part in value.split(",")):
            role, mark, given = (piece.strip() for piece in part.rpartition("="))
            if (mark and not role) or role in roles or (not mark and everybody is not None):
                raise Unreadable(f"must be a number, then role=number for roles, each once: 5,staff=50; not {value!r}.")
            if mark:
                roles[role] = read(given)
            else:
                everybody = read(given)
        return ByRole(everybody, roles)

    return read_all


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


def bucket_url(value: str) -> str:
    """A bucket, or a folder in one: `s3://bucket/folder`."""
    if not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._/-]*)?", value):
        raise Unreadable("must be s3://bucket or s3://bucket/folder.")
    return value.rstrip("/")


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


def redis_url(value: str) -> str:
    """An address of Redis or Valkey: `redis://…`, `rediss://…` (TLS) or `unix:///path/to/its.sock`."""
    parts = _split(value)
    kind = parts.scheme if parts is not None else ""
    if parts is None or kind not in ("redis", "rediss", "unix"):
        raise Unreadable("must be redis://:password@host:6379/0, rediss://… for TLS, or unix:///path/to/redis.sock.")
    if kind == "unix" and parts.path in ("", "/"):
        raise Unreadable("must name the socket: unix:///path/to/redis.sock.")
    if kind != "unix" and not parts.hostname:
        raise Unreadable("must name the host: redis://:password@host:6379/0; a / or # of the password as %2F or %23.")
    if kind != "unix" and not re.fullmatch(r"(/[0-9]{0,4})?", parts.path):
        raise Unreadable("must end with the number of the database, if with anything: redis://host:6379/0.")
    taken = {**_REDIS_OPTIONS, **_REDIS_TLS_OPTIONS} if kind == "rediss" else _REDIS_OPTIONS
    for option in filter(None, parts.query.split("&")):
        name, _, given = option.partition("=")
        if not re.fullmatch(taken.get(name, r"(?!)"), unquote(given)):
            raise Unreadable(f"may have these options behind its ?, with a value that makes sense: {', '.join(taken)}.")
    return kind + value[len(kind) :]


def secrets_in(url: str) -> list[str]:
    """The passwords inside an address, as they stand there and as they read once they are decoded."""
    parts = _split(url)
    if parts is None:
        return []
    written = [parts.password or "", *(value for _, value in _SECRET_PARAMETER.findall(parts.query))]
    return list(dict.fromkeys(form for value in written if value for form in (value, unquote(value))))


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
