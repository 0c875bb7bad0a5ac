"""The file of MCP servers: read whole, or refused with what to mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.remotes.configured import McpServersInvalid, read_servers
from engine.remotes.remote_policy import ServerSpec


def test_servers_are_read_by_name(tmp_path: Path) -> None:
    """Commands and addresses; secrets show in no representation."""
    file = tmp_path / "servers.json"
    file.write_text(
        """{
          "files": {"command": "mcp-files", "args": ["--root", "/srv"], "env": {"TOKEN": "hidden"}},
          "search": {"url": "https://mcp.example.com/", "headers": {"Authorization": "hidden"}, "approval": true}
        }"""
    )
    servers = read_servers(file)
    assert servers == {
        "files": ServerSpec("mcp-files", ("--root", "/srv"), {"TOKEN": "hidden"}),
        "search": ServerSpec(url="https://mcp.example.com/", headers={"Authorization": "hidden"}, approval=True),
    }
    assert "hidden" not in repr(servers)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "JSON"),
        ("[]", "object"),
        ('{"a": {}}', "a command or a url"),
        ('{"a": {"command": "x", "url": "https://x/"}}', "a command or a url"),
        ('{"a": {"command": ""}}', "a.command"),
        ('{"a": {"command": "x", "headers": {"a": "b"}}}', "headers go with a url"),
        ('{"a": {"url": "https://x/", "args": ["b"]}}', "args and env go with a command"),
        ('{"a": {"url": "file:///x"}}', "a.url"),
        ('{"a": {"command": "x", "cwd": "/"}}', "a.cwd"),
        ('{" ": {"command": "x"}}', "a server's name"),
    ],
)
def test_what_can_not_be_used_is_told_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    """The file, the server and the entry."""
    file = tmp_path / "servers.json"
    file.write_text(text)
    with pytest.raises(McpServersInvalid) as refused:
        read_servers(file)
    assert str(file) in str(refused.value)
    assert words in str(refused.value)


def test_a_file_that_is_gone_is_told(tmp_path: Path) -> None:
    """With its path."""
    with pytest.raises(McpServersInvalid, match="can't be read"):
        read_servers(tmp_path / "none.json")
