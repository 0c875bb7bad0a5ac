"""What models cost: USD per million tokens by model, from a data file that a deployment can lay its own over."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from models.usage import Usage

SHIPPED = Path(__file__).with_name("prices.json")
_SUFFIX = re.compile(r"(-\d{8}|-latest)$")  # a dated release, or the newest one, is priced as its family
_RATES = ("input", "output", "cache_write", "cache_read")


class PricesInvalid(ValueError):
    """The file of prices can't be used; the text names the file, the model and the key at fault."""


@dataclass(frozen=True, slots=True)
class Rates:
    """USD per million tokens. Cache writes are those of five minutes."""

    input: Decimal
    output: Decimal
    cache_write: Decimal
    cache_read: Decimal

    def cost(self, usage: Usage) -> Decimal:
        """The exact cost of this usage, in USD, in its shortest form, as the rows give it too."""
        millionths = (
            self.input * usage.input_tokens
            + self.output * usage.output_tokens
            + self.cache_write * usage.cache_write_tokens
            + self.cache_read * usage.cache_read_tokens
        )
        return millionths.scaleb(-6).normalize() + 0  # plus 0: without an exponent


@dataclass(frozen=True, slots=True)
class PricedModel:
    """One model: its rates, dearer ones for prompts `over_tokens` long where it has them, and its limits in tokens."""

    id: str
    rates: Rates
    over_tokens: int | None = None
    long_rates: Rates | None = None
    context_tokens: int | None = None
    max_output_tokens: int | None = None

    def cost(self, usage: Usage) -> Decimal:
        """What one call with this usage costs, in USD; its prompt is all that it read, cached or not."""
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        if self.long_rates is not None and self.over_tokens is not None and prompt > self.over_tokens:
            return self.long_rates.cost(usage)
        return self.rates.cost(usage)


class Prices:
    """The prices of all known models."""

    def __init__(self, models: Mapping[str, PricedModel]) -> None:
        self._models = dict(models)

    def get(self, model: str) -> PricedModel | None:
        """A model by its id or a dated or "-latest" form of it; None where it has no price."""
        return self._models.get(model) or self._models.get(_SUFFIX.sub("", model))

    def cost(self, model: str, usage: Usage) -> Decimal | None:
        """The exact cost in USD of one call; None where the model has no price."""
        priced = self.get(model)
        return None if priced is None else priced.cost(usage)

    def models(self) -> tuple[PricedModel, ...]:
        """All models with a price, in the order of the file."""
        return tuple(self._models.values())


def load_prices(path: Path | None = None) -> Prices:
    """The shipped prices, with those of `path` laid over: a model in both is the file's, one that is null is left out.

    Raises PricesInvalid for a file that can't be read or that says something else than prices.
    """
    models = _read(SHIPPED)
    if path is not None:
        models.update(_read(path))
    return Prices({name: model for name, model in models.items() if model is not None})


def _read(path: Path) -> dict[str, PricedModel | None]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PricesInvalid(f"{path}: the file of prices can't be read ({type(error).__name__})") from error
    try:
        value = json.loads(text, parse_float=Decimal, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise PricesInvalid(f"{path}: the file of prices is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise PricesInvalid(f"{path}: prices are an object of models")
    try:
        return {name: None if entry is None else _model(name, entry) for name, entry in value.items()}
    except _Fault as fault:
        raise PricesInvalid(f"{path}: {fault}") from None


class _Fault(ValueError):
    """What is wrong with an entry, without the file's name."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        repeated = next(name for name, _ in pairs if [key for key, _ in pairs].count(name) > 1)
        raise ValueError(f"{repeated!r} is given twice")
    return value


def _model(name: str, entry: Any) -> PricedModel:
    _check_keys(name, entry, {*_RATES, "context_tokens", "max_output_tokens", "long_prompt"})
    over_tokens, long_rates = None, None
    if "long_prompt" in entry:
        where, long = f"{name}: long_prompt", entry["long_prompt"]
        _check_keys(where, long, {*_RATES, "over_tokens"})
        over_tokens, long_rates = _size(f"{where}: over_tokens", long.get("over_tokens")), _rates(where, long)
    return PricedModel(
        name,
        _rates(name, entry),
        over_tokens,
        long_rates,
        context_tokens=_optional_size(name, entry, "context_tokens"),
        max_output_tokens=_optional_size(name, entry, "max_output_tokens"),
    )


def _check_keys(where: str, entry: Any, known: set[str]) -> None:
    if not isinstance(entry, dict):
        raise _Fault(f"{where} must be an object")
    unknown = sorted(set(entry) - known)
    if unknown:
        raise _Fault(f"{where}: {unknown[0]} is no known key; there are {', '.join(sorted(known))}")


def _rates(where: str, entry: dict[str, Any]) -> Rates:
    for key in ("input", "output"):
        if key not in entry:
            raise _Fault(f"{where}: {key} is missing")
    plain = entry["input"]  # what a cache costs where nothing is said of it
    return Rates(**{key: _rate(f"{where}: {key}", entry.get(key, plain)) for key in _RATES})


def _rate(where: str, value: Any) -> Decimal:
    rate = Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if not isinstance(rate, Decimal) or not rate.is_finite() or not 0 <= rate <= 1_000_000:
        raise _Fault(f"{where} must be a number of USD per million tokens, not {value!r}")
    return rate


def _optional_size(name: str, entry: dict[str, Any], key: str) -> int | None:
    return _size(f"{name}: {key}", entry[key]) if key in entry else None


def _size(where: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _Fault(f"{where} must be a whole number of tokens from 1, not {value!r}")
    return value
