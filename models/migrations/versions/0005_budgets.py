"""Budgets: what calls of models reserve before they are made, and the purses that they draw from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    op.create_table(
        "purses",
        sa.Column("id", sa.String(length=320), nullable=False),
        sa.Column("cost_pico", sa.BigInteger(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=True),
        sa.Column("spent_cost_pico", sa.BigInteger(), nullable=False),
        sa.Column("spent_tokens", sa.BigInteger(), nullable=False),
        sa.Column("reserved_cost_pico", sa.BigInteger(), nullable=False),
        sa.Column("reserved_tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_purses")),
    )
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("step_max_tokens", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("purses", sa.JSON(none_as_null=True), nullable=True))
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.add_column(sa.Column("estimated_tokens", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("estimated_cost_pico", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("max_tokens", sa.Integer(), nullable=True))
        batch_op.add_column(sa.Column("reserved_cost_pico", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("purses", sa.JSON(none_as_null=True), nullable=True))


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        for name in ("purses", "reserved_cost_pico", "max_tokens", "estimated_cost_pico", "estimated_tokens"):
            batch_op.drop_column(name)
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_column("purses")
        batch_op.drop_column("step_max_tokens")
    op.drop_table("purses")
