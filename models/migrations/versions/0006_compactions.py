"""Compactions: summaries that stand for the older part of a transcript in requests, and the calls that made them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    op.create_table(
        "compactions",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("trimmed_to", sa.Integer(), nullable=False),
        sa.Column("summed_to", sa.Integer(), nullable=False),
        sa.Column("summary", sa.String(), nullable=True),
        sa.Column("model_call_id", sa.String(length=64), nullable=True),
        sa.Column("tokens_before", sa.BigInteger(), nullable=False),
        sa.Column("tokens_after", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["agent_runs.id"], name=op.f("fk_compactions_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_compactions")),
    )
    with op.batch_alter_table("compactions", schema=None) as batch_op:
        batch_op.create_index("ix_compactions_run_id", ["run_id"], unique=False)
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.add_column(sa.Column("summed_to", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.drop_column("summed_to")
    with op.batch_alter_table("compactions", schema=None) as batch_op:
        batch_op.drop_index("ix_compactions_run_id")
    op.drop_table("compactions")
