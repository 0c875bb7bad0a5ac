"""Runs in the order of their changes: what has changed lately is found without a look at all of them."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.create_index("ix_agent_runs_updated_at_id", ["updated_at", "id"], unique=False)


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_index("ix_agent_runs_updated_at_id")
