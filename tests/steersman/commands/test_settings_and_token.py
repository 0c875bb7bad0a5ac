"""Commands that read settings and print."""

from __future__ import annotations

from pathlib import Path

from steersman.auth import SecretKey, Tokens
from tests.support.commands import SECRET, environment, steersman
from tests.support.project import ROOT


async def test_settings_are_printed_without_secrets(tmp_path: Path) -> None:
    """One NAME=value a line; secrets and passwords are redacted."""
    url = "postgresql://me:hidden-word@127.0.0.1:5432/name"
    env = environment(tmp_path, STEERSMAN_JWT_SECRET=SECRET, STEERSMAN_DATABASE_URL=url, STEERSMAN_MAX_RUNS="7")
    ended = await steersman("settings", env=env)
    assert ended.code == 0
    lines = dict(line.split("=", 1) for line in ended.out.splitlines())
    assert lines["STEERSMAN_JWT_SECRET"] == "[redacted]"
    assert lines["STEERSMAN_DATABASE_URL"] == "postgresql://me:[redacted]@127.0.0.1:5432/name"
    assert lines["STEERSMAN_MAX_RUNS"] == "7"
    assert "hidden-word" not in ended.out
    assert SECRET not in ended.out


async def test_the_reference_of_settings_is_their_page(tmp_path: Path) -> None:
    """The same text as docs/settings.md."""
    ended = await steersman("settings", "--reference", env=environment(tmp_path))
    assert ended.out == (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


async def test_bad_settings_are_told_all_at_once(tmp_path: Path) -> None:
    """Each a sentence on standard error, exit code 2, no traceback; by every command alike."""
    env = environment(tmp_path, STEERSMAN_PORT="many", STEERSMAN_LEASE_SECOND="5", STEERSMAN_JWT_SECRET="short")
    for words in (["settings"], ["serve"], ["dev"], ["run", "calculator", "1+1"], ["migrate"], ["token", "--sub", "a"]):
        ended = await steersman(*words, env=env)
        assert (ended.code, ended.out) == (2, ""), words
        assert "steersman: STEERSMAN_PORT must be a whole number" in ended.err
        assert "steersman: STEERSMAN_LEASE_SECOND is no setting: did you mean STEERSMAN_LEASE_SECONDS?" in ended.err
        assert "steersman: STEERSMAN_JWT_SECRET must have at least 32 bytes" in ended.err
        assert "Traceback" not in ended.err


async def test_a_token_signs_its_user_in(tmp_path: Path) -> None:
    """With its roles, for as long as was asked."""
    env = environment(tmp_path, STEERSMAN_JWT_SECRET=SECRET)
    ended = await steersman("token", "--sub", "alice", "--role", "admin", "--role", "support", "--hours", "2", env=env)
    assert (ended.code, ended.err) == (0, "")
    signed_in = await Tokens(SecretKey(SECRET)).read(f"Bearer {ended.out.strip()}")
    assert (signed_in.user.id, sorted(signed_in.user.roles)) == ("alice", ["admin", "support"])


async def test_a_token_needs_a_secret(tmp_path: Path) -> None:
    """Without one it says what to set."""
    ended = await steersman("token", "--sub", "alice", env=environment(tmp_path))
    assert (ended.code, ended.out) == (2, "")
    assert "STEERSMAN_JWT_SECRET" in ended.err


async def test_the_schema_is_printed_as_it_is_kept(tmp_path: Path) -> None:
    """The same text as schema/schema.graphql."""
    ended = await steersman("schema", env=environment(tmp_path), cwd=tmp_path)
    assert ended.out == (ROOT / "schema" / "schema.graphql").read_text(encoding="utf-8")


async def test_the_version_is_printed(tmp_path: Path) -> None:
    """On one line."""
    ended = await steersman("version", env=environment(tmp_path))
    assert ended.code == 0
    assert ended.out.startswith("steersman ")
    assert ended.out.count("\n") == 1
