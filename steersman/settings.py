"""Settings: environment variables with the prefix STEERSMAN_, read once at start, all problems told together.

`Settings` is the one table: each field carries its reader, its description and whether it is a secret. The reference
page docs/settings.md is made from it (`reference()`), and a test compares the two.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from engine.limits import ByRole
from steersman import reading
from steersman.reading import Unreadable

PREFIX = "STEERSMAN_"
FILE_SUFFIX = "_FILE"
# Variables of the test suite share the prefix and are no settings.
TEST_PREFIX = "STEERSMAN_TEST_"
MIN_SECRET_BYTES = 32


class BadSettings(Exception):
    """The settings can't be used; `problems` has one sentence each, saying what to do."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True)
class Meta:
    """What the table knows of a setting beside its name and default."""

    read: Callable[[str], Any]
    kind: str
    description: str
    secret: bool = False


def _setting(
    default: Any, read: Callable[[str], Any], kind: str, description: str, *, secret: bool = False
) -> Any:  # like dataclasses.field, it stands for a value of the annotated type
    return dataclasses.field(default=default, metadata={"setting": Meta(read, kind, description, secret)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The effective settings; a field `lease_seconds` is the variable STEERSMAN_LEASE_SECONDS."""

    database_url: str = _setting(
        "sqlite:///steersman.db",
        reading.database_url,
        "URL",
        "Where everything is kept: `sqlite:///file.db` (one process) or `postgresql://user:password@host/name` (any "
        "number). Taken with or without a driver's name.",
        secret=True,
    )
    database_pool_size: int = _setting(
        5,
        reading.whole(1, 1_000),
        "number",
        "How many connections to the database one process keeps at most; with SQLite, how many reads at once.",
    )
    redis_url: str | None = _setting(
        None,
        reading.redis_url,
        "URL",
        "Redis or Valkey, which carries tokens and changes between processes: `redis://:password@host:6379/0`, "
        "`rediss://…` for TLS, or `unix:///path/to/redis.sock`. For PostgreSQL with more than one process; without it "
        "each shows tokens of its own runs alone.",
        secret=True,
    )
    stream_retention_seconds: float = _setting(
        60.0,
        reading.seconds(1.0),
        "seconds",
        "How long the stream of a run that has ended stays in Redis, for those who still read it; afterwards they read "
        "it from the database.",
    )
    files: Path | None = _setting(
        None,
        Path,
        "folder",
        "The folder of attachments; unset: `files` beside a SQLite file, else in the working directory. Processes on "
        "several machines need one on a disk that they share, or FILES_URL.",
    )
    files_url: str | None = _setting(
        None,
        reading.bucket_url,
        "URL",
        "A bucket for attachments in place of a folder, in any store that speaks S3: `s3://bucket/folder`. Its keys "
        "and region are the client's own variables: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, or the "
        "machine's role.",
    )
    files_endpoint: str | None = _setting(
        None, reading.http_url, "URL", "Where the store of FILES_URL answers, if it is not Amazon's own."
    )
    agents: Path = _setting(Path("agents"), Path, "folder", "The folder of agent files.")
    host: str = _setting("127.0.0.1", reading.text, "address", "The address to listen on; `0.0.0.0` for all.")
    port: int = _setting(
        8000, reading.whole(0, 65535), "number", "The port to listen on; 0 takes any free one and says which."
    )
    worker_port: int = _setting(
        8001,
        reading.whole(0, 65535),
        "number",
        "The port at which `steersman worker` answers its probes, `/healthz` and `/readyz`; 0 takes any free one and "
        "says which.",
    )
    jwt_secret: str | None = _setting(
        None,
        reading.secret(MIN_SECRET_BYTES),
        "text",
        f"The key that signs and checks tokens (HS256), at least {MIN_SECRET_BYTES} bytes. Or set JWKS_URL.",
        secret=True,
    )
    jwks_url: str | None = _setting(
        None,
        reading.http_url,
        "URL",
        "Where your sign-in service publishes its public keys; tokens are then RS256 or ES256. Not together with "
        "JWT_SECRET.",
    )
    jwt_issuer: str | None = _setting(None, reading.text, "text", "Tokens must name this issuer (`iss`).")
    jwt_audience: str | None = _setting(None, reading.text, "text", "Tokens must name this audience (`aud`).")
    oidc_issuer: str | None = _setting(
        None,
        reading.http_url,
        "URL",
        "The OpenID Connect provider at which people sign in to the console, by authorization code with PKCE. Set "
        "JWKS_URL for the tokens that it gives, too.",
    )
    oidc_client_id: str | None = _setting(
        None, reading.text, "text", "The console's id at the provider: a public client, without a secret."
    )
    oidc_scope: str = _setting(
        "openid profile offline_access",
        reading.text,
        "text",
        "What the console asks the provider for; `offline_access` lets it renew tokens.",
    )
    oidc_audience: str | None = _setting(
        None, reading.text, "text", "The `audience` that the console asks for, where the provider needs one."
    )
    oidc_token: str = _setting(
        "access",
        reading.one_of("access", "id"),
        "access/id",
        "Which of the provider's tokens the console sends; it must be a JWT.",
    )
    oidc_origins: tuple[str, ...] = _setting(
        (),
        reading.origins,
        "list",
        "Further origins that the provider answers at, separated by commas, where its tokens do not come from the "
        "issuer's own.",
    )
    allowed_origins: tuple[str, ...] = _setting(
        (),
        reading.origins,
        "list",
        "Web origins whose pages may call the API from a browser (CORS), separated by commas. Empty: only pages of "
        "this server itself.",
    )
    console: bool = _setting(True, reading.switch, "on/off", "Serve the console and GraphiQL.")
    introspection: bool = _setting(True, reading.switch, "on/off", "Answer questions about the schema itself.")
    allowed_models: frozenset[str] | None = _setting(
        None,
        reading.names,
        "list",
        "The models that agents may use, separated by commas; others are left out of their lists. "
        "Unset: every model that an agent names.",
    )
    override_roles: frozenset[str] | None = _setting(
        None,
        reading.names,
        "list",
        "The roles, separated by commas, whose holders may give runs what stands in their agents' place: `overrides` "
        "of startRun, and addRunTools. Unset: server code alone may.",
    )
    summary_model: str = _setting(
        "claude-haiku-5-5",
        reading.text,
        "model",
        "Who sums long conversations up, where an agent names nobody. The agent's own model does where this one is not "
        "allowed, not known to the provider, or fails.",
    )
    context_tokens: int = _setting(
        200_000,
        reading.whole(1_000, 1_000_000_000),
        "tokens",
        "How much a model reads at once of which neither the file of prices nor the provider tells it.",
    )
    fetch_private: bool = _setting(
        False,
        reading.switch,
        "on/off",
        "Let tools of the type `fetch` reach private networks and this machine itself, where their configuration names "
        "the host (`*` names none). Link-local addresses, where clouds keep a machine's credentials, are never asked.",
    )
    admin_role: str = _setting(
        "admin",
        reading.text,
        "role",
        "The role of administrators: they may read and cancel everybody's runs, see everybody's figures, and create "
        "schedules whose runs belong to another user, such as a service user.",
    )
    webhook_private: bool = _setting(
        False,
        reading.switch,
        "on/off",
        "Let webhooks be at private networks and this machine itself, and be asked by plain http too: for development. "
        "Link-local addresses, where clouds keep a machine's credentials, are never asked.",
    )
    remotes_private: bool = _setting(
        False,
        reading.switch,
        "on/off",
        "Let users register MCP servers in private networks and on this machine itself, and over plain HTTP. "
        "Link-local addresses, where clouds keep a machine's credentials, are never connected to.",
    )
    remote_grace_seconds: float = _setting(
        10.0,
        reading.seconds(0.1),
        "seconds",
        "How long a client that offers tools still counts as connected after its last subscription has ended.",
    )
    remote_call_seconds: float = _setting(
        60.0, reading.seconds(0.1), "seconds", "How long a remote has to answer a call of one of its tools."
    )
    mcp_servers: Path | None = _setting(
        None,
        reading.existing_file,
        "file",
        "A JSON file of MCP servers that every user may use: commands to start and addresses, by name.",
    )
    agent_turns: int = _setting(
        3,
        reading.whole(0, 1_000),
        "number",
        "How many messages of agents may follow the last one of a person in a thread before what agents say asks no "
        "other agent any more.",
    )
    worker: bool = _setting(
        True, reading.switch, "on/off", "Run agents in `serve` too; off leaves that to `steersman worker` processes."
    )
    max_runs: int = _setting(
        1_000,
        reading.whole(1, 100_000),
        "number",
        "How many runs one worker has under way at once; those that wait for a run of theirs do not count.",
    )
    lease_seconds: float = _setting(
        10.0,
        reading.seconds(0.1),
        "seconds",
        "How long a worker's hold on a run lasts without renewal; after that another takes over.",
    )
    cancel_poll_seconds: float = _setting(
        2.0, reading.seconds(0.05), "seconds", "At worst this long until another process hears of a cancel."
    )
    drain_seconds: float = _setting(
        60.0,
        reading.seconds(0.0),
        "seconds",
        "At shutdown, how long runs may go on before they are handed back for another worker.",
    )
    daily_cost_limit: ByRole[Decimal] | None = _setting(
        None,
        reading.by_role(reading.amount),
        "USD",
        "What a user's runs may spend in a day (UTC), in USD: `5`, or `5,staff=50` where those with the role `staff` "
        "have another limit. Of several roles the largest limit counts. Without a number for everybody, those without "
        "such a role have none.",
    )
    daily_token_limit: ByRole[int] | None = _setting(
        None,
        reading.by_role(reading.tokens),
        "tokens",
        "The same in tokens: input, output and cache writes together.",
    )
    monthly_cost_limit: Decimal | None = _setting(
        None, reading.amount, "USD", "What all runs of this deployment together may spend in a month (UTC), in USD."
    )
    prices: Path | None = _setting(
        None, reading.existing_file, "file", "A file of model prices that overrides the one shipped."
    )
    sqlite_synchronous: str = _setting(
        "full",
        reading.one_of("full", "normal"),
        "full/normal",
        "What a commit to a SQLite file waits for: with `full`, what was acknowledged survives a power cut; with "
        "`normal` commits are cheaper, and the last ones may be lost to one.",
    )
    log_format: str = _setting(
        "text", reading.one_of("text", "json"), "text/json", "How log lines are written: for people or for machines."
    )
    log_level: str = _setting(
        "info",
        reading.one_of("debug", "info", "warning", "error"),
        "level",
        "The least that is logged: `debug`, `info`, `warning` or `error`.",
    )


@dataclass(frozen=True, slots=True)
class Row:
    """A setting as the table shows it: its variable's name, its field, its default and the rest."""

    variable: str
    field: str
    default: Any
    meta: Meta


def table() -> list[Row]:
    """All settings, in the order of the reference page."""
    return [
        Row(PREFIX + field.name.upper(), field.name, field.default, cast(Meta, field.metadata["setting"]))
        for field in dataclasses.fields(Settings)
    ]


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings that these environment variables name; an empty variable counts as unset.

    Raises BadSettings with every problem found, not only the first.
    """
    problems: list[str] = []
    values: dict[str, Any] = {}
    for row in table():
        try:
            given = _given(row, environment)
            if given is not None:
                values[row.field] = row.meta.read(given)
        except Unreadable as error:
            problems.append(f"{row.variable} {error}")
    problems += _unknown(environment)
    settings = Settings(**values)
    problems += _inconsistent(settings)
    if problems:
        raise BadSettings(problems)
    return settings


def shown(settings: Settings) -> dict[str, str]:
    """The effective settings by variable name, as text that may be printed: secrets are redacted."""
    return {row.variable: _shown(row.meta, getattr(settings, row.field)) for row in table()}


def secrets_of(settings: Settings) -> list[str]:
    """The secret values in these settings, for a log that must never show them."""
    keys = [settings.jwt_secret] if settings.jwt_secret else []
    return [*keys, *reading.secrets_in(settings.database_url), *reading.secrets_in(settings.redis_url or "")]


def reference() -> str:
    """The reference page of all settings, as Markdown."""
    lines = [
        "# Settings",
        "",
        "Made from `steersman/settings.py` by `python -m steersman.settings`; a test compares the two.",
        "",
        "Settings are environment variables. An empty variable counts as unset. A name that starts with `STEERSMAN_`",
        "and is not listed here stops the start, as does a value that can't be read: all problems are told at once.",
        "Each secret may be given as a file instead: the variable's name with `_FILE` behind it holds the file's path.",
        "Switches take `on` or `off`.",
        "",
        "| variable | kind | default | what it does |",
        "|---|---|---|---|",
    ]
    for row in table():
        default = "unset" if row.default in (None, ()) else f"`{_shown(row.meta, row.default)}`"
        secret = ""
        if row.meta.secret:
            secret = f" {'Its password is' if row.meta.kind == 'URL' else 'It is'} never printed or logged."
        lines.append(f"| `{row.variable}` | {row.meta.kind} | {default} | {row.meta.description}{secret} |")
    lines += [
        "",
        "`ANTHROPIC_API_KEY` and `ANTHROPIC_BASE_URL` are the provider SDK's own; the base URL reaches any server that",
        "speaks the Messages API, local ones included.",
        "",
    ]
    return "\n".join(lines)


def _given(row: Row, environment: Mapping[str, str]) -> str | None:
    value = environment.get(row.variable, "").strip() or None
    path = environment.get(row.variable + FILE_SUFFIX, "").strip() or None
    if path is None:
        return value
    if not row.meta.secret:
        raise Unreadable(f"is no secret: set {row.variable} itself instead of {row.variable}{FILE_SUFFIX}.")
    if value is not None:
        raise Unreadable(f"and {row.variable}{FILE_SUFFIX} are both set: unset one of them.")
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"can't be read from the file that {row.variable}{FILE_SUFFIX} names: {error}.") from error


def _unknown(environment: Mapping[str, str]) -> list[str]:
    known = {row.variable for row in table()} | {row.variable + FILE_SUFFIX for row in table()}
    problems = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not name.startswith(TEST_PREFIX):
            near = get_close_matches(name, known, n=1, cutoff=0.75)
            hint = f"did you mean {near[0]}?" if near else "unset it, or see docs/settings.md for what there is."
            problems.append(f"{name} is no setting: {hint}")
    return problems


def _inconsistent(settings: Settings) -> list[str]:
    problems = []
    if settings.jwt_secret is not None and settings.jwks_url is not None:
        problems.append(
            "STEERSMAN_JWT_SECRET and STEERSMAN_JWKS_URL are both set: keep the secret for tokens that you sign "
            "yourself, or the URL for tokens of your sign-in service, and unset the other."
        )
    if settings.jwt_secret is None and settings.jwks_url is None:
        problems += [
            f"{name} is set, but nothing checks tokens: set STEERSMAN_JWT_SECRET or STEERSMAN_JWKS_URL too."
            for name, value in (
                ("STEERSMAN_JWT_ISSUER", settings.jwt_issuer),
                ("STEERSMAN_JWT_AUDIENCE", settings.jwt_audience),
            )
            if value is not None
        ]
    problems += _inconsistent_sign_in(settings)
    problems += _inconsistent_files(settings)
    if settings.database_url.startswith("sqlite:"):
        problems += _inconsistent_with_a_file(settings)
    return problems


def _inconsistent_sign_in(settings: Settings) -> list[str]:
    if settings.oidc_issuer is None:
        further = {
            "STEERSMAN_OIDC_CLIENT_ID": settings.oidc_client_id,
            "STEERSMAN_OIDC_AUDIENCE": settings.oidc_audience,
            "STEERSMAN_OIDC_ORIGINS": settings.oidc_origins,
        }
        return [
            f"{name} is set, but no provider: set STEERSMAN_OIDC_ISSUER too."
            for name, value in further.items()
            if value
        ]
    problems = []
    if settings.oidc_client_id is None:
        problems.append("STEERSMAN_OIDC_ISSUER is set, but not who asks it: set STEERSMAN_OIDC_CLIENT_ID too.")
    if settings.jwks_url is None:
        problems.append("STEERSMAN_OIDC_ISSUER is set, but nothing checks its tokens: set STEERSMAN_JWKS_URL too.")
    return problems


def _inconsistent_files(settings: Settings) -> list[str]:
    problems = []
    if settings.files is not None and settings.files_url is not None:
        problems.append("STEERSMAN_FILES and STEERSMAN_FILES_URL are both set: keep the folder or the bucket.")
    if settings.files_endpoint is not None and settings.files_url is None:
        problems.append("STEERSMAN_FILES_ENDPOINT is set, but no bucket: set STEERSMAN_FILES_URL too.")
    return problems


def _inconsistent_with_a_file(settings: Settings) -> list[str]:
    problems = []
    if not settings.worker:
        problems.append(
            "STEERSMAN_WORKER is off and STEERSMAN_DATABASE_URL is a SQLite file, which one process alone may open, so "
            "nothing would run the agents: turn STEERSMAN_WORKER on, or use a postgresql:// address."
        )
    if settings.redis_url is not None:
        problems.append(
            "STEERSMAN_REDIS_URL is set and STEERSMAN_DATABASE_URL is a SQLite file, which one process alone may open, "
            "so nothing would be shared: set STEERSMAN_DATABASE_URL to a postgresql:// address, or unset "
            "STEERSMAN_REDIS_URL."
        )
    return problems


def _shown(meta: Meta, value: Any) -> str:
    if value is None:
        return ""
    if meta.secret:
        return reading.without_password(value) if meta.kind == "URL" else "[redacted]"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, frozenset):
        return ",".join(sorted(value))
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return reading.without_password(text) if meta.kind == "URL" else text


if __name__ == "__main__":
    print(reference(), end="")
