"""Tells stories, and lets its apprentice tell some."""

from _telling import TOOLS

from steersman import Agent

agent = Agent(
    system="You tell stories.", model="claude-sonnet-5-5", tools=TOOLS, subagents=["apprentice"], max_tokens=1_000
)
