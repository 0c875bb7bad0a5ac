"""The proxy's settings fit the server's: what one promises, the other does not cut."""

from __future__ import annotations

import inspect
import re

import pytest

from steersman.graphql.endpoint import GraphQLEndpoint
from steersman.health import PATIENCE
from tests.deploy import composed
from tests.deploy.test_compose import SERVICES
from tests.support.project import ROOT

TEXT = (ROOT / "deploy" / "haproxy.cfg").read_text(encoding="utf-8")
PING_SECONDS = inspect.signature(GraphQLEndpoint.__init__).parameters["ping_seconds"].default


def timeout(name: str) -> int:
    """One of its limits, in seconds."""
    (found,) = re.findall(rf"^\s*timeout {name} (\w+)$", TEXT, re.MULTILINE)
    return composed.seconds(found)


@pytest.mark.parametrize("name", ["client", "server", "tunnel"])
def test_a_silent_connection_outlasts_several_pings(name: str) -> None:
    """A socket on which nothing happens is not cut."""
    assert timeout(name) >= 4 * PING_SECONDS


def test_a_probe_may_take_as_long_as_the_server_waits_for_its_database() -> None:
    """Else what is wrong would not be told."""
    assert timeout("check") > PATIENCE


def test_it_knows_the_servers_that_there_are() -> None:
    """Each by its name in compose.yaml, at the port that the server listens at."""
    servers = re.findall(r"^\s*server (\S+) (\S+)$", TEXT, re.MULTILINE)
    assert dict(servers) == {name: f"{name}:8000" for name, service in SERVICES.items() if service.command == ["serve"]}


def test_it_is_reached_where_compose_publishes_and_asks() -> None:
    """One port is for clients, the other for its health."""
    bound = re.findall(r"^\s*bind :(\d+)$", TEXT, re.MULTILINE)
    assert len(bound) == 2
    assert SERVICES["proxy"].body["ports"][0].endswith(f":{bound[0]}")
    assert f":{bound[1]}/healthz" in SERVICES["proxy"].body["healthcheck"]["test"][-1]


def test_it_asks_for_readiness() -> None:
    """A server that drains answers 503 there, and is sent nothing new."""
    assert "http-check send meth GET uri /readyz" in TEXT


def test_its_log_leaves_out_what_users_ask() -> None:
    """A query may stand in an address: the path alone is logged."""
    (line,) = re.findall(r"log-format (.*)", TEXT)
    assert "%HP" in line
    assert not re.search(r"%(r|HU|HQ|hr|HV)\b", line)


def test_it_lets_go_of_what_is_open_before_it_is_killed() -> None:
    """Its own end is shorter than compose waits."""
    (seconds,) = re.findall(r"^\s*hard-stop-after (\w+)$", TEXT, re.MULTILINE)
    assert composed.seconds(seconds) < composed.seconds(SERVICES["proxy"].body["stop_grace_period"])
