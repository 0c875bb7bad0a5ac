"""What models cost."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from engine.providers.prices import Prices, PricesInvalid, load_prices
from models.usage import Usage

MILLION = 1_000_000


@pytest.fixture(scope="module")
def prices() -> Prices:
    """The shipped prices."""
    return load_prices()


def file(folder: Path, content: Any) -> Path:
    """A file of prices."""
    path = folder / "prices.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("model", "rates"),
    [
        ("claude-fable-5-1", ("10", "50", "12.5", "0.25")),
        ("claude-opus-5-5", ("4", "20", "5", "0.20")),
        ("claude-opus-5", ("5", "25", "6.25", "0.50")),
        ("claude-opus-4-8", ("5", "25", "6.25", "0.50")),
        ("claude-opus-4-5", ("5", "25", "6.25", "0.50")),
        ("claude-sonnet-5-5", ("2", "10", "2.5", "0.10")),
        ("claude-haiku-4-5", ("1", "5", "1.25", "0.10")),
    ],
)
def test_each_kind_of_token_has_its_price(prices: Prices, model: str, rates: tuple[str, ...]) -> None:
    """USD per million: input, output, cache write, cache read."""
    usages = [
        Usage(input_tokens=MILLION),
        Usage(output_tokens=MILLION),
        Usage(cache_write_tokens=MILLION),
        Usage(cache_read_tokens=MILLION),
    ]
    assert [prices.cost(model, usage) for usage in usages] == [Decimal(rate) for rate in rates]


def test_a_long_prompt_is_dearer_where_the_model_has_it_so(prices: Prices) -> None:
    """Haiku 5.5 takes five times as much for all of a call whose prompt, cached or not, is above 100,000 tokens."""
    short, long = Usage(50_000, 1_000, 40_000, 10_000), Usage(50_000, 1_000, 40_001, 10_000)
    assert prices.cost("claude-haiku-5-5", short) == Decimal("0.00715")
    assert prices.cost("claude-haiku-5-5", long) == Decimal("0.03575005")


def test_costs_are_exact(prices: Prices) -> None:
    """One token of the cheapest kind is a hundred-millionth of a dollar, and sums lose nothing."""
    one = prices.cost("claude-haiku-5-5", Usage(cache_read_tokens=1))
    assert one == Decimal("0.00000001")
    one = prices.cost("claude-sonnet-5-5", Usage(333, 77, 1, 1))
    assert one is not None
    assert sum([one] * 1000) == Decimal("1.4386")


@pytest.mark.parametrize("model", ["claude-sonnet-5-5-20261001", "claude-sonnet-5-5-latest", "claude-sonnet-5-5"])
def test_dated_and_latest_names_have_the_price_of_their_family(prices: Prices, model: str) -> None:
    """Providers answer an alias with a dated name."""
    assert prices.cost(model, Usage(input_tokens=MILLION)) == 2


@pytest.mark.parametrize(
    "model", ["claude-fable-5-2", "claude-sonnet-5", "claude-opus-5-6", "claude-opus", "gpt", "", "claude-sonnet-5-5-x"]
)
def test_an_unknown_model_has_no_price(prices: Prices, model: str) -> None:
    """A price is never guessed: not from a name that begins alike."""
    assert prices.cost(model, Usage(input_tokens=1)) is None


def test_all_priced_models_are_listed(prices: Prices) -> None:
    """With their price of input and output, for clients that choose a model."""
    listed = {model.id: (model.rates.input, model.rates.output) for model in prices.models()}
    assert listed["claude-sonnet-5-5"] == (Decimal(2), Decimal(10))
    assert listed["claude-haiku-5-5"] == (Decimal("0.1"), Decimal("0.5"))


def test_a_deployment_lays_its_own_prices_over_the_shipped_ones(tmp_path: Path) -> None:
    """A model in both is the file's, a new one is added, one that is null is left out, the others stay."""
    mine = {
        "claude-sonnet-5-5": {"input": 1.5, "output": 9},
        "our-model": {"input": 0, "output": 0.1, "cache_read": 0, "context_tokens": 32_000, "max_output_tokens": 4_000},
        "claude-opus-5": None,
    }
    prices = load_prices(file(tmp_path, mine))
    assert prices.cost("claude-sonnet-5-5", Usage(MILLION, 0, MILLION, MILLION)) == Decimal("4.5")
    ours = prices.get("our-model")
    assert ours is not None
    assert (ours.context_tokens, ours.max_output_tokens) == (32_000, 4_000)
    assert prices.cost("claude-opus-5", Usage()) is None
    assert prices.cost("claude-opus-5-5", Usage(MILLION)) == 4


GOOD = {"input": 1, "output": 1}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "is no JSON"),
        ("[]", "an object of models"),
        ({"m": 5}, "m must be an object"),
        ({"m": {"input": 1}}, "m: output is missing"),
        ({"m": {**GOOD, "input": "1"}}, "m: input must be a number"),
        ({"m": {**GOOD, "input": -1}}, "m: input must be a number"),
        ({"m": {**GOOD, "input": True}}, "m: input must be a number"),
        ('{"m": {"input": NaN, "output": 1}}', "m: input must be a number"),
        ('{"m": {"input": 1e400, "output": 1}}', "m: input must be a number"),
        ('{"m": {}, "m": {}}', "'m' is given twice"),
        ({"m": {**GOOD, "ouput": 1}}, "m: ouput is no known key"),
        ({"m": {**GOOD, "context_tokens": 0}}, "m: context_tokens must be a whole number"),
        ({"m": {**GOOD, "long_prompt": 5}}, "m: long_prompt must be an object"),
        ({"m": {**GOOD, "long_prompt": GOOD}}, "m: long_prompt: over_tokens must be"),
        ({"m": {**GOOD, "long_prompt": {"over_tokens": 1, "input": 1}}}, "m: long_prompt: output is missing"),
    ],
    ids=str,
)
def test_a_file_that_is_no_price_list_is_refused_in_words(tmp_path: Path, content: Any, said: str) -> None:
    """The text names the file, the model and the key."""
    path = file(tmp_path, content)
    with pytest.raises(PricesInvalid) as caught:
        load_prices(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    """Or that is no text."""
    with pytest.raises(PricesInvalid, match="can't be read"):
        load_prices(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(PricesInvalid, match="can't be read"):
        load_prices(tmp_path / "bytes.json")
