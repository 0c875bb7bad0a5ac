"""The trial: all nodes are stopped, the evidence is gathered, and the judgement is made."""

from __future__ import annotations

import asyncio
import logging
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2
from sqlalchemy import Connection, select

from models.database import Database, open_database
from models.purse import get_purses
from models.run import agent_runs
from tests.cluster import audit, report
from tests.cluster.dossier import dossier, lines_of
from tests.cluster.executions import read_notes
from tests.cluster.faults import Faults
from tests.cluster.house import PATIENCE, House
from tests.cluster.judge import Evidence, Judgement, judge_run, judge_runs_made
from tests.cluster.logs import Line, Taking, complaints, defects, read_lines, refused_writes, takings
from tests.cluster.playing import Player
from tests.support.clients import TLS
from tests.support.truths import all_run_ids, read_story

log = logging.getLogger("cluster.trial")


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of it."""

    judgement: Judgement
    house: House
    taken: dict[str, list[Taking]]
    complaints: Counter[str]

    def tell(self, write: Callable[[str], object], folder: Path, *, whole: bool = False) -> None:
        """Write the report; `whole` leaves nothing out."""
        house = self.house
        report.tell(write, "What happened", report.of_counts(self.judgement.counts))
        report.tell(write, "How long it took", report.of_times(house.measures, self.taken, house.options.lease))
        report.tell(write, "What it cost", report.of_costs(house.busy, house.lag, house.costs))
        report.tell(write, "What the nodes complained of", report.of_counts(self.complaints))
        report.tell(write, "What was promised", report.of_promises(self.judgement))
        if self.judgement.broken:
            report.tell(write, f"Broken promises; logs in {folder}", report.of_broken(self.judgement, whole=whole))


async def hold_trial(house: House, player: Player, faults: Faults) -> Trial:
    """Stop every node, and judge what is left."""
    nodes = [*house.servers, *house.workers]
    await asyncio.gather(*(node.stop(PATIENCE) for node in nodes))
    judgement = Judgement()
    lines = read_lines(house.folder)
    taken = takings(lines)
    async with open_database(house.database_url()) as database:
        await _judge_runs(judgement, house, player, database, lines)
        audited = await database.read(audit.read_audit)
    for run_id, words in audited.violations:
        judgement.check("fences", run_id, [words], count=0)
    judgement.check("fences", "", [], count=audited.checked)
    judgement.check("nodes", "", [end for node in nodes for end in node.odd_ends], count=sum(n.life for n in nodes))
    judgement.check("defects", "", defects(lines), count=len(lines))
    judgement.check("answers", "", house.unexplained(), count=len(player.plays))
    requests, refused = await _refusals(house)
    judgement.check("refusals", "", refused, count=requests)
    starts = [seconds for node in nodes for seconds in node.starts]
    judgement.counts |= {
        **{f"faults: {name}": count for name, count in faults.counts.items()},
        **{f"clients were refused or cut off: {name}": count for name, count in house.failures.items()},
        "deaths that could not be measured": faults.unmeasured,
        "writes that the fence refused": refused_writes(lines),
        "requests to the model": requests,
        "ms that a node took to start, at the median": round(statistics.median(starts) * 1000),
    }
    return Trial(judgement, house, taken, complaints(lines))


async def _judge_runs(
    judgement: Judgement, house: House, player: Player, database: Database, lines: list[Line]
) -> None:
    """Judge every run; of each that broke a promise, all that is known is written beside the logs."""
    log.info("judging %d runs", len(player.plays))
    notes, taken = read_notes(house.executions), takings(lines)
    below = await database.read(_runs_below)
    judge_runs_made(judgement, player.plays, sorted({*await database.read(all_run_ids)} - {*below}))
    for play in player.plays:
        if not play.run_id:
            continue
        story = await database.read(read_story, play.run_id)
        evidence = Evidence(
            story,
            play,
            notes,
            taken.get(play.run_id, []),
            house.options.words,
            [await database.read(read_story, child) for child, above in below.items() if above == play.run_id],
            list((await database.read(get_purses, story.run.purses or [])).values()),
        )
        before = len(judgement.broken)
        judge_run(judgement, evidence)
        if problems := [f"BROKEN {name}: {problem}" for name, _, problem in judgement.broken[before:]]:
            told = [*problems, *dossier(evidence), *lines_of(play.run_id, lines)]
            (house.folder / f"{play.run_id}.txt").write_text("\n".join(told), encoding="utf-8")


def _runs_below(c: Connection) -> dict[str, str]:
    """The runs that others have begun, each with the one above it."""
    found = select(agent_runs.c.id, agent_runs.c.parent_id).where(agent_runs.c.parent_id.is_not(None))
    return {row.id: row.parent_id for row in c.execute(found)}


async def _refusals(house: House) -> tuple[int, list[str]]:
    async with httpx2.AsyncClient(verify=TLS) as http:
        told = (await http.get(f"{house.model}/refusals")).json()
    return told["requests"], told["refused"]
