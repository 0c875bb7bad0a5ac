"""Log lines: with the ids that lead to a request, and without anything secret."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from steersman import log

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"


@pytest.fixture
def restored() -> Iterator[None]:
    """The root logger as it was, afterwards."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in list(root.handlers):
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)


@pytest.fixture(params=["text", "json"])
def written(request: pytest.FixtureRequest, restored: None) -> io.StringIO:
    """What is logged, in each format."""
    stream = io.StringIO()
    log.configure(request.param, "info", secrets=["hunter2-hunter2"], stream=stream)
    return stream


def test_lines_carry_the_ids_that_are_bound(written: io.StringIO) -> None:
    """Of the request, the user and the run; outside they are gone, and what the caller gives goes first."""
    logger = logging.getLogger("steersman.test")
    with log.bound(request_id="req_1", user_id="alice"), log.bound(run_id="run_1"):
        logger.info("inside")
        logger.info("own", extra={"run_id": "run_2"})
    logger.info("outside")
    inside, own, outside = written.getvalue().splitlines()
    assert all(name in inside for name in ("req_1", "alice", "run_1"))
    assert "run_2" in own
    assert "run_1" not in own
    assert not any(name in outside for name in ("req_1", "alice", "run_1"))


def test_no_line_holds_a_secret(written: io.StringIO) -> None:
    """Neither a configured one nor what looks like a token or a key: in messages, extra values and tracebacks."""
    logger = logging.getLogger("steersman.test")
    error = RuntimeError(f"Authorization: Bearer {TOKEN} hunter2-hunter2 sk-ant-api03-abc_DEF")
    extra = {"header": f"bearer {TOKEN}", "url": "x:hunter2-hunter2@y"}
    logger.error("failed with %s", error, exc_info=error, extra=extra)
    text = written.getvalue()
    assert "failed with" in text
    assert "RuntimeError" in text
    for secret in (TOKEN, "hunter2-hunter2", "sk-ant-api03", "c2lnbmF0dXJl"):
        assert secret not in text


def test_json_lines_are_json_whatever_is_logged(restored: None) -> None:
    """One object a line, also for values that JSON has no form for, and for lone surrogates."""
    stream = io.StringIO()
    log.configure("json", "debug", stream=stream)
    logging.getLogger("a").warning("two\nlines \ud800 %s", object, extra={"set": {1}})
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["level"] == "warning"
    assert json.loads(line)["set"] == "{1}"


def test_below_the_level_nothing_is_written(restored: None) -> None:
    """And the HTTP client's own lines, which hold addresses, only as warnings."""
    stream = io.StringIO()
    log.configure("text", "warning", stream=stream)
    logging.getLogger("steersman.test").info("quiet")
    assert stream.getvalue() == ""
    log.configure("text", "debug", stream=stream)
    logging.getLogger("httpx2").info("HTTP Request: POST https://host/?key=1")
    assert stream.getvalue() == ""
