"""Schedules: what agents are given again and again, by cron."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    op.create_table(
        "schedules",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("created_by", sa.String(length=255), nullable=False),
        sa.Column("roles", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("agent", sa.String(length=255), nullable=False),
        sa.Column("agent_id", sa.String(length=64), nullable=True),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("input", sa.String(), nullable=False),
        sa.Column("cron", sa.String(length=255), nullable=False),
        sa.Column("time_zone", sa.String(length=255), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=True),
        sa.Column("last_run_id", sa.String(length=64), nullable=True),
        sa.Column("last_error", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
    )
    with op.batch_alter_table("schedules", schema=None) as batch_op:
        batch_op.create_index("ix_schedules_user_id_id", ["user_id", "id"])
        batch_op.create_index("ix_schedules_created_by_id", ["created_by", "id"])
        batch_op.create_index("ix_schedules_next_at_id", ["next_at", "id"])


def downgrade() -> None:
    """Take the schema back to the one before."""
    op.drop_table("schedules")
