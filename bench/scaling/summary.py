"""The figures in the small tables that docs/scaling.md shows; `python -m bench.scaling` prints all of them."""

from __future__ import annotations

from bench.markdown import shown, table
from bench.scaling.figures import Sheet

PROCESSES = ("worker", "far", "postgres", "redis")
RUNS = {"idle": "idle: in a tool that says nothing", "watched": "20 deltas a second", "brisk": "50 deltas a second"}
COSTS = (
    ("a step", "worker_step", "postgres_step", ""),
    ("a run beside its steps", "worker_run", "postgres_run", ""),
    ("`startRun`, on the server", "server_run", "", ""),
    ("a delta written", "worker_delta", "", "redis_write"),
    ("a delta to one watcher, on his server", "server_delta", "", "redis_read"),
    ("rows for a watcher of messages, when his run rang", "server_read", "postgres_read", ""),
    ("a ring that a node hears and does not need", "node_hear", "", "redis_tell"),
    ("a page of the list of runs", "server_page", "postgres_page", ""),
    ("a message of the transcript, again at each step", "worker_message", "", ""),
    ("renewal of one lease", "", "postgres_renewal", ""),
    ("a look for work that finds none", "worker_wake", "postgres_wake", ""),
    ("a stream in one round of a reader", "node_look", "", "redis_look"),
)
"""What costs CPU: of a node, of PostgreSQL, of Redis."""


def conditions(sheet: Sheet) -> str:
    """Where and when the figures were taken."""
    told = sheet.conditions
    return (
        f"Taken on {told['taken']} on {told['cores']} cores ({told['processor']}), which everything shared, on Python "
        f"{told['python']}, PostgreSQL {told['postgresql']} and Redis {told['redis']}. The machine's load was "
        f"{told['load before']} before; meanwhile {told['busy cores']} cores were at work."
    )


def hundred_table(sheet: Sheet) -> str:
    """What a hundred runs need of each process, beyond what it needs at rest."""
    rows = []
    for kind, words in RUNS.items():
        shares = (f"{shown(sheet[f'{kind}_{process}_cpu'])} %" for process in PROCESSES)
        rows.append([f"CPU, {words}", *shares])
    for kind, words in list(RUNS.items())[:2]:
        grown = (f"{shown(sheet[f'{kind}_{process}_memory'])} MB" for process in PROCESSES)
        rows.append([f"memory, {words}", *grown])
    return table(["100 runs", "worker", "server that is watched", "PostgreSQL", "Redis"], rows)


def costs_table(sheet: Sheet) -> str:
    """What each thing costs in CPU."""
    rows = [[what, *(_micro(sheet, name) for name in names)] for what, *names in COSTS]
    return table(["µs of CPU", "worker or server", "PostgreSQL", "Redis"], rows)


def rows_table(sheet: Sheet) -> str:
    """What PostgreSQL writes."""
    rows = []
    for what, name in (("a step", "step"), ("a run beside its steps", "run")):
        figures = (shown(sheet[f"{part}_{name}"]) for part in ("commits", "wal", "stored", "rings"))
        rows.append([what, *figures])
    rows.append(["renewal of one lease", "", shown(sheet["wal_renewal"]), "", ""])
    return table(["", "transactions that write", "bytes of its log", "bytes of tables", "rings"], rows)


def signals_table(sheet: Sheet) -> str:
    """How long a mutation takes from one machine to another."""
    rows = []
    for name, words in (("steer", "an input that interrupts"), ("cancel", "a cancel")):
        for seen, what in (("", "is followed"), ("seen_", "is seen, by a watcher of a third process")):
            figures = (
                f"{shown(sheet[f'{name}_{seen}{part}_{where}'])} ms"
                for where in ("bell", "poll")
                for part in ("p50", "p99")
            )
            rows.append([f"{words} {what}", *figures])
    return table(["", "p50", "p99", "p50 without Redis", "p99 without Redis"], rows)


def others_table(sheet: Sheet) -> str:
    """The rest."""
    names = (
        "connections_worker",
        "connections_far",
        "busy_worker",
        "busy_far",
        "claims",
        "beat_wall",
        "worker_bytes",
        "server_bytes",
        "worker_run_bytes",
        "server_watcher_bytes",
        "redis_stream_bytes",
        "redis_in",
        "redis_out",
    )
    figures = (sheet.figures[name] for name in names)
    rows = [[one.what, f"{shown(one.value)} {one.unit}".strip(), one.how] for one in figures]
    return table(["", "", "conditions"], rows, words=2)


def _micro(sheet: Sheet, name: str) -> str:
    return shown(sheet[name]) if name else ""
