"""`python -m tests.cluster`: a cluster of real processes is tormented while runs go on, and then judged.

The exit code is 0 where every promise was kept, 1 where one was broken; the logs are then kept, and their folder is
told. Ctrl-C ends the faults early, and judges what has been until then; a second one leaves at once.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import uvloop

from tests.cluster.house import opened
from tests.cluster.options import Options, read_options
from tests.cluster.siege import besiege
from tests.cluster.trial import Trial, hold_trial

log = logging.getLogger("cluster")


def main() -> None:
    """Read the command line, do it, and exit."""
    options = read_options()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S", stream=sys.stdout)
    for chatty in ("httpx2", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    folder = options.folder or Path(tempfile.mkdtemp(prefix="steersman-cluster-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        trial = uvloop.run(_run(options, folder))
    except BaseException as error:
        sys.stdout.write(f"\nIt came to no judgement ({type(error).__name__}). The logs are in {folder}\n")
        raise
    trial.tell(sys.stdout.write, folder)
    if trial.judgement.broken or options.keep or options.folder:
        with (folder / "report.txt").open("w", encoding="utf-8") as file:
            trial.tell(file.write, folder, whole=True)
        sys.stdout.write(f"\nThe logs are in {folder}\n")
    else:
        shutil.rmtree(folder)
    sys.exit(1 if trial.judgement.broken else 0)


async def _run(options: Options, folder: Path) -> Trial:
    over, this = asyncio.Event(), asyncio.current_task()
    assert this is not None

    def stop() -> None:
        if over.is_set():
            this.cancel()
        over.set()

    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    began = time.monotonic()
    async with opened(options, folder) as house:
        log.info("up after %.1f s; seed %s, %g s", time.monotonic() - began, options.seed, options.seconds)
        player, faults = await besiege(house, over)
        return await hold_trial(house, player, faults)


if __name__ == "__main__":
    main()
