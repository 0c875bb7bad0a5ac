"""CPU of a run of three steps with two tool calls, against a bare loop over the SDK that keeps nothing.

    python -m bench.runs [--runs 100] [--rounds 3] [--deltas 50]

The server is on one core, the Messages API's stand-in and the client on the other. Ten runs at a
time; nobody watches. Rounds of both sides alternate; medians are shown, and their ratio is what counts.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import urllib.request
from typing import Any

from bench.processes import Started, cores, started

START = 'mutation { startRun(input: {agent: "bench", input: "go"}) { run { id } errors { message } } }'
STATUS = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on AgentRun { status } } }"
BATCH = 10
PATIENCE = 60.0


def ask(server: Started, query: str, **variables: Any) -> Any:
    """One GraphQL operation by POST."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    request = urllib.request.Request(  # noqa: S310 - our own server
        f"{server.url}/graphql", body, {"Content-Type": "application/json", "Accept": "application/json"}
    )
    with urllib.request.urlopen(request) as response:  # noqa: S310
        return json.load(response)["data"]


def run_full(server: Started, count: int) -> None:
    """Runs, ten at a time; starting each, and asking now and then whether they have ended, is part of the cost."""
    for begun in range(0, count, BATCH):
        ids = [ask(server, START)["startRun"]["run"]["id"] for _ in range(min(BATCH, count - begun))]
        until = time.monotonic() + PATIENCE
        states = {"RUNNING"}
        while states != {"COMPLETED"}:
            if not states <= {"RUNNING", "COMPLETED"} or time.monotonic() > until:
                raise RuntimeError(f"the runs are {states}")
            time.sleep(0.2)
            states = {run["status"] for run in ask(server, STATUS, ids=ids)["nodes"]}


def run_bare(server: Started, count: int) -> None:
    """The same of the bare loop."""
    with urllib.request.urlopen(f"{server.url}/runs?n={count}") as response:  # noqa: S310 - our own server
        response.read()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--deltas", type=int, default=50, help="a step")
    options = parser.parse_args()
    server_core, other_core = cores()
    model = ("tests.support.messages_process", "--steps", "3", "--deltas", str(options.deltas))
    with (
        started(*model, core=other_core) as api,
        started("bench.full", api.url, core=server_core) as full,
        started("bench.bare", api.url, core=server_core) as bare,
    ):
        figures: dict[str, list[float]] = {"steersman": [], "bare loop": []}
        for round_number in range(options.rounds + 1):
            for name, run, server in (("steersman", run_full, full), ("bare loop", run_bare, bare)):
                before = server.cpu()
                run(server, options.runs if round_number else 5)
                if round_number:  # the first warms up
                    figures[name].append((server.cpu() - before) / options.runs)
    print(
        f"{options.runs} runs of 3 steps, 2 tool calls, {3 * options.deltas} deltas; medians of {options.rounds} rounds"
    )
    medians = {name: statistics.median(rounds) for name, rounds in figures.items()}
    for name, cpu in medians.items():
        print(f"{name:10} {cpu * 1e3:7.2f} ms of CPU a run")
    print(f"ratio      CPU {medians['steersman'] / medians['bare loop']:.2f}   (steersman / bare loop)")


if __name__ == "__main__":
    main()
