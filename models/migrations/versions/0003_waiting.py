"""What calls wait for, found without a look at all of them; how long a turn has taken over several generations."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_WAITING = sa.text("state = 'WAITING'")


def upgrade() -> None:
    """Bring the schema to this revision."""
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("turn_spent_ms", sa.BigInteger(), server_default="0", nullable=False))
    with op.batch_alter_table("tool_calls", schema=None) as batch_op:
        for name, columns in (("expires_at", ["expires_at"]), ("approvers", ["approvers", "id"])):
            batch_op.create_index(
                f"ix_tool_calls_waiting_{name}",
                columns,
                unique=False,
                postgresql_where=_WAITING,
                sqlite_where=_WAITING,
            )


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("tool_calls", schema=None) as batch_op:
        for name in ("approvers", "expires_at"):
            batch_op.drop_index(f"ix_tool_calls_waiting_{name}")
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_column("turn_spent_ms")
