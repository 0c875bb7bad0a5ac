"""The kind `expert`, which is always there: an agent that is configuration and resources alone."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.agent import Agent

NAME = "expert"
_MODEL = "claude-sonnet-5-5"


class ExpertConfig(BaseModel):
    """What an expert is configured with."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    system_prompt: Annotated[str, Field(min_length=1, max_length=60_000)] = Field(
        "You are a helpful assistant.", description="What the agent is told about itself and its task."
    )
    model: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        _MODEL, description="The model that answers, by its provider's name for it."
    )
    temperature: Annotated[float, Field(ge=0, le=2)] | None = Field(
        None, description="How freely the model chooses its words, from 0; not every provider takes it."
    )
    repetition_penalty: Annotated[float, Field(ge=0, le=10)] | None = Field(
        None, description="How far the model avoids its own words, 1 for not at all; not every provider takes it."
    )
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] = Field(
        8_192, description="How many tokens one answer has at most."
    )
    tool_choice: Literal["auto", "any", "none"] = Field(
        "auto", description="Whether the model may choose its tools, must begin each turn with one, or has none."
    )


def _configure(config: ExpertConfig) -> dict[str, Any]:
    options = config.model_dump(exclude={"system_prompt"})
    return {"system": config.system_prompt, **options}


expert = Agent(
    name=NAME,
    system="You are a helpful assistant.",
    model=_MODEL,
    description="Converses by a system prompt of its own, with the tools that its resources give it.",
    fields=ExpertConfig,
    configure=_configure,
)
"""Configured by ExpertConfig."""
