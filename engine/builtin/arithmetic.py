"""Arithmetic on expressions that come as text: parsed, never executed, exact as far as it can be, bounded in cost."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

Number = Fraction | float
"""A fraction as long as all is exact; a float from the first root or logarithm on."""
MAX_LENGTH = 500  # characters of an expression
MAX_DEPTH = 250  # of signs and functions in each other; the longest sum that can be written has no more
MAX_BITS = 10_000  # of a whole number, about 3,000 digits
MAX_PLACES = 30  # of a rounding: a whole number rounded to a billion places would take for ever
MAX_DIGITS = 40  # of an exact decimal number that is written out
DIGITS = 17  # of one that is not

_NUMBER = re.compile(r"(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(e[+-]?\d[\d_]*)?", re.IGNORECASE)
_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {
    ast.UAdd: lambda number: +number,
    ast.USub: lambda number: -number,
}
_NAMES: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


class BadExpression(ValueError):
    """An expression that is no arithmetic, or has no result; the text says why."""


def evaluate(expression: str) -> Number:
    """The value of an expression with + - * / // % ** ( ), the numbers pi, e and tau, and FUNCTIONS.

    `^` is taken as a power. Raises BadExpression.
    """
    if len(expression) > MAX_LENGTH:
        raise BadExpression(f"the expression is longer than {MAX_LENGTH} characters")
    source = expression.strip().replace("^", "**")
    try:
        return _Reading(source).value(ast.parse(source, mode="eval").body, 0)
    except BadExpression:
        raise
    except SyntaxError as error:
        raise BadExpression(f"it can't be read: {error.msg}") from None
    except ZeroDivisionError:
        raise BadExpression("it divides by zero") from None
    except (OverflowError, RecursionError, MemoryError):
        raise BadExpression("it is too large to work out") from None
    except (ValueError, TypeError) as error:
        raise BadExpression(f"it has no value: {error}") from None


def written(number: Number) -> str:
    """The number in digits: whole ones in all of theirs, others in 17 unless a few more say them exactly."""
    if isinstance(number, float):
        return repr(number).removesuffix(".0")
    if number.denominator == 1:
        return str(number.numerator)
    exact = _divided(number, MAX_DIGITS)
    return str(exact if Fraction(exact) == number else _divided(number, DIGITS))


def _divided(number: Fraction, digits: int) -> Decimal:
    context = Context(prec=digits)
    return context.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize(context)


@dataclass(frozen=True, slots=True)
class _Reading:
    """One expression that is read; numbers are taken from its text, because a parsed 0.1 is no tenth any more."""

    source: str

    def value(self, node: ast.expr, depth: int) -> Number:
        if depth > MAX_DEPTH:
            raise BadExpression(f"it is nested deeper than {MAX_DEPTH}")
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return _bounded(_exact(ast.get_source_segment(self.source, node) or "", number))
            case ast.Constant():
                raise BadExpression("it has something else than numbers in it")
            case ast.Name(id=name) if name in _NAMES:
                return _NAMES[name]
            case ast.UnaryOp(op=sign) if type(sign) in _UNARY:
                return _UNARY[type(sign)](self.value(node.operand, depth + 1))
            case ast.BinOp(op=sign) if type(sign) in _BINARY:
                left, right = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
                _refuse_costly(sign, left, right)
                return _bounded(_BINARY[type(sign)](left, right))
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in FUNCTIONS:
                return _bounded(FUNCTIONS[name](*(_whole(self.value(one, depth + 1)) for one in given)))
            case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
                raise BadExpression(f"{name!r} is not known here; there are {', '.join([*_NAMES, *FUNCTIONS])}")
            case _:
                raise BadExpression("it has something else than arithmetic in it")


def _exact(text: str, parsed: float) -> Number:
    """A number as it stands there; one that is written in another base is a whole number anyhow."""
    if _NUMBER.fullmatch(text) is None:
        return Fraction(parsed)
    number = Decimal(text)
    if abs(number.adjusted()) > MAX_BITS:
        raise OverflowError
    return Fraction(number)


def _refuse_costly(sign: ast.operator, left: Number, right: Number) -> None:
    """Refuse an exact power before it is worked out, which could take for ever."""
    if not isinstance(sign, ast.Pow) or isinstance(left, float) or isinstance(right, float):
        return
    if abs(left) not in (0, 1) and abs(right) * _bits(left) > 2 * MAX_BITS:
        raise OverflowError


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _whole(number: Number) -> int | Number:
    """A whole number as an int, which is what some functions want."""
    return number.numerator if isinstance(number, Fraction) and number.denominator == 1 else number


def _root(number: int | Number) -> int | Number:
    """The square root; exact where it is a whole number."""
    if isinstance(number, int) and number >= 0 and math.isqrt(number) ** 2 == number:
        return math.isqrt(number)
    return math.sqrt(number)


def _rounded(number: int | Number, digits: int | Number = 0) -> int | Number:
    if not isinstance(digits, int) or abs(digits) > MAX_PLACES:
        raise BadExpression(f"round takes a whole number of places, at most {MAX_PLACES}")
    if not digits:
        return round(number)
    return round(number, digits) if isinstance(number, float) else round(Fraction(number), digits)


FUNCTIONS: dict[str, Callable[..., int | Number]] = {
    "abs": abs,
    "round": _rounded,
    "min": min,
    "max": max,
    "sqrt": _root,
    "exp": math.exp,
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "degrees": math.degrees,
    "radians": math.radians,
    "floor": math.floor,
    "ceil": math.ceil,
    "hypot": math.hypot,
    "gcd": math.gcd,
}


def _bounded(number: object) -> Number:
    if isinstance(number, int | Fraction):
        exact = Fraction(number)
        if _bits(exact) > MAX_BITS:
            raise OverflowError
        return exact
    if isinstance(number, float) and math.isfinite(number):
        return number
    raise BadExpression("its value is no real, finite number")
