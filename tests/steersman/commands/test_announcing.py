"""What processes say in their log as they start."""

from __future__ import annotations

import pytest

from steersman.commands.announcing import tell_of_missing_redis
from steersman.settings import Settings

FILE = Settings()
ALONE = Settings(database_url="postgresql://h/d")
SERVING = Settings(database_url="postgresql://h/d", worker=False)
SHARED = Settings(database_url="postgresql://h/d", worker=False, redis_url="redis://h")


@pytest.mark.parametrize(
    ("settings", "served_here", "told"),
    [
        pytest.param(SERVING, True, "Clients of this server see no tokens", id="a server whose runs work elsewhere"),
        pytest.param(ALONE, False, "Clients of the runs that work here see no tokens", id="a worker"),
        pytest.param(ALONE, True, "", id="a server that runs agents"),
        pytest.param(SHARED, True, "", id="a server with Redis"),
        pytest.param(SHARED, False, "", id="a worker with Redis"),
        pytest.param(FILE, True, "", id="a server on a file"),
        pytest.param(FILE, False, "", id="a worker on a file"),
    ],
)
def test_where_nobody_would_see_tokens_the_log_says_so(
    settings: Settings, served_here: bool, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """At the start, as a warning that names the setting; and nothing is said where nothing is amiss."""
    tell_of_missing_redis(settings, served_here=served_here)
    assert told in caplog.text
    assert [record.levelname for record in caplog.records] == (["WARNING"] if told else [])
    assert ("STEERSMAN_REDIS_URL is not set" in caplog.text) is bool(told)
