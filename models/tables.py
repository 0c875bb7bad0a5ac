"""What all tables share: the metadata, the type of JSON columns, the database's clock, rows as records."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, MetaData, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

Json = JSON(none_as_null=True)


class database_now(GenericFunction[int]):  # noqa: N801 - the name of an SQL function
    """The database's clock in milliseconds since the epoch; leases use it alone.

    On SQLite the connection defines the function, on PostgreSQL the first migration does; tests replace both.
    """

    type = BigInteger()
    inherit_cache = True
    name = "steersman_now"


@compiles(database_now)
def _compile_now(_element: database_now, _compiler: Any, **_options: Any) -> str:
    return "steersman_now()"


NOW = select(database_now()).scalar_subquery()
"""The same clock, read once in a statement: an index can be searched with it."""
