"""The run: runs, messages, calls, streams, keys."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


# The clock that leases use (ms since the epoch). On SQLite each connection defines it.
CLOCK = """
CREATE OR REPLACE FUNCTION steersman_now() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$
"""


def upgrade() -> None:
    """Bring the schema to this revision."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(CLOCK)
    op.create_table(
        "agent_runs",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("agent", sa.String(length=255), nullable=False),
        sa.Column("title", sa.String(length=512), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("finish", sa.String(length=32), nullable=True),
        sa.Column("error_code", sa.String(length=64), nullable=True),
        sa.Column("error_message", sa.String(), nullable=True),
        sa.Column("output", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("metadata", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("context", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("roles", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("parent_id", sa.String(length=64), nullable=True),
        sa.Column("forked_from", sa.String(length=64), nullable=True),
        sa.Column("pending", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("next_ordinal", sa.Integer(), nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("cancel_ordinal", sa.Integer(), nullable=False),
        sa.Column("cancel_reason", sa.String(), nullable=True),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=False),
        sa.Column("worker", sa.String(length=128), nullable=True),
        sa.Column("takeovers", sa.Integer(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("stream_id", sa.String(length=64), nullable=True),
        sa.Column("turn_steps", sa.Integer(), nullable=False),
        sa.Column("turn_started_at", sa.BigInteger(), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("step_fence", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("steps", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["parent_id"], ["agent_runs.id"], name=op.f("fk_agent_runs_parent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_runs")),
    )
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.create_index("ix_agent_runs_parent_id_id", ["parent_id", "id"], unique=False)
        batch_op.create_index("ix_agent_runs_status_lease_until", ["status", "lease_until"], unique=False)
        batch_op.create_index("ix_agent_runs_user_id_id", ["user_id", "id"], unique=False)

    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("operation", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "operation", "key", name=op.f("pk_idempotency_keys")),
    )
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.create_index("ix_idempotency_keys_created_at", ["created_at"], unique=False)

    op.create_table(
        "agent_messages",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("content", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(length=255), nullable=True),
        sa.Column("stop_reason", sa.String(length=255), nullable=True),
        sa.Column("usage", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["agent_runs.id"], name=op.f("fk_agent_messages_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent_messages")),
        sa.UniqueConstraint("run_id", "seq", name=op.f("uq_agent_messages_run_id_seq")),
    )
    op.create_table(
        "model_calls",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("stream_id", sa.String(length=64), nullable=False),
        sa.Column("tool_call_id", sa.String(length=64), nullable=True),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("model", sa.String(length=255), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_write_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cost_pico", sa.BigInteger(), nullable=True),
        sa.Column("stop_reason", sa.String(length=255), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("request_id", sa.String(length=255), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["agent_runs.id"], name=op.f("fk_model_calls_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_calls")),
    )
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.create_index("ix_model_calls_run_id_id", ["run_id", "id"], unique=False)
        batch_op.create_index("ix_model_calls_stream_id", ["stream_id"], unique=False)
        batch_op.create_index("ix_model_calls_user_id_started_at", ["user_id", "started_at"], unique=False)

    op.create_table(
        "streams",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.Column("reserved", sa.Integer(), nullable=False),
        sa.Column("steps_before", sa.Integer(), nullable=False),
        sa.Column("seq_before", sa.Integer(), nullable=False),
        sa.Column("ended", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["agent_runs.id"], name=op.f("fk_streams_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_streams")),
        sa.UniqueConstraint("run_id", "generation", name=op.f("uq_streams_run_id_generation")),
    )
    op.create_table(
        "tool_calls",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("agent", sa.String(length=255), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("provider_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("input", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("result", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("finished_at", sa.BigInteger(), nullable=True),
        sa.Column("approvers", sa.String(length=255), nullable=True),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("decided_by", sa.String(length=255), nullable=True),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("reason", sa.String(), nullable=True),
        sa.Column("child_run_id", sa.String(length=64), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["agent_runs.id"], name=op.f("fk_tool_calls_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tool_calls")),
        sa.UniqueConstraint("run_id", "position", name=op.f("uq_tool_calls_run_id_position")),
    )
    op.create_table(
        "stream_events",
        sa.Column("stream_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.ForeignKeyConstraint(["stream_id"], ["streams.id"], name=op.f("fk_stream_events_stream_id")),
        sa.PrimaryKeyConstraint("stream_id", "seq", name=op.f("pk_stream_events")),
    )


def downgrade() -> None:
    """Take it back to the one before."""
    op.drop_table("stream_events")
    op.drop_table("tool_calls")
    op.drop_table("streams")
    with op.batch_alter_table("model_calls", schema=None) as batch_op:
        batch_op.drop_index("ix_model_calls_user_id_started_at")
        batch_op.drop_index("ix_model_calls_stream_id")
        batch_op.drop_index("ix_model_calls_run_id_id")

    op.drop_table("model_calls")
    op.drop_table("agent_messages")
    with op.batch_alter_table("idempotency_keys", schema=None) as batch_op:
        batch_op.drop_index("ix_idempotency_keys_created_at")

    op.drop_table("idempotency_keys")
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_index("ix_agent_runs_user_id_id")
        batch_op.drop_index("ix_agent_runs_status_lease_until")
        batch_op.drop_index("ix_agent_runs_parent_id_id")

    op.drop_table("agent_runs")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION steersman_now()")
