"""What holds for every test: its report can be told by one process to another, whatever text it met."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from models.text import clean


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Captured output may hold lone surrogates, which tests of bad input log; pytest-xdist can't send those."""
    report = yield
    report.sections = [(name, clean(text)) for name, text in report.sections]
    return report
