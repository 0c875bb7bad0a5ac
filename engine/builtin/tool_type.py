"""Tool types: code that makes tools, each under a name and with a configuration that people store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from engine.bad_config import BadConfig, bad_config_of
from engine.builtin.document import Documents, no_documents
from engine.builtin.fetch_policy import FetchPolicy
from engine.json_schema import schema_of
from engine.tool import Tool
from models.clock import Clock, system_clock
from models.text import clean, clean_json


class ToolConfig(BaseModel):
    """What the configurations of most tool types have in common; each option beyond its own is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str | None = Field(
        default=None,
        min_length=1,
        max_length=2_000,
        description="What the model reads of the tool, in place of its usual words: what it is for, and when.",
    )


@dataclass(frozen=True, slots=True)
class ToolSetting:
    """What a tool of a stored agent may use, and nothing else: its documents, what may be fetched, the time."""

    documents: Documents = no_documents
    fetch: FetchPolicy = field(default_factory=FetchPolicy)
    clock: Clock = system_clock


@dataclass(frozen=True, slots=True)
class ToolType:
    """What makes tools of one type.

    `config` is the model of a configuration, None where there is nothing to configure; `make` gives a tool under a
    name, of a configuration that `check` gave. `example` is a configuration that it takes.
    """

    identifier: str
    description: str
    config: type[BaseModel] | None
    make: Callable[[str, Any, ToolSetting], Tool[..., Any]]
    example: Mapping[str, Any] = field(default_factory=dict)

    def check(self, config: Any) -> BaseModel | None:
        """A stored configuration as `make` takes it; None counts as an empty one. Raises BadConfig."""
        given = {} if config is None else config
        if not isinstance(given, Mapping):
            raise BadConfig("The configuration must be one JSON object.")
        if self.config is None:
            if given:
                stray = clean(str(next(iter(given))))
                raise BadConfig(f"{stray[:60]}: {self.identifier} has no options.", (stray,))
            return None
        try:
            return self.config.model_validate(clean_json(dict(given)))
        except ValidationError as error:
            unknown = f"there is no such option; the options are: {', '.join(self.config.model_fields)}"
            raise bad_config_of(error, unknown) from None

    def tool(self, name: str, config: Any, setting: ToolSetting) -> Tool[..., Any]:
        """The tool of a stored configuration. Raises BadConfig, and ValueError for a name that no tool can have."""
        return self.make(name, self.check(config), setting)

    @property
    def input_schema(self) -> dict[str, Any]:
        """What a model gives a tool of this type, as a JSON schema."""
        return self.tool(self.identifier, self.example, ToolSetting()).parameters.schema

    @property
    def config_schema(self) -> dict[str, Any]:
        """What a configuration may hold, as a JSON schema."""
        if self.config is None:
            return {"type": "object", "properties": {}, "additionalProperties": False}
        return schema_of(self.config)
