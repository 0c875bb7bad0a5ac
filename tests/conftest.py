"""What holds for every test: what it stands on, and that its report can be told by one process to another."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from models.text import clean
from tests.support import ground, points


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--on cluster` has the tests of whole nodes stand on PostgreSQL and Redis; `--every-point` leaves none out."""
    parser.addoption("--on", choices=ground.GROUNDS, default="sqlite", help="what tests of whole nodes stand on")
    parser.addoption("--every-point", action="store_true", help="strike at every point of the crash tests' runs")


def pytest_configure(config: pytest.Config) -> None:
    """Choose them."""
    ground.choose(config.getoption("--on"))
    points.choose(every=config.getoption("--every-point"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out, on a cluster, the tests that make sense on a SQLite file alone; their marker has the reason."""
    if config.getoption("--on") == "sqlite":
        return
    left_out = [item for item in items if item.get_closest_marker("sqlite") is not None]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_unconfigure() -> None:
    """Leave nothing behind."""
    ground.leave()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Captured output may hold lone surrogates, which tests of bad input log; pytest-xdist can't send those."""
    report = yield
    report.sections = [(name, clean(text)) for name, text in report.sections]
    return report
