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
        batch_op.create_index("ix_agents_expires_at", ["expires_at"])
    op.create_table(
        "agent_shares",
        sa.Column("agent_id", sa.String(length=64), nullable=False),
        sa.Column("role", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name=op.f("fk_agent_shares_agent_id")),
        sa.PrimaryKeyConstraint("agent_id", "role", name=op.f("pk_agent_shares")),
    )
    with op.batch_alter_table("agent_shares", schema=None) as batch_op:
        batch_op.create_index("ix_agent_shares_role", ["role"])


def downgrade() -> None:
    """Take the schema back to the one before."""
    op.drop_table("agent_shares")
    with op.batch_alter_table("agents", schema=None) as batch_op:
        batch_op.drop_index("ix_agents_expires_at")
        batch_op.drop_column("expires_at")
        batch_op.drop_column("temporary")
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_column("overrides")
