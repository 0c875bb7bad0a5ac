"""Settings: read once, told all at once, never shown whole where they are secret."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.limits import ByRole
from engine.streams.redis_client import connect
from steersman.process import engine_config
from steersman.settings import BadSettings, Settings, read_settings, reference, secrets_of, shown, table

ROOT = Path(__file__).resolve().parents[2]
SECRET = "s3cret-" * 8


def problems_of(**environment: str) -> list[str]:
    """What is told of these variables, STEERSMAN_ put before each name."""
    with pytest.raises(BadSettings) as info:
        read_settings({f"STEERSMAN_{name}": value for name, value in environment.items()})
    return info.value.problems


def settings_of(**environment: str) -> Settings:
    """The settings of these variables, STEERSMAN_ put before each name."""
    return read_settings({f"STEERSMAN_{name}": value for name, value in environment.items()})


def test_the_reference_page_is_made_from_the_table() -> None:
    """docs/settings.md is what the table says, word for word."""
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == reference()


def test_the_reference_page_can_be_made_again() -> None:
    """The command that the page names prints it."""
    made = subprocess.run([sys.executable, "-m", "steersman.settings"], cwd=ROOT, capture_output=True, check=True)
    assert made.stdout.decode() == reference()


def test_every_setting_says_what_it_does() -> None:
    """No setting is without a kind and a description, and each default is what its own reader would give."""
    for row in table():
        assert row.meta.kind
        assert row.meta.description.endswith(".")
        text = shown(Settings())[row.variable]
        if text and not row.meta.secret:
            assert settings_of(**{row.field.upper(): text}) == Settings()


def test_without_variables_the_defaults_hold() -> None:
    """An empty environment starts a server on this machine alone; empty variables count as unset."""
    assert read_settings({}) == Settings()
    assert read_settings({row.variable: " " for row in table()}) == Settings()
    assert Settings().host == "127.0.0.1"
    assert Settings().database_url.startswith("sqlite:///")


@pytest.mark.parametrize(
    ("given_address", "taken"),
    [
        ("sqlite:///data.db", "sqlite:///data.db"),
        ("sqlite:////var/lib/data.db", "sqlite:////var/lib/data.db"),
        ("sqlite+aiosqlite:///data.db", "sqlite:///data.db"),
        ("postgres://u:p@h:5432/d", "postgresql://u:p@h:5432/d"),
        ("postgresql://u:p@h/d?sslmode=require", "postgresql://u:p@h/d?sslmode=require"),
        ("postgresql+asyncpg://u@h/d", "postgresql://u@h/d"),
    ],
)
def test_a_database_address_is_taken_with_or_without_its_driver(given_address: str, taken: str) -> None:
    """Every common way to write it comes out the same."""
    assert settings_of(DATABASE_URL=given_address).database_url == taken


@pytest.mark.parametrize(
    "address",
    [
        "mysql://u@h/d",
        "data.db",
        "sqlite://data.db",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://h",
        "postgresql://h:x/d",
    ],
)
def test_another_database_address_is_refused_with_what_to_write(address: str) -> None:
    """The sentence names the form that is right, and never repeats a password."""
    (problem,) = problems_of(DATABASE_URL=address)
    assert problem.startswith("STEERSMAN_DATABASE_URL ")
    assert "sqlite:///" in problem or "postgresql://" in problem


REDIS = [
    "redis://127.0.0.1",
    "redis://127.0.0.1:6379/",
    "redis://:pass%2Fword@[::1]:6379/15",
    "rediss://user:password@redis.example:6380/0?ssl_ca_certs=ca.pem&ssl_cert_reqs=required&ssl_check_hostname=false",
    "unix:///run/redis/redis.sock?db=3&password=word",
    "unix://user:word@/run/redis/redis.sock",
]


@pytest.mark.parametrize("address", REDIS)
async def test_an_address_of_redis_is_taken_as_it_is(address: str) -> None:
    """Each one that is taken is one that the client can make a connection of."""
    taken = settings_of(DATABASE_URL="postgresql://h/d", REDIS_URL=address).redis_url
    assert taken == address
    client = connect(address)
    assert client.connection_pool.make_connection() is not None  # type: ignore[no-untyped-call]
    await client.aclose()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1:6379",
        "http://127.0.0.1:6379",
        "redis://",
        "redis:///0",
        "redis://:hunter2@",
        "redis://user:hunter2/word@host/0",
        "redis://:1/hunter2@host/0",
        "redis://:1#hunter2@host/0",
        "redis://:hunter2@host:port/0",
        "redis://:hunter2@host/name",
        "redis://:hunter2@host/0?db=x",
        "redis://:hunter2@host/0?ssl_cert_reqs=none",
        "rediss://:hunter2@host/0?ssl_cert_reqs=perhaps",
        "redis://:hunter2@host/0?timeout=hunter2",
        "unix://",
        "unix:///",
    ],
)
def test_another_address_of_redis_is_refused_with_what_to_write(address: str) -> None:
    """The sentence names a form that is right, or the options that there are, and never repeats a password."""
    (problem,) = problems_of(DATABASE_URL="postgresql://h/d", REDIS_URL=address)
    assert problem.startswith("STEERSMAN_REDIS_URL ")
    assert "://" in problem or "username, password" in problem
    assert "hunter2" not in problem


def test_all_problems_are_told_at_once() -> None:
    """One start shows everything that is wrong."""
    problems = problems_of(PORT="ten", LEASE_SECONDS="-1", CONSOLE="perhaps", LOG_FORMAT="xml", PORTT="1")
    assert [problem.split()[0] for problem in problems] == [
        "STEERSMAN_PORT",
        "STEERSMAN_CONSOLE",
        "STEERSMAN_LEASE_SECONDS",
        "STEERSMAN_LOG_FORMAT",
        "STEERSMAN_PORTT",
    ]


def test_an_unknown_setting_stops_the_start_with_the_nearest_name() -> None:
    """A slip of the pen is not passed over in silence."""
    assert problems_of(DATABSE_URL="x") == ["STEERSMAN_DATABSE_URL is no setting: did you mean STEERSMAN_DATABASE_URL?"]
    (problem,) = problems_of(ZZZ="x")
    assert "is no setting" in problem


def test_variables_of_the_tests_are_no_settings() -> None:
    """A server may be started under the test suite's environment."""
    assert settings_of(TEST_POSTGRES_URL="postgresql://h/d") == Settings()


def test_a_secret_may_be_a_file(tmp_path: Path) -> None:
    """The variable with _FILE names it; both at once, a missing file, and a plain setting as a file are refused."""
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    assert settings_of(JWT_SECRET_FILE=str(file)).jwt_secret == SECRET
    address = tmp_path / "address"
    address.write_text("redis://:hunter2@host:6379/0\n")
    settings = settings_of(DATABASE_URL="postgresql://h/d", REDIS_URL_FILE=str(address))
    assert settings.redis_url == "redis://:hunter2@host:6379/0"
    assert "are both set" in problems_of(JWT_SECRET_FILE=str(file), JWT_SECRET=SECRET)[0]
    assert "can't be read" in problems_of(JWT_SECRET_FILE=str(tmp_path / "none"))[0]
    assert "is no secret" in problems_of(PORT_FILE=str(file))[0]


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"JWT_SECRET": SECRET, "JWKS_URL": "https://id.example/keys"}, "are both set"),
        ({"FILES": "files", "FILES_URL": "s3://bucket"}, "are both set"),
        ({"FILES_ENDPOINT": "https://s3.example"}, "set STEERSMAN_FILES_URL too"),
        ({"FILES_URL": "https://bucket"}, "s3://bucket"),
        ({"JWT_ISSUER": "me"}, "set STEERSMAN_JWT_SECRET or STEERSMAN_JWKS_URL too"),
        ({"JWT_AUDIENCE": "us"}, "set STEERSMAN_JWT_SECRET or STEERSMAN_JWKS_URL too"),
        ({"OIDC_ISSUER": "https://id.example", "JWKS_URL": "https://id.example/keys"}, "STEERSMAN_OIDC_CLIENT_ID too"),
        ({"OIDC_ISSUER": "https://id.example", "OIDC_CLIENT_ID": "console"}, "set STEERSMAN_JWKS_URL too"),
        ({"OIDC_CLIENT_ID": "console"}, "set STEERSMAN_OIDC_ISSUER too"),
        ({"OIDC_ORIGINS": "https://id.example"}, "set STEERSMAN_OIDC_ISSUER too"),
        ({"OIDC_TOKEN": "refresh"}, "access"),
        ({"WORKER": "off"}, "nothing would run the agents"),
        ({"REDIS_URL": "redis://h"}, "set STEERSMAN_DATABASE_URL to a postgresql:// address, or unset"),
        ({"DATABASE_POOL_SIZE": "0"}, "from 1 to 1000"),
        ({"DATABASE_POOL_SIZE": "1001"}, "from 1 to 1000"),
        ({"WORKER_PORT": "65536"}, "from 0 to 65535"),
        ({"STREAM_RETENTION_SECONDS": "0"}, "number of seconds from 1"),
        ({"JWT_SECRET": "short"}, "at least 32 bytes"),
        ({"JWKS_URL": "file:///etc/passwd"}, "must be an https:// address"),
        ({"PRICES": "/no/such/file"}, "names no file"),
        ({"ALLOWED_ORIGINS": "https://a.example/path"}, "must list origins"),
        ({"ALLOWED_ORIGINS": "*"}, "must list origins"),
        ({"PORT": "70000"}, "from 0 to 65535"),
        ({"PORT": "1" * 5000}, "from 0 to 65535"),
        ({"LEASE_SECONDS": "nan"}, "number of seconds"),
        ({"MAX_RUNS": "0"}, "from 1 to"),
        ({"DAILY_COST_LIMIT": "5,6"}, "each once"),
        ({"DAILY_COST_LIMIT": "=5"}, "each once"),
        ({"DAILY_COST_LIMIT": "staff=5,staff=6"}, "each once"),
        ({"DAILY_COST_LIMIT": "1e3"}, "amount in USD"),
        ({"DAILY_TOKEN_LIMIT": "5,staff=1.5"}, "number of tokens"),
        ({"MONTHLY_COST_LIMIT": "-1"}, "amount in USD"),
    ],
)
def test_values_that_make_no_sense_stop_the_start_with_what_to_do(environment: dict[str, str], says: str) -> None:
    """Each has a sentence, and none repeats a secret."""
    (problem,) = problems_of(**environment)
    assert says in problem
    assert SECRET not in problem


def test_the_scheme_of_an_address_of_redis_is_written_as_its_client_writes_it() -> None:
    """In small letters, whichever were given."""
    assert (
        settings_of(DATABASE_URL="postgresql://h/d", REDIS_URL="UNIX:///run/R.sock").redis_url == "unix:///run/R.sock"
    )


def test_lists_and_switches_are_read_as_people_write_them() -> None:
    """Spaces around commas and the usual words for on and off."""
    settings = settings_of(
        ALLOWED_MODELS=" a, b ,,c", CONSOLE="No", INTROSPECTION="TRUE", ALLOWED_ORIGINS="https://a.b/"
    )
    assert settings.allowed_models == frozenset({"a", "b", "c"})
    assert (settings.console, settings.introspection) == (False, True)
    assert settings.allowed_origins == ("https://a.b",)


def test_limits_are_read_by_role_and_printed_as_they_are_read() -> None:
    """One amount for everybody, others by role; exact."""
    settings = settings_of(
        DAILY_COST_LIMIT="5, staff = 50.25", DAILY_TOKEN_LIMIT="staff=9000", MONTHLY_COST_LIMIT="1000.10"
    )
    assert settings.daily_cost_limit == ByRole(Decimal(5), {"staff": Decimal("50.25")})
    assert settings.daily_token_limit == ByRole(None, {"staff": 9_000})
    printed = shown(settings)
    assert printed["STEERSMAN_DAILY_COST_LIMIT"] == "5,staff=50.25"
    assert printed["STEERSMAN_DAILY_TOKEN_LIMIT"] == "staff=9000"
    assert printed["STEERSMAN_MONTHLY_COST_LIMIT"] == "1000.10"


def test_what_is_printed_holds_no_secret() -> None:
    """Secrets are redacted, passwords inside addresses too, and everything else is shown."""
    settings = settings_of(
        JWT_SECRET=SECRET,
        DATABASE_URL="postgresql://user:hunter2@host/db?password=hunter2&sslmode=require",
        REDIS_URL="rediss://:hunter%2F3@host:6379/0?ssl_password=hunter4&ssl_ca_certs=ca.pem",
    )
    printed = shown(settings)
    assert "hunter" not in str(printed)
    assert SECRET not in str(printed)
    assert printed["STEERSMAN_DATABASE_URL"] == (
        "postgresql://user:[redacted]@host/db?password=[redacted]&sslmode=require"
    )
    assert printed["STEERSMAN_PORT"] == "8000"
    assert printed["STEERSMAN_CONSOLE"] == "on"
    assert (
        printed["STEERSMAN_REDIS_URL"] == "rediss://:[redacted]@host:6379/0?ssl_password=[redacted]&ssl_ca_certs=ca.pem"
    )
    assert set(secrets_of(settings)) == {SECRET, "hunter2", "hunter%2F3", "hunter/3", "hunter4"}
    assert shown(Settings())["STEERSMAN_DATABASE_URL"] == "sqlite:///steersman.db"
    assert shown(settings_of(DATABASE_URL="sqlite:////var/x.db"))["STEERSMAN_DATABASE_URL"] == "sqlite:////var/x.db"


@given(st.dictionaries(st.sampled_from([row.variable for row in table()]), st.text(max_size=40), max_size=5))
def test_no_text_breaks_the_reading(environment: dict[str, str]) -> None:
    """Whatever stands in the variables: settings, or a list of problems."""
    try:
        told: object = shown(read_settings(environment))
    except BadSettings as bad:
        told = bad.problems
    assert told


def test_settings_of_schedules_and_webhooks_reach_the_engine() -> None:
    """Administrators are those with the role `admin`, and webhooks are public, unless it is set otherwise."""
    usual = engine_config(read_settings({}))
    assert (usual.admin_role, usual.webhook_private) == ("admin", False)
    given = engine_config(read_settings({"STEERSMAN_ADMIN_ROLE": "chief", "STEERSMAN_WEBHOOK_PRIVATE": "on"}))
    assert (given.admin_role, given.webhook_private) == ("chief", True)
