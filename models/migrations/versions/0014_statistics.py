"""Statistics: when the first token of a model call came, and indexes for spans of time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.add_column(sa.Column("first_token_at", sa.BigInteger(), nullable=True))
        batch_op.create_index("ix_model_calls_started_at", ["started_at"])
    with op.batch_alter_table("streams", schema=None) as batch_op:
        batch_op.create_index("ix_streams_created_at", ["created_at"])


def downgrade() -> None:
    """Bring the schema back to the revision before."""
    with op.batch_alter_table("streams", schema=None) as batch_op:
        batch_op.drop_index("ix_streams_created_at")
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.drop_index("ix_model_calls_started_at")
        batch_op.drop_column("first_token_at")
