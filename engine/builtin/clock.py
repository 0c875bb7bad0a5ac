"""The tool type `clock`: what time it is, anywhere."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from difflib import get_close_matches
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pydantic import Field, field_validator

from engine.builtin.tool_type import ToolConfig, ToolSetting, ToolType
from engine.tool import Tool, tool
from engine.tool_error import ToolError

_MAX_ZONE = 64  # characters: no zone has as many


class BadZone(ValueError):
    """A time zone that is not known; the text says what was perhaps meant."""


class ClockConfig(ToolConfig):
    """Where the clock hangs."""

    zone: str = Field(default="UTC", description="The time zone unless the model names one, such as Europe/Vienna.")

    @field_validator("zone")
    @classmethod
    def _known(cls, zone: str) -> str:
        zone_of(zone)
        return zone


def zone_of(name: str) -> tzinfo:
    """The time zone of this name, as the tz database has it. Raises BadZone."""
    try:
        return ZoneInfo(name[:_MAX_ZONE])
    except (ZoneInfoNotFoundError, ValueError, OSError):  # a name that is a path, or a folder of zones, is either
        near = get_close_matches(name[:_MAX_ZONE], available_timezones(), n=3)
        hint = f"perhaps {' or '.join(near)}" if near else "names look like Europe/Vienna or UTC"
        raise BadZone(f"there is no time zone {name[:_MAX_ZONE]!r}: {hint}") from None


def _make(name: str, config: ClockConfig, setting: ToolSetting) -> Tool[..., Any]:
    def now(zone: str = config.zone) -> dict[str, str]:
        """Tell the current date and time.

        Args:
            zone: the time zone, by its name in the tz database, such as Europe/Vienna or America/New_York.
        """
        try:
            there = datetime.fromtimestamp(setting.clock() / 1000, UTC).astimezone(zone_of(zone))
        except BadZone as error:
            raise ToolError(f"{error}.") from None
        return {"time": there.isoformat(timespec="seconds"), "weekday": f"{there:%A}", "zone": zone}

    return tool(name=name, description=config.description, on_crash="retry")(now)


CLOCK = ToolType(
    identifier="clock",
    description="Tells the current date and time in any time zone.",
    config=ClockConfig,
    make=_make,
    example={"zone": "Europe/Vienna"},
)
