"""What is installed is named exactly: every version, every file's hash, no address."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.project import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-local.lock"]


def entries(lock: str) -> Iterator[tuple[Requirement, list[str]]]:
    """Each requirement of a lock with its hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if line and not line.startswith("#"):
            requirement, *hashes = re.split(r"\s+--hash=", line.strip())
            yield Requirement(requirement), hashes


def pinned(lock: str) -> dict[str, list[str]]:
    """The versions that a lock has of each package; more than one where they differ by platform."""
    versions: dict[str, list[str]] = {}
    for requirement, _ in entries(lock):
        (specifier,) = requirement.specifier
        versions.setdefault(canonicalize_name(requirement.name), []).append(specifier.version)
    return versions


@pytest.mark.parametrize("lock", LOCKS)
def test_every_requirement_is_exact_and_has_hashes(lock: str) -> None:
    """An installer can take nothing but the very files that were locked."""
    for requirement, hashes in entries(lock):
        assert [specifier.operator for specifier in requirement.specifier] == ["=="], requirement
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", found) for found in hashes), requirement


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_requirements_and_no_options(lock: str) -> None:
    """An option line could name an address; there is none."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "://" in line or line.startswith("-")] == []


def test_the_locks_fit_what_the_project_asks_for() -> None:
    """A dependency added to pyproject.toml is locked in the same commit (`make lock`)."""
    extras = PROJECT["optional-dependencies"]
    asked = {
        "requirements.lock": PROJECT["dependencies"],
        "requirements-dev.lock": [*PROJECT["dependencies"], *extras["dev"]],
        "requirements-local.lock": extras["local"],
    }
    for lock, wanted in asked.items():
        versions = pinned(lock)
        for requirement in map(Requirement, wanted):
            found = versions.get(canonicalize_name(requirement.name), [])
            assert found, f"{lock} lacks {requirement.name}"
            assert all(requirement.specifier.contains(version) for version in found), (
                f"{lock}: {requirement}, has {found}"
            )


def test_both_locks_install_the_same_at_run_time() -> None:
    """What the tests ran against is what is deployed."""
    tested = pinned("requirements-dev.lock")
    deployed = pinned("requirements.lock")
    assert {name: tested.get(name) for name in deployed} == deployed


def test_the_locks_serve_the_oldest_python_that_is_promised() -> None:
    """No requirement is left out on Python 3.11 for its version alone."""
    environment = {"python_version": "3.11", "python_full_version": "3.11.0", "sys_platform": "linux"}
    for requirement, _ in entries("requirements.lock"):
        marker: Marker | None = requirement.marker
        if marker is not None and "python_" in str(marker) and "emscripten" not in str(marker):
            assert marker.evaluate(environment), requirement


def test_the_console_s_lock_has_hashes_and_no_addresses() -> None:
    """npm takes the files that were locked, from wherever it is set to ask; our own packages from their folders."""
    packages = json.loads((ROOT / "console/package-lock.json").read_text(encoding="utf-8"))["packages"]
    for name, package in packages.items():
        if package.get("link"):
            assert package["resolved"] in packages, name
        elif name.startswith("node_modules/"):
            assert "resolved" not in package, name
            assert package["integrity"].startswith("sha512-"), name
        else:
            assert (ROOT / "console" / name / "package.json").is_file(), name
