"""Makes a SQLite file with one run of a thousand messages, for tests in a browser; tells the run's id."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path

from models.database import open_database
from models.enums import FinishReason, Role
from models.message import Message
from models.migrate import migrate
from models.run import Run
from tests.support.rows import a_message, a_run, store

MESSAGES = 1_000
ANSWER = """Answer {number}: a **lease** runs out, and then

- another worker takes over,
- and the fence keeps the first from writing.

| word | meaning |
|---|---|
| lease | a hold that ends by itself |
| fence | a number that only rises |

```python
def hold(fence: int) -> None: ...
```"""


def messages(run: Run) -> Iterator[Message]:
    """Questions and answers in turn."""
    for seq in range(1, MESSAGES + 1):
        if seq % 2:
            yield a_message(run, seq, f"Message {seq}")
        else:
            blocks = [{"type": "text", "text": ANSWER.format(number=seq)}]
            yield a_message(run, seq, blocks, role=Role.ASSISTANT, step=seq // 2, model="claude-sonnet-5-5")


async def make(file: Path) -> str:
    """Make the file; the run's id."""
    run = a_run(
        user_id="dev", agent="expert", title="A long one", seq=MESSAGES, steps=MESSAGES // 2, finish=FinishReason.STOP
    )
    async with open_database(f"sqlite:///{file}") as database:
        await database.write(migrate)
        await store(database, run, *messages(run))
    return run.id


if __name__ == "__main__":
    sys.stdout.write(f"{asyncio.run(make(Path(sys.argv[1])))}\n")
