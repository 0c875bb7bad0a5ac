"""Who asks: bearer tokens (JWT), and the development user of `steersman dev`.

No token is nobody. A token that is wrong or has expired is refused (TokenRefused), never taken for nobody, so that a
client learns to sign in again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.parse import urlsplit

import jwt
from starlette.requests import HTTPConnection

from engine.user import User
from steersman.settings import Settings

MAX_SUBJECT = 255
MAX_ROLES = 100
MAX_TOKEN = 16_384
_LOOPBACK_NAMES = ("localhost",)


class TokenRefused(Exception):
    """The token is not valid."""


class KeysUnavailable(Exception):
    """The sign-in service's keys can't be had at the moment, so no token can be checked; try again soon."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A user, and when its token ends: seconds since the epoch, None where it never does."""

    user: User
    expires_at: float | None = None


class Keys(Protocol):
    """Where the key for a token comes from; `algorithms` are the only ones that its keys may be used with."""

    algorithms: tuple[str, ...]

    async def key_for(self, token: str) -> Any:
        """The key that this token must be signed with. Raises TokenRefused or KeysUnavailable."""


class SecretKey:
    """One shared secret (HS256)."""

    algorithms: tuple[str, ...] = ("HS256",)

    def __init__(self, secret: str) -> None:
        self._secret = secret

    async def key_for(self, token: str) -> Any:
        """The secret, whatever the token says of itself."""
        return self._secret


class PublishedKeys:
    """The public keys that a sign-in service publishes (RS256 and ES256), fetched off the event loop and kept.

    After a failed fetch no other is tried for `pause` seconds, so that a service that is down costs no thread a wait.
    """

    algorithms: tuple[str, ...] = ("RS256", "ES256")

    def __init__(self, url: str, *, pause: float = 5.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = jwt.PyJWKClient(url, timeout=5)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="jwks")
        self._pause = pause
        self._clock = clock
        self._failed_at: float | None = None

    async def key_for(self, token: str) -> Any:
        """The published key that the token's `kid` names."""
        if self._failed_at is not None and self._clock() - self._failed_at < self._pause:
            raise KeysUnavailable(_words(KeysUnavailable))
        try:
            key = await asyncio.get_running_loop().run_in_executor(
                self._thread, self._client.get_signing_key_from_jwt, token
            )
        except jwt.PyJWKClientConnectionError as error:
            self._failed_at = self._clock()
            raise KeysUnavailable(_words(KeysUnavailable)) from error
        except (jwt.PyJWTError, ValueError) as error:
            raise TokenRefused("The token is signed with a key that is not among the published ones.") from error
        self._failed_at = None
        return key


class Tokens:
    """Checks bearer tokens: signature, end, and issuer and audience where they are configured."""

    def __init__(self, keys: Keys | None, *, issuer: str | None = None, audience: str | None = None) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience

    async def read(self, authorization: str) -> SignedIn:
        """Whom an `Authorization` value (`Bearer <token>`) names.

        Raises TokenRefused, or KeysUnavailable where nothing can be checked at the moment.
        """
        scheme, _, token = authorization.strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or len(token) > MAX_TOKEN:
            raise TokenRefused("Authorization must read `Bearer <token>`.")
        if self._keys is None:
            raise TokenRefused("This server has no key to check tokens with (STEERSMAN_JWT_SECRET or _JWKS_URL).")
        token = token.strip()
        key = await self._keys.key_for(token)
        return _signed_in(self._claims(token, key, self._keys.algorithms))

    def _claims(self, token: str, key: Any, algorithms: Iterable[str]) -> Mapping[str, Any]:
        required = ["sub", *(["iss"] if self._issuer else []), *(["aud"] if self._audience else [])]
        try:
            return jwt.decode(
                token,
                key,
                algorithms=list(algorithms),
                issuer=self._issuer,
                audience=self._audience,
                options={"require": required, "verify_aud": self._audience is not None},
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenRefused("The token has expired: sign in again.") from error
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError) as error:
            raise TokenRefused(_words(TokenRefused)) from error


@dataclass(frozen=True, slots=True)
class DevelopmentUser:
    """The user as whom `steersman dev` signs in whoever asks without a token from this very machine.

    A page of another site, or a name that was made to point here (DNS rebinding), never acts as this user: the
    client's address and the Host header must be loopback, and a browser's request must come from a page of this server.
    """

    user: User

    def stands_for(self, connection: HTTPConnection) -> bool:
        """Whether this request or WebSocket handshake may act as the development user."""
        client = connection.client
        if client is None or not is_loopback(client.host):
            return False
        host = connection.headers.get("host", "")
        if not is_loopback(_hostname(f"//{host}")):
            return False
        if connection.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return False
        origin = connection.headers.get("origin")
        return origin is None or same_origin(origin, host)


class SignIn:
    """Tells who asks over a connection."""

    def __init__(self, tokens: Tokens, development_user: DevelopmentUser | None = None) -> None:
        self._tokens = tokens
        self._development_user = development_user

    async def __call__(self, connection: HTTPConnection, payload: Mapping[str, Any] | None = None) -> SignedIn | None:
        """Who asks, or None for nobody; a WebSocket's connection_init payload goes before its header.

        Raises TokenRefused or KeysUnavailable.
        """
        given = _authorization(payload or {}) or connection.headers.get("authorization")
        if given:
            return await self._tokens.read(given)
        development = self._development_user
        if development is not None and development.stands_for(connection):
            return SignedIn(development.user)
        return None


def sign_in_of(settings: Settings, *, dev_user: str | None = None) -> SignIn:
    """The sign-in that these settings ask for; `dev_user` signs in whoever asks without a token from this machine.

    Raises ValueError where a development user is asked for on an address that others can reach.
    """
    keys: Keys | None = None
    if settings.jwt_secret is not None:
        keys = SecretKey(settings.jwt_secret)
    elif settings.jwks_url is not None:
        keys = PublishedKeys(settings.jwks_url)
    tokens = Tokens(keys, issuer=settings.jwt_issuer, audience=settings.jwt_audience)
    if dev_user is None:
        return SignIn(tokens)
    if not is_loopback(settings.host):
        raise ValueError(
            f"The development user is for this machine alone, and STEERSMAN_HOST is {settings.host}: "
            "use 127.0.0.1, or `steersman serve` with tokens."
        )
    return SignIn(tokens, DevelopmentUser(User(dev_user)))


def mint(
    settings: Settings,
    sub: str,
    roles: Iterable[str] = (),
    *,
    seconds: int = 3600,
    now: Callable[[], float] = time.time,
) -> str:
    """A token for this user, signed with JWT_SECRET and good for so many seconds.

    Raises ValueError where there is no secret to sign with, or the subject or a role is none.
    """
    if settings.jwt_secret is None:
        raise ValueError("Set STEERSMAN_JWT_SECRET: tokens are signed with it.")
    issued = int(now())
    claims: dict[str, Any] = {"sub": sub, "roles": list(roles), "iat": issued, "exp": issued + seconds}
    if settings.jwt_issuer is not None:
        claims["iss"] = settings.jwt_issuer
    if settings.jwt_audience is not None:
        claims["aud"] = settings.jwt_audience
    try:
        _signed_in(claims)
    except TokenRefused as error:
        raise ValueError(str(error)) from error
    return jwt.encode(claims, settings.jwt_secret, algorithm="HS256")


def is_loopback(host: str | None) -> bool:
    """Whether a host's name or address is this machine itself."""
    if not host:
        return False
    if host in _LOOPBACK_NAMES:
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def same_origin(origin: str, host: str) -> bool:
    """Whether a page of this origin was loaded from this Host."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _authorization(payload: Mapping[str, Any]) -> str | None:
    for name, value in payload.items():
        if name.lower() == "authorization" and value not in (None, ""):
            if not isinstance(value, str):
                raise TokenRefused("`authorization` in the connection_init payload must be a string.")
            return value
    return None


def _signed_in(claims: Mapping[str, Any]) -> SignedIn:
    subject, roles, end = claims["sub"], claims.get("roles", []), claims.get("exp")
    if not isinstance(subject, str) or not 1 <= len(subject) <= MAX_SUBJECT or not subject.isprintable():
        raise TokenRefused(f"The token's `sub` must be 1 to {MAX_SUBJECT} printable characters.")
    if not isinstance(roles, list) or len(roles) > MAX_ROLES or not all(isinstance(role, str) for role in roles):
        raise TokenRefused(f"The token's `roles` must be a list of at most {MAX_ROLES} strings.")
    try:
        expires_at = None if end is None else float(end)
    except (TypeError, ValueError, OverflowError) as error:
        raise TokenRefused("The token's `exp` is no time.") from error
    return SignedIn(User(subject, frozenset(roles)), expires_at)


def _hostname(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None


def _words(error: type[Exception]) -> str:
    return (error.__doc__ or "").strip()
