"""Tells the stories that it is handed."""

from _telling import TOOLS

from steersman import Agent

agent = Agent(system="You tell others' stories.", model="claude-sonnet-5-5", tools=TOOLS, max_tokens=1_000)
