"""How far what is left goes: arithmetic that never gives more than there is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from models.spending import DOCUMENT_TOKENS, IMAGE_TOKENS, Ask, Bounds, Tariff, affordable, least_of, tokens_of

_tokens = st.integers(0, 10**7)
_rates = st.integers(0, 10**9)
_tariffs = st.builds(Tariff, _rates, _rates, st.none() | _tokens, _rates, _rates)
_left = st.builds(Bounds, st.none() | st.integers(-(10**12), 10**16), st.none() | st.integers(-100, 10**7))
_asks = st.builds(Ask, _tokens, st.integers(1, 10**6), _tariffs)


@given(_asks, _left)
def test_what_is_granted_can_be_paid_for(ask: Ask, left: Bounds) -> None:
    """All of it, at its worst, with what is left of money and of tokens; and one token more could not."""
    granted = affordable(ask, left)
    assert granted <= ask.max_tokens
    if granted >= 0:
        assert _fits(ask, granted, left)
    if granted < ask.max_tokens:
        assert not _fits(ask, max(granted, -1) + 1, left)


def _fits(ask: Ask, answer: int, left: Bounds) -> bool:
    assert ask.tariff is not None
    by_cost = left.cost_pico is None or ask.tariff.cost(ask.input_tokens, answer) <= left.cost_pico
    return by_cost and (left.tokens is None or ask.input_tokens + answer <= left.tokens)


def test_a_long_prompt_is_paid_at_its_own_rates() -> None:
    """Input and output alike, from the first token on."""
    tariff = Tariff(1, 2, 100, 10, 20)
    assert (tariff.cost(100, 1), tariff.cost(101, 1)) == (102, 1_030)


def test_the_shortest_answer_is_no_longer_than_what_was_asked_for() -> None:
    """Who asks for a word may get it with little left."""
    assert least_of(Ask(1, 10)) == 10
    assert least_of(Ask(1, 10_000)) < 10_000


@given(st.text())
def test_an_estimate_grows_with_the_bytes(text: str) -> None:
    """Two of them a token, whatever the script; odd text is counted too."""
    assert tokens_of(text) >= len(text.encode(errors="replace")) // 2


def test_the_data_of_media_is_not_counted_as_text() -> None:
    """A picture takes what a picture takes, wherever it stands, however it is given."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4_000_000}}
    document = {"type": "document", "source": {"type": "file", "file_id": "att_1"}}
    text = {"type": "document", "source": {"type": "text", "data": "A" * 1_000}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [image]}
    assert IMAGE_TOKENS <= tokens_of([image]) < IMAGE_TOKENS + 10
    assert DOCUMENT_TOKENS <= tokens_of({"role": "user", "content": [document]}) < DOCUMENT_TOKENS + 50
    assert IMAGE_TOKENS <= tokens_of({"role": "user", "content": [result]}) < IMAGE_TOKENS + 60
    assert 500 <= tokens_of([text]) < 600
