"""`steersman doctor`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import SECRET, environment, steersman
from tests.support.messages_server import MessagesServer


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
    assert lines["agents"] == ["ok calculator, researcher, slowpoke"]
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
    env = environment(
        tmp_path,
        STEERSMAN_AGENTS=str(agents),
        STEERSMAN_ALLOWED_MODELS="another-model",
        ANTHROPIC_BASE_URL="http://127.0.0.1:9",
    )
    lines = lines_of((await steersman("doctor", env=env)).out)
    assert lines["agents"][0] == "ok fine"
    assert "broken.py, line 1: SyntaxError" in lines["agents"][1]
    assert "some-model" in lines["agents"][2]
    assert "could not be reached" in lines["provider"][0]


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
