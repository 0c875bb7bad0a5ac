"""Playing a scripted run again and again while its workers are attacked, and judging its end."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Any

from models.enums import RunStatus, ToolCallState
from models.page import Window
from models.run import Run, RunQuery, find_runs
from tests.support.memory import Memory
from tests.support.messages_server import Request
from tests.support.mortal import Dead, Mortal
from tests.support.scripted_runs import Case, Play, inputs_of, summary
from tests.support.stage import LEASE_SECONDS, Node, Stage
from tests.support.truths import Story

_PLAY = re.compile(r"play \d+")
SEEN = 0.02  # seconds after which a watcher looks at the rows


class Attack:
    """A case, played again and again on one stage."""

    def __init__(self, stage: Stage, case: Case) -> None:
        self.stage = stage
        self.case = case
        self.plays: dict[str, Play] = {}
        self.whole: list[str] = []
        """The transcript of the play that nobody disturbed, in short."""
        stage.server.answer(lambda request: self._play_of(request).answer(request.body["model"], request.messages))

    def _play_of(self, request: Request) -> Play:
        name = _PLAY.search(request.messages[0]["content"][0]["text"])
        assert name is not None
        return self.plays[name[0]]

    def new_play(self) -> Play:
        """A run that is not yet started."""
        play = Play(self.stage, self.case, f"play {len(self.plays)}")
        self.plays[play.first_input] = play
        return play

    async def play_whole(self) -> list[str]:
        """Play it undisturbed; the names of the writes that its loop made."""
        alive = Mortal(self.stage.database)
        play = await self.play([alive], same_process=True)
        self.whole = self.short(play, await self.stage.story(play.run_id))
        await self.check(play)
        return alive.names

    async def play(self, mortals: Sequence[Mortal], *, same_process: bool) -> Play:
        """Play it with workers that may die, one after the other, and with one more where all have died."""
        play = self.new_play()
        memory = await self.stage.memory() if same_process else None
        client: asyncio.Task[None] | None = None
        for mortal in [*mortals, Mortal(self.stage.database)]:
            node = await self._open_mortal(play, mortal, memory)
            if node is None:
                continue
            if client is None:
                play.lives(node)
                await play.start()
                client = asyncio.create_task(self.case.client(play))
            elif not same_process:
                await play.screen.reconnect(node.watching)
            play.lives(node)
            await first_of(mortal.died.wait(), self.over(client, node, play))
            if not mortal.died.is_set():
                await self.stage.retire(node)
                break
            play.lives(None)
            await node.dropped()
            await self._remember(play)
            await self.stage.leases.advance(LEASE_SECONDS + 1)
        if memory is not None:
            await memory.close()
        return play

    async def _open_mortal(self, play: Play, mortal: Mortal, memory: Memory | None) -> Node | None:
        """A node that may die; None where it died before it was open."""
        try:
            node = await self.open(play, database=mortal, memory=memory)
        except Dead:
            await self.stage.nodes.pop().dropped()
            await self.stage.leases.advance(LEASE_SECONDS + 1)
            return None
        mortal.kill = node.drop
        return node

    async def open(self, play: Play, **options: Any) -> Node:
        """A node for this play."""
        return await self.stage.open(agents=play.agents(), watch_seconds=SEEN, **options)

    async def over(self, client: asyncio.Task[None], node: Node, play: Play) -> None:
        """Wait until the client has said all and the run has ended, and whatever it has begun."""
        await asyncio.shield(client)
        await node.settled(play.run_id)
        for child in await self._children(play):
            await node.settled(child.id)

    async def _remember(self, play: Play) -> None:
        """Note what has finished: none of it may run again."""
        calls = [call for story in await self._stories(play) for call in story.calls]
        done = {call.id for call in calls if call.state is ToolCallState.SUCCEEDED}
        play.finished |= Counter({key: count for key, count in play.ran.items() if key[1] in done})

    async def _stories(self, play: Play) -> list[Story]:
        """The run, and those that it has handed tasks to."""
        return [
            await self.stage.story(run_id) for run_id in (play.run_id, *(run.id for run in await self._children(play)))
        ]

    async def _children(self, play: Play) -> list[Run]:
        return (await self.stage.database.read(find_runs, RunQuery(parent_id=play.run_id), Window(size=100))).rows

    def short(self, play: Play, story: Story) -> list[str]:
        """The transcript in short, the same for every play."""
        return [line.replace(play.first_input, "play") for line in summary(story)]

    async def check(self, play: Play) -> None:
        """The run ended as it should; nothing said is lost or doubled, nothing that was done is done again."""
        story, *below = await self._stories(play)
        assert len(below) <= self.case.children, "a task was handed on twice"
        for one in below:
            assert one.run.status not in (RunStatus.RUNNING, RunStatus.WAITING), "a child was left behind"
            await self.stage.check_run(one.run.id)
        assert (story.run.status, story.run.finish) == (self.case.status, self.case.finish)
        assert (story.run.output is not None) == ("output" in self.case.settings)
        said = [text for text in inputs_of(story.messages) if text != play.first_input]
        assert sorted(said) == sorted(play.said[1:])
        if self.case.same_transcript:
            assert self.short(play, story) == self.whole
        for (name, key), count in play.ran.items():
            assert count <= (3 if name == "again" else 1), f"{name} ran {count} times"
            assert play.finished[name, key] in (0, count), f"{name} ran again although it had finished"
        await self.stage.check_run(play.run_id)


async def first_of(*work: Coroutine[Any, Any, Any]) -> None:
    """Wait for the first to end; what went wrong with it is raised, the others are let go of."""
    tasks = [asyncio.create_task(one) for one in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
