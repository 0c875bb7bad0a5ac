"""Cron expressions: when a schedule is due next, by the wall clock of a time zone."""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

MAX_LENGTH = 255
FIELDS = 5
_MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
_OF_THE_MACHINE = frozenset({"localtime", "posixrules"})  # beside the zones on some systems, and not the same on all


class BadCron(ValueError):
    """What was given is no cron expression that ever comes due; the message says why."""


class BadTimeZone(ValueError):
    """There is no time zone of this name."""


def check_cron(text: str) -> str:
    """The expression as it is kept: five fields, or one of the usual words such as @daily. Raises BadCron."""
    if len(text) > MAX_LENGTH:
        raise BadCron(f"A cron expression has at most {MAX_LENGTH} characters.")
    words = _MACROS.get(text.strip().lower(), text).split()
    if len(words) != FIELDS:
        raise BadCron("A cron expression has five fields: minute, hour, day of the month, month, day of the week.")
    plain = " ".join(words)
    if next_tick(plain, "UTC", 0) is None:
        raise BadCron("No day fulfils this cron expression.")
    return plain


def check_time_zone(name: str) -> str:
    """The name. Raises BadTimeZone."""
    _zone(name)
    return name


def next_tick(cron: str, time_zone: str, after: int) -> int | None:
    """The first tick after a moment, both in ms since the epoch, UTC; None where there is none for 50 years.

    As Debian's cron has it, what is due at a given hour and minute that the clock skips comes right after the gap, and
    comes once where the clock shows it twice. What has * in its minutes or hours goes by the time that really passes:
    nothing of it comes in a gap, and all of it again in a repeated hour. Raises BadCron, BadTimeZone.
    """
    zone = _zone(time_zone)
    try:
        ticks = CronSim(cron, datetime.fromtimestamp(after // 1000, zone))
    except CronSimError as error:
        raise BadCron(f"{error}: a field has numbers, names, ranges (1-5), lists (1,3) and steps (*/15).") from None
    for tick in ticks:
        at = int(tick.timestamp()) * 1000
        if at > after:  # within an hour that comes twice, the library begins with the first of the two
            return at
    return None


def _zone(name: str) -> ZoneInfo:
    if len(name) <= MAX_LENGTH and _ZONE.fullmatch(name) and name not in _OF_THE_MACHINE:
        try:
            return ZoneInfo(name)
        except (OSError, KeyError, ValueError):  # a folder of zones, no zone, no file of one
            pass
    raise BadTimeZone(f"There is no time zone {name[:64]!r}: give a name such as UTC or Europe/Berlin.")
