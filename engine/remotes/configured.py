"""The file in which an administrator configures MCP servers: `{"name": {"command": …, "args": […], "env": {…}}}`.

Or `{"name": {"url": …, "headers": {…}}}`; each may say `"approval": true` too.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from engine.remotes.remote_policy import ServerSpec

MAX_NAME = 64


class McpServersInvalid(Exception):
    """The file of MCP servers can't be used; the text says what to mend."""


class _Server(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    command: str | None = Field(default=None, min_length=1)
    args: list[str] = []
    env: dict[str, str] = {}
    url: str | None = Field(default=None, pattern="^https?://")
    headers: dict[str, str] = {}
    approval: bool = False

    @model_validator(mode="after")
    def _one_of_both(self) -> _Server:
        if (self.command is None) == (self.url is None):
            raise ValueError("give a command or a url, one of them")
        if self.url is None and self.headers:
            raise ValueError("headers go with a url")
        if self.command is None and (self.args or self.env):
            raise ValueError("args and env go with a command")
        return self


_FILE = TypeAdapter(dict[str, _Server])


def read_servers(path: Path) -> dict[str, ServerSpec]:
    """The servers in the file, by name. Raises McpServersInvalid."""
    try:
        found = _FILE.validate_json(path.read_bytes())
    except OSError as error:
        raise McpServersInvalid(f"{path} can't be read: {error.strerror}.") from error
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, problem["loc"]))
        raise McpServersInvalid(f"{path}: {place + ': ' if place else ''}{problem['msg']}.") from error
    for name in found:
        if not name.strip() or len(name) > MAX_NAME:
            raise McpServersInvalid(f"{path}: a server's name has 1 to {MAX_NAME} characters.")
    return {
        name: ServerSpec(one.command, tuple(one.args), one.env, one.url, one.headers, one.approval)
        for name, one in found.items()
    }
