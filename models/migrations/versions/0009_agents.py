"""Agents as data: stored agents with their resources, and which of them a run belongs to."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    op.create_table(
        "agents",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("handle", sa.String(length=64), nullable=True),
        sa.Column("description", sa.String(), nullable=True),
        sa.Column("picture", sa.String(), nullable=True),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("config", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agents")),
    )
    with op.batch_alter_table("agents", schema=None) as batch_op:
        batch_op.create_index("ix_agents_user_id_id", ["user_id", "id"])
        batch_op.create_index("ix_agents_handle", ["handle"], unique=True)
    op.create_table(
        "agent_resources",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("agent_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agents.id"], name=op.f("fk_agent_resources_agent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_resources")),
    )
    with op.batch_alter_table("agent_resources", schema=None) as batch_op:
        batch_op.create_index("ix_agent_resources_agent_id_kind_key", ["agent_id", "kind", "key"], unique=True)
        batch_op.create_index("ix_agent_resources_agent_id_id", ["agent_id", "id"])
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("agent_id", sa.String(length=64), nullable=True))
        batch_op.add_column(sa.Column("kind", sa.String(length=64), nullable=True))
        batch_op.create_index("ix_agent_runs_agent_id_id", ["agent_id", "id"])


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_index("ix_agent_runs_agent_id_id")
        batch_op.drop_column("kind")
        batch_op.drop_column("agent_id")
    op.drop_table("agent_resources")
    op.drop_table("agents")
