"""Whether a worker ever wrote to a run that it did not hold: watched by the database, apart from the verbs.

Each node signs in as a role of its own. A worker may write to a run's row while the lease is its own, or where it takes
a run whose lease has lapsed, with a higher fence; to the rows of a run, while it holds that run, or in the transaction
in which it wrote to the run's row. It may signal to any run: flag a cancel, or show that something below has changed.
What it writes otherwise is noted, never refused: the verbs are to refuse it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, text

WORKERS = "worker"
"""What the names of workers' roles begin with."""

_SETUP = """
CREATE SCHEMA audit;
CREATE TABLE audit.holders (worker text PRIMARY KEY, role text NOT NULL);
CREATE TABLE audit.violations (at timestamptz NOT NULL DEFAULT clock_timestamp(), role text, run_id text, what text);
CREATE SEQUENCE audit.checked;

CREATE FUNCTION audit.is_own(worker text) RETURNS boolean LANGUAGE sql AS
$$ SELECT EXISTS (SELECT FROM audit.holders h WHERE h.worker = $1 AND h.role = session_user) $$;

CREATE FUNCTION audit.is_held(run text) RETURNS boolean LANGUAGE sql AS
$$ SELECT COALESCE(audit.is_own(r.worker) OR r.xmin = pg_current_xact_id_if_assigned()::xid, false)
   FROM agent_runs r WHERE r.id = run $$;

CREATE FUNCTION audit.signal_apart(r agent_runs) RETURNS jsonb LANGUAGE sql AS
$$ SELECT to_jsonb(r) - ARRAY['cancel_requested', 'cancel_ordinal', 'cancel_reason', 'revision', 'updated_at'] $$;

CREATE FUNCTION audit.of_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF session_user NOT LIKE '{workers}%' THEN RETURN NEW; END IF;
  PERFORM nextval('audit.checked');
  IF NEW.worker IS NOT NULL AND NEW.worker IS DISTINCT FROM OLD.worker THEN
    INSERT INTO audit.holders VALUES (NEW.worker, session_user) ON CONFLICT DO NOTHING;
  END IF;
  IF NOT COALESCE(audit.is_own(OLD.worker), false)
    AND NOT (NEW.fence > OLD.fence AND OLD.lease_until < steersman_now())
    AND NOT COALESCE(audit.is_held(OLD.id), false)
    AND audit.signal_apart(NEW) <> audit.signal_apart(OLD)
  THEN
    INSERT INTO audit.violations (role, run_id, what) VALUES (session_user, OLD.id, format(
      'agent_runs: held by %s until %s, fence %s to %s', OLD.worker, OLD.lease_until, OLD.fence, NEW.fence));
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER audit BEFORE UPDATE ON agent_runs FOR EACH ROW EXECUTE FUNCTION audit.of_run();

CREATE FUNCTION audit.of_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE run text;
BEGIN
  IF session_user NOT LIKE '{workers}%' THEN RETURN NEW; END IF;
  PERFORM nextval('audit.checked');
  IF TG_TABLE_NAME = 'stream_events' THEN
    SELECT s.run_id INTO run FROM streams s WHERE s.id = NEW.stream_id;
  ELSE
    run := NEW.run_id;
  END IF;
  IF NOT COALESCE(audit.is_held(run), false) THEN
    INSERT INTO audit.violations (role, run_id, what)
    SELECT session_user, run, format('%s: held by %s, fence %s', TG_TABLE_NAME, r.worker, r.fence)
    FROM agent_runs r WHERE r.id = run;
  END IF;
  RETURN NEW;
END $$;
"""
_TABLES = ("agent_messages", "compactions", "tool_calls", "model_calls", "streams", "stream_events")


@dataclass(frozen=True, slots=True)
class Audited:
    """How many writes of workers were looked at, and those that ought not to have been: by run, in words."""

    checked: int
    violations: Sequence[tuple[str, str]]


def set_up(c: Connection, roles: Sequence[str]) -> None:
    """Watch over a migrated database, which these roles may use."""
    for statement in (
        *_statements(),
        *(
            # At the commit: a verb may write to a run's rows before it writes to the run's own.
            f"CREATE CONSTRAINT TRIGGER audit AFTER INSERT OR UPDATE ON {table} DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION audit.of_row()"
            for table in _TABLES
        ),
    ):
        c.exec_driver_sql(statement)
    for role in roles:
        c.exec_driver_sql(f'CREATE ROLE "{role}" LOGIN SUPERUSER')


def _statements() -> list[str]:
    """One each: a statement ends with a semicolon at the end of a line that is not within a function's body."""
    statements, inside = [""], False
    for line in _SETUP.replace("{workers}", WORKERS).strip().splitlines():
        statements[-1] += line + "\n"
        inside ^= line.count("$$") % 2 == 1
        if line.endswith(";") and not inside:
            statements.append("")
    return [statement for statement in statements if statement.strip()]


def read_audit(c: Connection) -> Audited:
    """What was seen."""
    checked = c.execute(text("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM audit.checked")).scalar_one()
    rows = c.execute(text("SELECT run_id, role, what, at FROM audit.violations ORDER BY at")).all()
    return Audited(
        int(checked), [(row.run_id, f"{row.role} wrote at {row.at:%H:%M:%S.%f}: {row.what}") for row in rows]
    )
