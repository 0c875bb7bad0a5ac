"""Remotes: clients and MCP servers that offer tools to runs."""
