"""Sub-agents: which call of a run began another, so that it begins no second."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("parent_call", sa.String(length=128), nullable=True))
        batch_op.create_index("ix_agent_runs_parent_call", ["parent_call"], unique=True)


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_index("ix_agent_runs_parent_call")
        batch_op.drop_column("parent_call")
