"""What a run has in its agent's place; agents that are temporary, and agents that are shared with roles."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("overrides", sa.JSON(none_as_null=True), nullable=True))
    with op.batch_alter_table("agents", schema=None) as batch_op:
        batch_op.add_column(sa.Column("temporary", sa.Boolean(), server_default="0", nullable=False))
        batch_op.add_column(sa.Column("expires_at", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("shared_with", sa.JSON(none_as_null=True), nullable=True))
        batch_op.create_index("ix_agents_expires_at", ["expires_at"])


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("agents", schema=None) as batch_op:
        batch_op.drop_index("ix_agents_expires_at")
        batch_op.drop_column("shared_with")
        batch_op.drop_column("expires_at")
        batch_op.drop_column("temporary")
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_column("overrides")
