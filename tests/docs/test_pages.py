"""The pages agree with the code and with each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from models.enums import ErrorCode
from steersman.settings import reference
from tests.support.markdown import anchors, headings, links
from tests.support.project import ROOT, name_of, pages

DECISIONS = sorted((ROOT / "docs/decisions").glob("*.md"))
# The codes of top-level errors are written out where they are raised: the only such words in these files.
CODE = re.compile(r'"([A-Z]+(?:_[A-Z]+)+|INTERNAL|UNAVAILABLE)"')
RAISED_IN = [ROOT / "schema/errors.py", *sorted((ROOT / "steersman/graphql").glob("*.py"))]


def read(name: str) -> str:
    """The text of one of the project's files."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """A link to another page, or to a heading of it, finds it."""
    for target in links(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        path, _, fragment = target.partition("#")
        aim = (page.parent / path).resolve() if path else page
        assert aim.exists(), target
        if fragment:
            assert fragment in anchors(aim.read_text(encoding="utf-8")), target


def test_the_settings_page_is_the_one_that_is_made() -> None:
    """docs/settings.md is what the table of settings prints."""
    assert read("docs/settings.md") == reference()


def test_every_error_code_has_its_entry_in_the_errors_page() -> None:
    """Whoever meets a code reads what to do next; a code that is gone is not described."""
    described = headings(read("docs/errors.md"), 3)
    at_the_top = {code for path in RAISED_IN for code in CODE.findall(path.read_text(encoding="utf-8"))}
    assert len(described) == len(set(described))
    assert set(described) == {code.value for code in ErrorCode} | at_the_top


@pytest.mark.parametrize("page", DECISIONS, ids=name_of)
def test_a_decision_is_one_page_with_context_choice_and_what_was_rejected(page: Path) -> None:
    """At most 40 lines, numbered, with the same three headings."""
    text = page.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert headings(text, 2) == ["Context", "Choice", "Rejected"]
    (title,) = headings(text, 1)
    assert title.startswith(f"{int(page.name[:4])}. ")


def test_decisions_are_numbered_without_gaps() -> None:
    """A number names one decision for ever."""
    assert [int(page.name[:4]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_the_changelog_begins_with_the_version_that_is_built() -> None:
    """Its first entry is that of pyproject.toml, with or without a date."""
    version = re.search(r'^version = "(.+)"$', read("pyproject.toml"), re.MULTILINE)
    assert version is not None
    assert headings(read("CHANGELOG.md"), 2)[0].split()[0] == version[1]
