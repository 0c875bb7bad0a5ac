"""Reads deploy/compose.yaml as compose does: merges, and what stands in `${…}`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from ruamel.yaml import YAML

from tests.support.project import ROOT

COMPOSE = ROOT / "deploy" / "compose.yaml"
SECRETS = "/run/secrets/"
_VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?::(?P<kind>[-?])(?P<rest>[^}]*))?\}")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


class NotGiven(Exception):
    """A variable is missing that must be given; the message is the sentence that says so."""


@dataclass(frozen=True, slots=True)
class Service:
    """One service. `environment` and `command` are as its container gets them."""

    name: str
    body: dict[str, Any]

    @property
    def environment(self) -> dict[str, str]:
        """What it finds set; what is handed on and was not given is left out."""
        return {name: value for name, value in self.body.get("environment", {}).items() if value is not None}

    @property
    def command(self) -> list[str]:
        """The words that follow the image's entrypoint; none where the image says."""
        return list(self.body.get("command", []))

    @property
    def replicas(self) -> int:
        """How many containers of it there are."""
        return int(self.body.get("deploy", {}).get("replicas", 1))

    @property
    def is_ours(self) -> bool:
        """Whether it runs the image that deploy/Dockerfile makes."""
        return str(self.body["image"]) == "steersman"


def services(given: Mapping[str, str]) -> dict[str, Service]:
    """The services by name, with these variables given from outside. Raises NotGiven."""
    return {name: Service(name, body) for name, body in read(given)["services"].items()}


def read(given: Mapping[str, str]) -> dict[str, Any]:
    """The whole file with these variables given from outside. Raises NotGiven."""
    return cast(dict[str, Any], _filled(raw(), given))


def raw() -> dict[str, Any]:
    """The whole file, its variables as they stand."""
    return cast(dict[str, Any], YAML(typ="safe", pure=True).load(COMPOSE.read_text(encoding="utf-8")))


def seconds(text: str) -> int:
    """How long a span of the file is."""
    return sum(int(number) * _SECONDS[unit] for number, unit in re.findall(r"(\d+)([smh])", text))


def variables(text: str) -> list[tuple[str, str, str]]:
    """Each variable of a text: its name, `-` for a default or `?` for a refusal, and what stands behind that."""
    return [(found["name"], found["kind"] or "", found["rest"] or "") for found in _VARIABLE.finditer(text)]


def _filled(value: Any, given: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        # A variable without a value is handed on from outside under its own name.
        return {key: given.get(key) if one is None else _filled(one, given) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, given) for one in value]
    if not isinstance(value, str):
        return value

    def fill(found: re.Match[str]) -> str:
        held = given.get(found["name"], "")
        if not held and found["kind"] == "?":
            raise NotGiven(f"{found['name']}: {found['rest']}")
        return held or (found["rest"] or "")

    return _VARIABLE.sub(fill, value)
