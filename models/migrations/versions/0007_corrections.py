"""Corrections: how often a turn's answer was sent back to the model."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("corrections", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_column("corrections")
