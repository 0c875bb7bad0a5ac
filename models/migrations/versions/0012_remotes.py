"""Remotes, and the calls that wait for one to answer."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    op.create_table(
        "remotes",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("url", sa.String(), nullable=True),
        sa.Column("tools", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("connected_until", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_remotes")),
    )
    op.create_index("ix_remotes_user_id_name", "remotes", ["user_id", "name"], unique=True)
    op.create_index("ix_remotes_user_id_id", "remotes", ["user_id", "id"])
    op.create_table(
        "remote_calls",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("remote_id", sa.String(length=64), nullable=False),
        sa.Column("remote", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("call_id", sa.String(length=64), nullable=False),
        sa.Column("tool", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["agent_runs.id"], name=op.f("fk_remote_calls_run_id")),
        sa.ForeignKeyConstraint(["call_id"], ["tool_calls.id"], name=op.f("fk_remote_calls_call_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_remote_calls")),
    )
    op.create_index("ix_remote_calls_remote_id_id", "remote_calls", ["remote_id", "id"])
    op.create_index("ix_remote_calls_call_id", "remote_calls", ["call_id"], unique=True)


def downgrade() -> None:
    """Take the schema back to the one before."""
    op.drop_table("remote_calls")
    op.drop_table("remotes")
