"""Schedules: what agents are given again and again, by cron. Webhooks: who hears of the end of runs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
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
    op.create_table(
        "webhooks",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("url", sa.String(), nullable=False),
        sa.Column("agent", sa.String(length=255), nullable=True),
        sa.Column("agent_id", sa.String(length=64), nullable=True),
        sa.Column("secret", sa.String(length=128), nullable=False),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    with op.batch_alter_table("webhooks", schema=None) as batch_op:
        batch_op.create_index("ix_webhooks_user_id_id", ["user_id", "id"])
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("webhook_id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("delivered_at", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    with op.batch_alter_table("webhook_deliveries", schema=None) as batch_op:
        batch_op.create_index("ix_webhook_deliveries_due_at", ["due_at"])
        batch_op.create_index("ix_webhook_deliveries_webhook_id_created_at", ["webhook_id", "created_at"])
        batch_op.create_index("ix_webhook_deliveries_created_at", ["created_at"])


def downgrade() -> None:
    """Take the schema back to the one before."""
    op.drop_table("webhook_deliveries")
    op.drop_table("webhooks")
    op.drop_table("schedules")
