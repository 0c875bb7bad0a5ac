"""`steersman doctor`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import SECRET, environment, steersman
from tests.support.messages_server import MessagesServer
from tests.support.s3_server import BUCKET, KEYS, s3_server
from tests.support.services import OwnRedis


def lines_of(out: str) -> dict[str, list[str]]:
    """The report's lines by what they are about, each with its mark first."""
    lines: dict[str, list[str]] = {}
    for line in out.splitlines():
        mark, about, *words = line.split()
        lines.setdefault(about, []).append(" ".join([mark, *words]))
    return lines


async def test_a_fresh_checkout_is_told_what_to_do_next(tmp_path: Path) -> None:
    """The missing schema is a problem, a missing key and secret are notes; nothing is made by looking."""
    ended = await steersman("doctor", env=environment(tmp_path))
    lines = lines_of(ended.out)
    assert ended.code == 1
    assert lines["schema"] == ["problem no schema yet: run `steersman migrate` (`dev` and `run` do it by themselves)"]
    assert lines["sign-in"][0].startswith("note none:")
    assert lines["provider"][0].startswith("note none:")
    assert lines["agents"] == ["ok calculator, desk, frontdesk, researcher, slowpoke"]
    assert not (tmp_path / "test.db").exists()


async def test_where_all_is_well_it_says_so_and_calls_no_model(tmp_path: Path) -> None:
    """Exit code 0; the provider was reached, and asked for no answer; no secret is printed."""
    async with MessagesServer() as provider:
        env = environment(
            tmp_path,
            STEERSMAN_JWT_SECRET=SECRET,
            ANTHROPIC_BASE_URL=provider.url,
            ANTHROPIC_API_KEY="sk-ant-hidden-word",
        )
        assert (await steersman("migrate", env=env)).code == 0
        ended = await steersman("doctor", env=env)
        assert [request.body for request in provider.requests] == [None], "only the list of models"
    assert ended.code == 0, ended.out
    assert {line.split()[0] for line in ended.out.splitlines()} <= {"ok", "note"}
    assert lines_of(ended.out)["provider"][0].startswith("ok ")
    assert SECRET not in ended.out
    assert "hidden-word" not in ended.out


async def test_each_problem_is_told(tmp_path: Path) -> None:
    """A file that does not load, a provider that does not answer, a model that is not allowed: exit code 1."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "broken.py").write_text("agent = \n")
    (agents / "fine.py").write_text("from steersman import Agent\nagent = Agent(system='x', model='some-model')\n")
    several = "['old-model', 'another-model']"
    (agents / "list.py").write_text(f"from steersman import Agent\nagent = Agent(system='x', model={several})\n")
    env = environment(
        tmp_path,
        STEERSMAN_AGENTS=str(agents),
        STEERSMAN_ALLOWED_MODELS="another-model",
        ANTHROPIC_BASE_URL="http://127.0.0.1:9",
    )
    lines = lines_of((await steersman("doctor", env=env)).out)
    assert lines["agents"][0] == "ok fine, list"
    assert "broken.py, line 1: SyntaxError" in lines["agents"][1]
    assert lines["agents"][2].startswith("problem fine asks some-model, not in")
    assert lines["agents"][3].startswith("note list asks old-model, not in")
    assert "could not be reached" in lines["provider"][0]


async def test_mcp_servers_are_looked_at_and_not_started(tmp_path: Path) -> None:
    """A command that is not there is a problem, and so is a file that can't be used; no secret is printed."""
    file = tmp_path / "servers.json"
    env = environment(tmp_path, STEERSMAN_MCP_SERVERS=str(file))
    file.write_text(
        '{"shell": {"command": "sh", "env": {"TOKEN": "hidden-word"}}, "gone": {"command": "no-such-command"}, '
        '"far": {"url": "https://me:hidden-word@mcp.example.com/", "headers": {"Authorization": "hidden-word"}}}'
    )
    ended = await steersman("doctor", "--offline", env=env)
    assert lines_of(ended.out)["mcp"] == [
        "ok shell: sh, not asked",
        "problem gone: there is no command 'no-such-command'; install it",
        "ok far: https://me:[redacted]@mcp.example.com/, not asked",
    ]
    assert "hidden-word" not in ended.out + ended.err
    file.write_text('{"shell": {}}')
    for command in ("doctor", "serve"):
        env |= {"STEERSMAN_JWT_SECRET": SECRET, "ANTHROPIC_API_KEY": "sk-ant-test"}
        ended = await steersman(command, *(["--offline"] if command == "doctor" else []), env=env)
        assert "shell" in ended.out + ended.err
        assert "give a command or a url" in ended.out + ended.err
        assert "Traceback" not in ended.err
        assert ended.code != 0


async def test_redis_is_asked_after_only_where_there_are_several_processes(tmp_path: Path) -> None:
    """A file has no line about it; PostgreSQL without it is worth a note; one that is away is a problem, told well."""
    assert "redis" not in lines_of((await steersman("doctor", "--offline", env=environment(tmp_path))).out)
    env = environment(tmp_path, STEERSMAN_DATABASE_URL="postgresql://me@127.0.0.1:1/name")
    (line,) = lines_of((await steersman("doctor", "--offline", env=env)).out)["redis"]
    assert line.startswith("note none: tokens are seen live in the process that runs the agent alone")
    env["STEERSMAN_REDIS_URL"] = "redis://:hidden-word@127.0.0.1:1/0"
    ended = await steersman("doctor", "--offline", env=env)
    (line,) = lines_of(ended.out)["redis"]
    assert line.startswith("problem redis://:[redacted]@127.0.0.1:1/0 can't be used: ")
    assert line.endswith("Start it, or set STEERSMAN_REDIS_URL.")
    assert "hidden-word" not in ended.out + ended.err
    assert "Traceback" not in ended.err


@pytest.mark.service
async def test_a_redis_that_answers_is_well(tmp_path: Path) -> None:
    """And a password that it does not take is a problem, in its own words."""
    async with OwnRedis(tmp_path) as redis:
        env = environment(
            tmp_path,
            STEERSMAN_DATABASE_URL="postgresql://me@127.0.0.1:1/name",
            STEERSMAN_REDIS_URL=redis.url,
        )
        assert lines_of((await steersman("doctor", "--offline", env=env)).out)["redis"] == [f"ok {redis.url} answers"]
        env["STEERSMAN_REDIS_URL"] = redis.url.replace("//", "//someone:hidden-word@")
        ended = await steersman("doctor", "--offline", env=env)
        (line,) = lines_of(ended.out)["redis"]
        assert line.startswith("problem redis://someone:[redacted]@127.0.0.1:")
        assert "hidden-word" not in ended.out


async def test_it_says_where_attachments_go_and_makes_nothing(tmp_path: Path) -> None:
    """A folder that can be written is well, one of each machine a note; what can't be used is a problem."""
    env = environment(tmp_path)
    (line,) = lines_of((await steersman("doctor", "--offline", env=env)).out)["files"]
    assert line == f"ok attachments go to {tmp_path / 'files'}"
    assert not (tmp_path / "files").exists()
    env["STEERSMAN_FILES"] = str(tmp_path / "in the way" / "files")
    (tmp_path / "in the way").write_text("x")
    (line,) = lines_of((await steersman("doctor", "--offline", env=env)).out)["files"]
    assert line.startswith(f"problem The folder {tmp_path / 'in the way' / 'files'} can't be made.")
    env = environment(tmp_path, STEERSMAN_DATABASE_URL="postgresql://me@127.0.0.1:1/name")
    (line,) = lines_of((await steersman("doctor", "--offline", env=env)).out)["files"]
    assert line.startswith("note Attachments are in the folder ")


async def test_a_bucket_is_asked_whether_it_is_there(tmp_path: Path) -> None:
    """One that answers is well, one that is missing a problem that names its setting."""
    async with s3_server() as url:
        env = environment(tmp_path, STEERSMAN_FILES_URL=f"s3://{BUCKET}/x", STEERSMAN_FILES_ENDPOINT=url, **KEYS)
        ended = await steersman("doctor", "--offline", env=env)
        assert lines_of(ended.out)["files"] == [f"ok attachments go to s3://{BUCKET}/x"]
        env["STEERSMAN_FILES_URL"] = "s3://nobodys"
        (line,) = lines_of((await steersman("doctor", "--offline", env=env)).out)["files"]
    assert line.startswith("problem The bucket s3://nobodys can't be used: ")
    assert line.endswith("see STEERSMAN_FILES_URL.")


async def test_an_agent_without_a_price_is_told_where_money_is_limited(tmp_path: Path) -> None:
    """By a limit, or by a balance, which has a line of its own."""
    agents = tmp_path / "agents"
    agents.mkdir()
    (agents / "fine.py").write_text("from steersman import Agent\nagent = Agent(system='x', model='some-model')\n")
    env = environment(tmp_path, STEERSMAN_AGENTS=str(agents))
    assert (await steersman("migrate", env=env)).code == 0
    assert "prices" not in lines_of((await steersman("doctor", "--offline", env=env)).out)
    limited = await steersman("doctor", "--offline", env={**env, "STEERSMAN_DAILY_COST_LIMIT": "5"})
    assert lines_of(limited.out)["prices"][0].startswith("problem fine asks some-model, which has no known price")
    assert (await steersman("balance", "add", "25", env=env)).code == 0
    lines = lines_of((await steersman("doctor", "--offline", env=env)).out)
    assert lines["prices"][0].startswith("problem fine asks some-model")
    assert lines["balance"] == ["ok 25 USD left: 25 put in, 0 spent"]


async def test_bad_settings_are_problems_too(tmp_path: Path) -> None:
    """All of them, in its own form."""
    ended = await steersman("doctor", env=environment(tmp_path, STEERSMAN_PORT="x", STEERSMAN_FOO="1"))
    assert ended.code == 1
    assert [line.split()[0] for line in lines_of(ended.out)["settings"]] == ["problem", "problem"]


async def test_offline_it_asks_nobody(tmp_path: Path) -> None:
    """The provider is named, not asked."""
    env = environment(tmp_path, ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    ended = await steersman("doctor", "--offline", env=env)
    assert lines_of(ended.out)["provider"] == [
        "ok the Messages API at http://127.0.0.1:9 (ANTHROPIC_BASE_URL), not asked"
    ]
