"""Sign-in: whom a token names, what is refused, and where the development user stops."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine.user import User
from steersman.auth import (
    DevelopmentUser,
    KeysUnavailable,
    PublishedKeys,
    SecretKey,
    SignIn,
    TokenRefused,
    Tokens,
    mint,
    sign_in_of,
)
from steersman.settings import Settings
from tests.support.server import Running, running

SECRET = "a secret of the tests, long enough for HS256"
OTHER = "another secret of the tests, long enough too"
SETTINGS = Settings(jwt_secret=SECRET)


def bearer(claims: Mapping[str, Any], key: Any = SECRET, algorithm: str = "HS256", **headers: str) -> str:
    """An Authorization value."""
    return f"Bearer {jwt.encode(dict(claims), key, algorithm=algorithm, headers=headers or None)}"


def connection(host: str = "127.0.0.1:8000", client: str = "127.0.0.1", **headers: str) -> HTTPConnection:
    """A request's head."""
    named = {"host": host, **{name.replace("_", "-"): value for name, value in headers.items()}}
    raw = [(name.encode(), value.encode()) for name, value in named.items()]
    return HTTPConnection({"type": "http", "headers": raw, "client": (client, 5000), "path": "/", "query_string": b""})


async def test_a_minted_token_names_its_user() -> None:
    """What `mint` gives, the server takes: the subject, its roles, and the end."""
    token = mint(SETTINGS, "alice", ["admin", "ops"], seconds=60)
    signed_in = await Tokens(SecretKey(SECRET)).read(f"Bearer {token}")
    assert signed_in.user == User("alice", frozenset({"admin", "ops"}))
    assert signed_in.expires_at == pytest.approx(time.time() + 60, abs=5)


async def test_a_token_without_roles_or_end_is_taken() -> None:
    """Only `sub` is needed."""
    signed_in = await Tokens(SecretKey(SECRET)).read(bearer({"sub": "alice"}))
    assert (signed_in.user, signed_in.expires_at) == (User("alice"), None)


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"sub": ""},
        {"sub": "x" * 256},
        {"sub": "a\x00b"},
        {"sub": "alice", "roles": "admin"},
        {"sub": "alice", "roles": [1]},
        {"sub": "alice", "roles": ["r"] * 101},
        {"sub": "alice", "exp": 1},
        {"sub": "alice", "exp": "soon"},
        {"sub": "alice", "exp": 10**400},
        {"sub": "alice", "nbf": 99_999_999_999},
    ],
)
async def test_claims_that_name_no_user_are_refused(claims: dict[str, Any]) -> None:
    """A signature is not enough."""
    with pytest.raises(TokenRefused):
        await Tokens(SecretKey(SECRET)).read(bearer(claims))


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer a.b.c",
        "Basic YWxpY2U6eA==",
        f"Token {mint(SETTINGS, 'alice')}",
        bearer({"sub": "alice"}, OTHER),
        "Bearer " + jwt.encode({"sub": "alice"}, "", algorithm="none"),
        "Bearer " + "x" * 20_000,
        "Bearer é.é.é",
    ],
)
async def test_what_is_not_signed_with_the_key_is_refused(authorization: str) -> None:
    """Another key, no signature, another scheme, nonsense."""
    with pytest.raises(TokenRefused):
        await Tokens(SecretKey(SECRET)).read(authorization)


async def test_without_a_key_every_token_is_refused() -> None:
    """A server that can't check a token never takes it for nobody."""
    with pytest.raises(TokenRefused, match="STEERSMAN_JWT_SECRET"):
        await Tokens(None).read(bearer({"sub": "alice"}))


async def test_issuer_and_audience_are_checked_where_configured() -> None:
    """And minted tokens carry them."""
    settings = Settings(jwt_secret=SECRET, jwt_issuer="us", jwt_audience="api")
    sign_in = sign_in_of(settings)
    signed_in = await sign_in(connection(authorization=f"Bearer {mint(settings, 'alice')}"))
    assert signed_in is not None
    for claims in ({}, {"iss": "us"}, {"iss": "them", "aud": "api"}, {"iss": "us", "aud": "other"}):
        with pytest.raises(TokenRefused):
            await sign_in(connection(authorization=bearer({"sub": "alice", **claims})))
    # a token for some audience is taken where none is configured
    assert (await Tokens(SecretKey(SECRET)).read(bearer({"sub": "alice", "aud": "x"}))).user.id == "alice"


@pytest.mark.parametrize("sub", ["", "x" * 256, "a\nb"])
def test_no_token_is_minted_that_would_be_refused(sub: str) -> None:
    """The command line says so at once."""
    with pytest.raises(ValueError, match="printable"):
        mint(SETTINGS, sub)
    with pytest.raises(ValueError, match="STEERSMAN_JWT_SECRET"):
        mint(Settings(), "alice")


# ---------------------------------------------------------------- published keys


@dataclass
class Identity:
    """A sign-in service: its keys by id, how often they were fetched, and whether it is up."""

    rsa_key: Any = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    ec_key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    fetched: int = 0
    up: bool = True

    async def keys(self, request: Request) -> Response:
        """The published keys, and a symmetric one that must never be used."""
        self.fetched += 1
        if not self.up:
            return Response(status_code=500)
        return JSONResponse(
            {
                "keys": [
                    {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.rsa_key.public_key())), "kid": "rsa"},
                    {**json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self.ec_key.public_key())), "kid": "ec"},
                    {"kty": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "kid": "oct"},
                ]
            }
        )


@pytest.fixture
def identity() -> Identity:
    """A sign-in service with fresh keys."""
    return Identity()


@pytest.fixture
async def service(identity: Identity) -> AsyncIterator[Running]:
    """The same on a real server."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await Starlette(routes=[Route("/keys", identity.keys)])(scope, receive, send)

    async with running(app) as it:
        yield it


async def test_tokens_of_a_sign_in_service_are_checked_with_its_keys(identity: Identity, service: Running) -> None:
    """RS256 and ES256 by `kid`; the keys are fetched once."""
    tokens = Tokens(PublishedKeys(f"{service.url}/keys"))
    for key, algorithm, kid in ((identity.rsa_key, "RS256", "rsa"), (identity.ec_key, "ES256", "ec")):
        for _ in range(3):
            signed_in = await tokens.read(bearer({"sub": "alice"}, key, algorithm, kid=kid))
            assert signed_in.user == User("alice")
    assert identity.fetched == 1


async def test_algorithms_can_not_be_confused(identity: Identity, service: Running) -> None:
    """A public key is no secret, a symmetric published key is none either, and a key fits its own algorithm alone."""
    public = identity.rsa_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )

    def part(value: bytes) -> str:
        return base64.urlsafe_b64encode(value).rstrip(b"=").decode()

    def forged(kid: str, key: bytes) -> str:
        head = part(json.dumps({"alg": "HS256", "kid": kid}).encode()) + "." + part(b'{"sub": "alice"}')
        return f"Bearer {head}.{part(hmac.new(key, head.encode(), hashlib.sha256).digest())}"

    tokens = Tokens(PublishedKeys(f"{service.url}/keys"))
    other = rsa.generate_private_key(65537, 2048)
    for authorization in (
        forged("rsa", public),
        forged("oct", b"secretsecretsecretsecretsecret"),
        bearer({"sub": "alice"}, other, "RS256", kid="rsa"),
        bearer({"sub": "alice"}, other, "RS256", kid="unknown"),
        bearer({"sub": "alice"}, other, "RS256"),
        bearer({"sub": "alice"}, identity.rsa_key, "RS384", kid="rsa"),
        bearer({"sub": "alice"}, identity.rsa_key, "RS256", kid="ec"),
    ):
        with pytest.raises(TokenRefused):
            await tokens.read(authorization)
    assert identity.fetched == 1  # unknown keys don't have them fetched again and again


async def test_a_service_that_is_down_is_no_fault_of_the_token(identity: Identity, service: Running) -> None:
    """KeysUnavailable, without asking again for a while; then it goes on by itself."""
    now = [0.0]
    tokens = Tokens(PublishedKeys(f"{service.url}/keys", pause=5, clock=lambda: now[0]))
    authorization = bearer({"sub": "alice"}, identity.ec_key, "ES256", kid="ec")
    identity.up = False
    for _ in range(3):
        with pytest.raises(KeysUnavailable):
            await tokens.read(authorization)
    assert identity.fetched == 1
    identity.up = True
    now[0] = 6.0
    assert (await tokens.read(authorization)).user == User("alice")


# ---------------------------------------------------------------- the development user


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000"])
async def test_the_development_user_is_who_asks_from_this_machine(host: str) -> None:
    """Without a token, on a loopback name, from a program or from a page of this server."""
    sign_in = SignIn(Tokens(None), DevelopmentUser(User("dev")))
    for headers in ({}, {"origin": f"http://{host}", "sec_fetch_site": "same-origin"}, {"sec_fetch_site": "none"}):
        signed_in = await sign_in(connection(host, **headers))
        assert signed_in is not None
        assert signed_in.user == User("dev")


@pytest.mark.parametrize(
    "asked",
    [
        connection(client="192.168.1.7"),
        connection("evil.example"),  # a name made to point here
        connection("127.0.0.1.evil.example:8000"),
        connection("localhost.evil.example"),
        connection(""),
        connection("["),
        connection(origin="https://evil.example"),
        connection(origin="null"),
        connection(origin="http://127.0.0.1:9999"),
        connection(origin="http://["),
        connection(sec_fetch_site="cross-site"),
        connection(sec_fetch_site="same-site"),
    ],
)
async def test_others_never_act_as_the_development_user(asked: HTTPConnection) -> None:
    """Another machine, a rebound name, a page of another site: they are nobody."""
    assert await SignIn(Tokens(None), DevelopmentUser(User("dev")))(asked) is None


async def test_a_token_goes_before_the_development_user() -> None:
    """A right one names its own user, and a wrong one is refused as anywhere."""
    sign_in = SignIn(Tokens(SecretKey(SECRET)), DevelopmentUser(User("dev")))
    signed_in = await sign_in(connection(authorization=bearer({"sub": "alice"})))
    assert signed_in is not None
    assert signed_in.user == User("alice")
    with pytest.raises(TokenRefused):
        await sign_in(connection(authorization="Bearer nonsense"))


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.7", "::", "example.com"])  # noqa: S104 - the case in point
def test_there_is_no_development_user_where_others_reach_the_server(host: str) -> None:
    """The start stops with what to do."""
    with pytest.raises(ValueError, match=r"127\.0\.0\.1"):
        sign_in_of(Settings(host=host), dev_user="dev")


async def test_without_a_token_it_is_nobody() -> None:
    """No header, an empty one, and an empty payload."""
    sign_in = sign_in_of(SETTINGS)
    assert await sign_in(connection()) is None
    assert await sign_in(connection(authorization="")) is None
    assert await sign_in(connection(), {"authorization": None, "other": 1}) is None
