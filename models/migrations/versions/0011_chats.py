"""Chats with their members, threads and messages; every agent that is there already gets its main chat."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Bring the schema to this revision."""
    _create_chats()
    _create_threads()
    _create_messages()
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.add_column(sa.Column("thread_id", sa.String(length=64), nullable=True))
    with op.batch_alter_table("agents", schema=None) as batch_op:
        batch_op.add_column(sa.Column("main_chat_id", sa.String(length=64), nullable=True))
    _give_main_chats()


def _create_chats() -> None:
    op.create_table(
        "chats",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=512), nullable=True),
        sa.Column("temporary", sa.Boolean(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chats")),
    )
    with op.batch_alter_table("chats", schema=None) as batch_op:
        batch_op.create_index("ix_chats_expires_at", ["expires_at"])
    op.create_table(
        "chat_members",
        sa.Column("chat_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("member", sa.String(length=255), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["chat_id"], ["chats.id"], name=op.f("fk_chat_members_chat_id")),
        sa.PrimaryKeyConstraint("chat_id", "kind", "member", name=op.f("pk_chat_members")),
    )
    with op.batch_alter_table("chat_members", schema=None) as batch_op:
        batch_op.create_index("ix_chat_members_kind_member_chat_id", ["kind", "member", "chat_id"])


def _create_threads() -> None:
    op.create_table(
        "chat_threads",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("chat_id", sa.String(length=64), nullable=False),
        sa.Column("title", sa.String(length=512), nullable=True),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["chat_id"], ["chats.id"], name=op.f("fk_chat_threads_chat_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chat_threads")),
    )
    with op.batch_alter_table("chat_threads", schema=None) as batch_op:
        batch_op.create_index("ix_chat_threads_chat_id_id", ["chat_id", "id"])
    op.create_table(
        "thread_resources",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("thread_id", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["chat_threads.id"], name=op.f("fk_thread_resources_thread_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_thread_resources")),
    )
    with op.batch_alter_table("thread_resources", schema=None) as batch_op:
        batch_op.create_index("ix_thread_resources_thread_id_kind_key", ["thread_id", "kind", "key"], unique=True)
        batch_op.create_index("ix_thread_resources_thread_id_id", ["thread_id", "id"])


def _create_messages() -> None:
    op.create_table(
        "chat_messages",
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("thread_id", sa.String(length=64), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.String(length=255), nullable=True),
        sa.Column("agent_id", sa.String(length=64), nullable=True),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("reasoning", sa.String(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=True),
        sa.Column("stream_id", sa.String(length=64), nullable=True),
        sa.Column("run_seq", sa.Integer(), nullable=False),
        sa.Column("passed_on", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["thread_id"], ["chat_threads.id"], name=op.f("fk_chat_messages_thread_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chat_messages")),
        sa.UniqueConstraint("thread_id", "seq", name=op.f("uq_chat_messages_thread_id_seq")),
    )
    with op.batch_alter_table("chat_messages", schema=None) as batch_op:
        batch_op.create_index("ix_chat_messages_run_id", ["run_id"])
        batch_op.create_index("ix_chat_messages_passed_on_id", ["passed_on", "id"])


_MAIN_CHATS = """
INSERT INTO chats (id, title, temporary, expires_at, created_at)
    SELECT 'cht_' || substr(id, 5), name, temporary, expires_at, created_at FROM agents;
INSERT INTO chat_members (chat_id, kind, member, created_at)
    SELECT 'cht_' || substr(id, 5), 'user', user_id, created_at FROM agents;
INSERT INTO chat_members (chat_id, kind, member, created_at)
    SELECT 'cht_' || substr(id, 5), 'agent', id, created_at FROM agents;
INSERT INTO chat_threads (id, chat_id, seq, revision, created_at, updated_at)
    SELECT 'thr_' || substr(id, 5), 'cht_' || substr(id, 5), 0, 1, created_at, created_at FROM agents;
UPDATE agents SET main_chat_id = 'cht_' || substr(id, 5)
"""


def _give_main_chats() -> None:
    """An agent's main chat and its thread have the agent's own id behind their prefixes: no other chat has it."""
    bind = op.get_bind()
    for statement in _MAIN_CHATS.split(";"):
        bind.execute(sa.text(statement))


def downgrade() -> None:
    """Take the schema back to the one before."""
    with op.batch_alter_table("agents", schema=None) as batch_op:
        batch_op.drop_column("main_chat_id")
    with op.batch_alter_table("agent_runs", schema=None) as batch_op:
        batch_op.drop_column("thread_id")
    for table in ("chat_messages", "thread_resources", "chat_threads", "chat_members", "chats"):
        op.drop_table(table)
