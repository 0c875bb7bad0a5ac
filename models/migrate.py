"""Bringing the schema up to date, and telling whether it is."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, MetaData, text

import models.agent
import models.attachment
import models.call
import models.chat
import models.chat_message
import models.key
import models.message
import models.model_call
import models.purse
import models.remote
import models.resource
import models.run
import models.schedule
import models.stream
import models.thread
import models.webhook  # noqa: F401 - importing the nouns fills the metadata
from models.tables import metadata

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 7_283_141_905  # of our own choosing: one migration at a time on a PostgreSQL database


def all_tables() -> MetaData:
    """The metadata with every table in it."""
    return metadata


def migrate(c: Connection, revision: str = "head") -> tuple[str | None, str | None]:
    """Bring the schema up to `revision`, in the transaction of `c`; the revisions before and after."""
    if c.dialect.name == "postgresql":
        c.execute(text("select pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    before = revision_of(c)
    command.upgrade(_config(c), revision)
    return before, revision_of(c)


def downgrade(c: Connection, revision: str) -> tuple[str | None, str | None]:
    """Take the schema back to `revision` ("base": to nothing); the revisions before and after."""
    before = revision_of(c)
    command.downgrade(_config(c), revision)
    return before, revision_of(c)


def revision_of(c: Connection) -> str | None:
    """The revision that the database is at; None where it has never been migrated."""
    return MigrationContext.configure(c).get_current_revision()


def history() -> list[tuple[str, str]]:
    """Every revision with what it says of itself, the first one first."""
    scripts = ScriptDirectory.from_config(_config(None)).walk_revisions()
    return [(script.revision, script.doc) for script in reversed(list(scripts))]


def newest_revision() -> str:
    """The revision that this code needs."""
    return history()[-1][0]


def _config(c: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = c
    return config
