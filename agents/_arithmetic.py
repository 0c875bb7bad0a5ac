"""Arithmetic on expressions that come as text: parsed, never executed, and bounded in what they cost."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable

Number = int | float
MAX_LENGTH = 500  # characters of an expression
MAX_BITS = 10_000  # of a whole number, about 3,000 digits

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_NAMES: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}
FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "round": lambda number, digits=0: _rounded(number, digits),
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
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


MAX_PLACES = 30  # of a rounding: a whole number rounded to a billion places would take for ever


class BadExpression(ValueError):
    """An expression that is no arithmetic, or has no result; the text says why."""


def evaluate(expression: str) -> Number:
    """The value of an expression with + - * / // % ** ( ), the numbers pi, e and tau, and FUNCTIONS.

    `^` is taken as a power. Raises BadExpression.
    """
    if len(expression) > MAX_LENGTH:
        raise BadExpression(f"the expression is longer than {MAX_LENGTH} characters")
    try:
        return _value(ast.parse(expression.strip().replace("^", "**"), mode="eval").body)
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


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=bool()):
            raise BadExpression("it has something else than numbers in it")
        case ast.Constant(value=int() | float() as number):
            return _bounded(number)
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.UnaryOp(op=sign) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(node.operand))
        case ast.BinOp(op=sign) if type(sign) in _BINARY:
            left, right = _value(node.left), _value(node.right)
            _refuse_costly(sign, left, right)
            return _bounded(_BINARY[type(sign)](left, right))
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in FUNCTIONS:
            return _bounded(FUNCTIONS[name](*(_value(one) for one in given)))
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
            raise BadExpression(f"{name!r} is not known here; there are {', '.join([*_NAMES, *FUNCTIONS])}")
        case _:
            raise BadExpression("it has something else than arithmetic in it")


def _refuse_costly(sign: ast.operator, left: Number, right: Number) -> None:
    """Refuse a power of whole numbers before it is worked out, which could take for ever."""
    if not isinstance(sign, ast.Pow) or isinstance(left, float) or isinstance(right, float):
        return
    if abs(left) > 1 and abs(right) * left.bit_length() > 2 * MAX_BITS:
        raise OverflowError


def _rounded(number: Number, digits: Number) -> Number:
    if not isinstance(digits, int) or abs(digits) > MAX_PLACES:
        raise BadExpression(f"round takes a whole number of places, at most {MAX_PLACES}")
    return round(number, digits) if digits else round(number)


def _bounded(number: object) -> Number:
    if isinstance(number, int) and number.bit_length() > MAX_BITS:
        raise OverflowError
    if isinstance(number, int):
        return number
    if isinstance(number, float) and math.isfinite(number):
        return number
    raise BadExpression("its value is no real, finite number")
