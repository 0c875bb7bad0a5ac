"""The small model on this machine, as far as it can be tested without its packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engine.providers import local
from engine.providers.anthropic import AnthropicProvider
from engine.providers.local import MOST_TOKENS, NAME, PROMPT_CHARACTERS, LocalModel, LocalModelUnavailable, fitting
from engine.providers.provider import ModelRequest
from tests.support.messages_script import Script
from tests.support.messages_server import MessagesServer

TOOL = {"name": "search", "description": "Search.", "input_schema": {"type": "object", "properties": {}}}


def asked(*contents: Any, **more: Any) -> ModelRequest:
    """A request of turns that alternate."""
    messages = [
        {"role": "assistant" if number % 2 else "user", "content": content} for number, content in enumerate(contents)
    ]
    return ModelRequest(model="claude-sonnet-5-5", messages=messages, **more)


def test_without_its_packages_it_says_what_to_install(tmp_path: Path) -> None:
    """The text names both ways to install them."""
    program = "from engine.providers.local import find_model; find_model()"
    root = str(Path(local.__file__).parents[2])
    blocked = f"import sys; sys.modules['xllamacpp'] = None; sys.path.insert(0, {root!r}); {program}"
    done = subprocess.run([sys.executable, "-c", blocked], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "LocalModelUnavailable" in done.stderr
    assert "make local-model" in done.stderr
    assert 'pip install "steersman[local]"' in done.stderr


async def test_it_is_asked_for_what_it_can_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under its own name, without tools, for a short answer; the conversation is the same."""
    async with MessagesServer() as server, AnthropicProvider(api_key="local", base_url=server.url) as provider:
        server.play(Script().text("Hello"))
        request = asked("Hi", tools=[TOOL], max_tokens=8_192, system="Be kind.", reasoning=True)
        async with LocalModel(provider).stream(request) as response:
            assert [delta.text async for delta in response] == ["Hello"]
        body = server.requests[0].body
        assert (body["model"], body["max_tokens"]) == (NAME, MOST_TOKENS)
        assert {"tools", "thinking"}.isdisjoint(body)
        assert server.refused == []


def test_a_long_conversation_is_cut_to_what_it_can_hold() -> None:
    """The oldest messages give way, and the first that stays is the user's."""
    long = "word " * (PROMPT_CHARACTERS // 20)
    kept = fitting(asked(*[long] * 9)).messages
    assert 1 < len(kept) < 9
    assert kept[0]["role"] == "user"
    assert kept[-1]["content"] == long
    assert sum(len(message["content"]) for message in kept) <= PROMPT_CHARACTERS


def test_a_single_message_is_sent_whatever_its_length() -> None:
    """Its refusal says more than a silent cut."""
    huge = "x" * (2 * PROMPT_CHARACTERS)
    assert fitting(asked(huge)).messages[0]["content"] == huge


async def test_a_model_that_does_not_start_is_said_to_be_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its process has ended, and the error says where to look."""
    broken = tmp_path / "server.py"
    broken.write_text("raise SystemExit(1)", encoding="utf-8")
    model = tmp_path / "model.gguf"
    monkeypatch.setattr(local, "_SERVER", broken)
    monkeypatch.setattr(local, "find_model", lambda: model)
    with pytest.raises(LocalModelUnavailable, match="did not start"):
        async with local.local_model():
            pass


async def test_its_server_ends_with_the_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stand-in that answers its address and waits for the end of its input, as the real one does."""
    ended = tmp_path / "ended"
    stand_in = tmp_path / "server.py"
    stand_in.write_text(
        f"import sys, pathlib\nprint('http://127.0.0.1:9', flush=True)\nsys.stdin.read()\n"
        f"pathlib.Path({str(ended)!r}).touch()\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(local, "_SERVER", stand_in)
    monkeypatch.setattr(local, "find_model", lambda: tmp_path / "model.gguf")
    async with local.local_model():
        assert not ended.exists()
    assert ended.exists()
