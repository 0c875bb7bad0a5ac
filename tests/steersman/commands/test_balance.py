"""`steersman balance`."""

from __future__ import annotations

from pathlib import Path

from tests.support.commands import environment, steersman


async def test_a_balance_is_off_until_the_first_add(tmp_path: Path) -> None:
    """Then it says what is left; a negative amount takes some out, and it can be ended."""
    env = environment(tmp_path)
    assert (await steersman("migrate", env=env)).code == 0
    told = [
        (await steersman("balance", *words, env=env)).out.strip()
        for words in ([], ["add", "25"], ["add", "-0.50"], [], ["off"], [])
    ]
    off = "off: what the workspace spends is not limited by a balance"
    left = "24.5 USD left: 24.5 put in, 0 spent"
    assert told == [off, "25 USD left: 25 put in, 0 spent", left, left, off, off]


async def test_what_is_no_amount_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Exit code 2, with what an amount looks like."""
    env = environment(tmp_path)
    assert (await steersman("migrate", env=env)).code == 0
    for word in ("much", "1e3", "0", "0.0000000000001", "99999999", "NaN", ""):
        ended = await steersman("balance", "add", word, env=env)
        assert (ended.code, ended.out) == (2, ""), word
        assert "AMOUNT is a sum in USD such as 25 or 12.50" in ended.err
    assert (await steersman("balance", env=env)).out.startswith("off")


async def test_without_a_schema_it_says_what_to_run(tmp_path: Path) -> None:
    """And makes no file."""
    ended = await steersman("balance", "add", "5", env=environment(tmp_path))
    assert ended.code == 2
    assert "run `steersman migrate`" in ended.err
    assert not (tmp_path / "test.db").exists()
