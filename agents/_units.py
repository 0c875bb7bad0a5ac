"""Units of measure and how they convert."""

from __future__ import annotations

_SCALES: dict[str, dict[str, float]] = {
    "length": {
        "mm": 0.001, "cm": 0.01, "m": 1.0, "km": 1000.0, "inch": 0.0254, "ft": 0.3048, "yd": 0.9144, "mile": 1609.344,
    },
    "mass": {"mg": 1e-6, "g": 0.001, "kg": 1.0, "t": 1000.0, "oz": 0.028349523125, "lb": 0.45359237},
    "time": {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "day": 86_400.0, "week": 604_800.0},
    "volume": {"ml": 0.001, "l": 1.0, "m3": 1000.0, "floz": 0.0295735295625, "gal": 3.785411784},
    "data": {
        "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
    },
}  # fmt: skip
_ZERO_AND_STEP = {"K": (0.0, 1.0), "C": (273.15, 1.0), "F": (273.15 - 32 * 5 / 9, 5 / 9)}  # in kelvin


class BadUnit(ValueError):
    """A unit that is not known, or two that measure different things; the text says which there are."""


def convert(value: float, from_unit: str, to_unit: str) -> float:
    """The value in another unit of the same kind. Raises BadUnit."""
    if from_unit in _ZERO_AND_STEP and to_unit in _ZERO_AND_STEP:
        zero, step = _ZERO_AND_STEP[from_unit]
        to_zero, to_step = _ZERO_AND_STEP[to_unit]
        return (value * step + zero - to_zero) / to_step
    for scale in _SCALES.values():
        if from_unit in scale and to_unit in scale:
            return value * scale[from_unit] / scale[to_unit]
    raise BadUnit(f"can't convert {from_unit} to {to_unit}; there are {_known()}")


def _known() -> str:
    kinds = {**{kind: list(scale) for kind, scale in _SCALES.items()}, "temperature": list(_ZERO_AND_STEP)}
    return "; ".join(f"{kind}: {', '.join(units)}" for kind, units in kinds.items())
