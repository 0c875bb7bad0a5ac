"""compose.yaml keeps to its specification, and to what the house promises of it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from starlette.applications import Starlette

from steersman.serving import make_server
from steersman.settings import read_settings
from tests.deploy import composed
from tests.deploy.composed import COMPOSE, SECRETS, NotGiven, Service
from tests.deploy.dockerfile import stages
from tests.support.project import ROOT

BIN = Path(sys.executable).parent
GIVEN = {"SECRETS": "./secrets", "ANTHROPIC_API_KEY": "a key"}
SERVICES = composed.services(GIVEN)
OURS = {name: service for name, service in SERVICES.items() if service.is_ours}
LASTING = {name: service for name, service in SERVICES.items() if name != "migrate"}
TEXT = COMPOSE.read_text(encoding="utf-8")


def by_name(services: dict[str, Service]) -> list[object]:
    """One case for each service."""
    return [pytest.param(service, id=name) for name, service in services.items()]


def check(path: Path) -> subprocess.CompletedProcess[str]:
    """Hold a file to the Compose specification."""
    command = [str(BIN / "check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_keeps_to_the_compose_specification() -> None:
    """Its schema takes it."""
    ran = check(COMPOSE)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_check_sees_what_is_wrong(tmp_path: Path) -> None:
    """A misspelt word is found: the check is at work."""
    bad = tmp_path / "compose.yaml"
    bad.write_text(TEXT.replace("depends_on:", "depend_on:"), encoding="utf-8")
    assert check(bad).returncode != 0


# ---------------------------------------------------------------- what there is


def test_there_are_two_servers_two_workers_and_what_they_need() -> None:
    """And a proxy in front; the servers run no agents, the workers serve nothing."""
    assert set(SERVICES) == {"proxy", "server-1", "server-2", "worker", "migrate", "postgres", "redis"}
    for name in ("server-1", "server-2"):
        assert SERVICES[name].command == ["serve"]
        assert SERVICES[name].environment["STEERSMAN_WORKER"] == "off"
    assert SERVICES["worker"].command == ["worker"]
    assert SERVICES["worker"].replicas == 2


@pytest.mark.parametrize("service", by_name(SERVICES))
def test_an_image_is_a_plain_name(service: Service) -> None:
    """Where it comes from is the engine's own setting; of those that are not ours, the version stands here."""
    assert re.fullmatch(r"steersman|[a-z]+:\d[\w.-]*", service.body["image"])


@pytest.mark.parametrize("service", by_name(LASTING))
def test_what_lasts_is_started_again_and_has_a_health_check(service: Service) -> None:
    """The check of ours is in the image."""
    assert service.body["restart"] == "unless-stopped"
    assert service.body.get("healthcheck", {}).get("test") or (service.is_ours and stages()[-1].health_check())


def test_servers_and_workers_wait_for_the_migrations() -> None:
    """They would not start on a database that is not current; the migrations wait for the database, and run once."""
    for name in set(OURS) - {"migrate"}:
        waits = OURS[name].body["depends_on"]
        assert waits["migrate"] == {"condition": "service_completed_successfully"}
        assert waits["postgres"] == {"condition": "service_healthy"}
    assert OURS["migrate"].command == ["migrate"]
    assert OURS["migrate"].body["restart"] == "no"
    assert OURS["migrate"].body["depends_on"]["postgres"] == {"condition": "service_healthy"}


@pytest.mark.parametrize("service", by_name(OURS))
def test_it_is_given_longer_than_it_drains(service: Service) -> None:
    """A worker that is killed while it drains would leave its runs to the end of their leases."""
    seconds = float(service.environment.get("STEERSMAN_DRAIN_SECONDS", 0))
    closing = make_server(Starlette(), host="", port=0).config.timeout_graceful_shutdown
    assert closing is not None
    assert composed.seconds(service.body["stop_grace_period"]) > seconds + closing


# ---------------------------------------------------------------- settings and secrets


@pytest.mark.parametrize("service", by_name(OURS))
def test_its_environment_is_one_of_settings_that_exist(service: Service, tmp_path: Path) -> None:
    """They can be read, together with the image's own and with real secrets."""
    subprocess.run([ROOT / "deploy/secrets.sh", tmp_path], check=True, capture_output=True)
    found = {**stages()[-1].environment(), **service.environment}
    there = {name: value.replace(SECRETS, f"{tmp_path}/secrets/") for name, value in found.items()}
    settings = read_settings(there)
    assert settings.database_url.startswith("postgresql://steersman:")
    assert settings.database_url.endswith("@postgres:5432/steersman")


@pytest.mark.parametrize("service", by_name(SERVICES))
def test_it_is_given_the_secrets_that_it_names_and_no_other(service: Service) -> None:
    """Each is a file below /run/secrets, under the name of the secret."""
    named = {value.removeprefix(SECRETS) for name, value in service.environment.items() if name.endswith("_FILE")}
    assert named == set(service.body.get("secrets", []))
    assert named <= set(composed.read(GIVEN)["secrets"])


def test_no_secret_stands_in_the_file_or_has_a_default() -> None:
    """What is secret is a file, or must be given from outside."""
    for service in composed.raw()["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("KEY|SECRET|PASSWORD|DATABASE_URL", name) and not name.endswith("_FILE"):
                assert [kind for _, kind, _ in composed.variables(value)] == ["?"], name
    assert not re.search(r"://[^/\s$]*:[^/\s$]*@", TEXT)


@pytest.mark.parametrize("name", GIVEN)
def test_what_must_be_given_is_asked_for_in_a_sentence(name: str) -> None:
    """Nothing is started without it."""
    with pytest.raises(NotGiven) as missing:
        composed.services({**GIVEN, name: ""})
    asked = str(missing.value).removeprefix(f"{name}: ")
    assert len(asked.split()) > 5
    assert asked.endswith(".")


def test_every_variable_is_given_or_has_a_default() -> None:
    """None is quietly empty."""
    found = composed.variables(TEXT)
    assert {name for name, kind, _ in found if kind == "?"} == set(GIVEN)
    assert {name for name, kind, rest in found if kind == "-" and rest} == {"IMAGE", "PUBLISH", "REDIS_MAXMEMORY"}
    assert TEXT.count("${") == len(found)


# ---------------------------------------------------------------- who reaches whom, and what is kept


def test_only_the_proxy_is_published_and_to_this_machine_alone() -> None:
    """Who wants more says so: PUBLISH=0.0.0.0:8000."""
    published = {name: service.body["ports"] for name, service in SERVICES.items() if "ports" in service.body}
    assert published == {"proxy": ["127.0.0.1:8000:8080"]}


def test_database_and_redis_are_out_of_reach() -> None:
    """They are on a network of their own, which the proxy is not on and which leads nowhere."""
    assert composed.read(GIVEN)["networks"]["data"] == {"internal": True}
    for name in ("postgres", "redis"):
        assert SERVICES[name].body["networks"] == ["data"]
    assert "data" not in SERVICES["proxy"].body.get("networks", [])


def test_the_database_and_attachments_alone_are_kept() -> None:
    """They are the volumes; attachments are shared by all who serve or work, where they are told to keep them.

    What else is mounted is a file of the checkout, and read only.
    """
    assert set(composed.read(GIVEN)["volumes"]) == {"files", "postgres"}
    mounts = {name: service.body["volumes"] for name, service in SERVICES.items() if "volumes" in service.body}
    assert set(mounts) == {"postgres", "proxy", "server-1", "server-2", "worker"}
    for name in ("server-1", "server-2", "worker"):
        assert mounts[name] == ["files:/srv/steersman/data"]
        assert SERVICES[name].environment["STEERSMAN_FILES"].startswith("/srv/steersman/data/")
    assert mounts["postgres"][0].startswith("postgres:")
    assert mounts["proxy"][0].endswith(":ro")


def test_redis_keeps_nothing_and_drops_what_expires_first() -> None:
    """Streams that have ended go before those that live; a full Redis never refuses a token."""
    command = SERVICES["redis"].command
    options = dict(zip(command[1::2], command[2::2], strict=True))
    assert options["--save"] == ""
    assert options["--appendonly"] == "no"
    assert options["--maxmemory-policy"] == "volatile-ttl"
    assert re.fullmatch(r"\d+mb", options["--maxmemory"])
