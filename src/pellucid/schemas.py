"""The content of files, checked before anything is made of it: one way to read whatever Pellucid has written.

A record is described by its own annotations, with bounds where a type alone says too little:

    class Trust:
        level: Annotated[float, Between(0, 1)]
        coverage: Mapping[str, tuple[float | None, ...]]

    checked(Trust, json_of(path))

All that is wrong with a file is a `SchemaError`, a ValueError that says where and what; whoever reads the file turns it
into an `InputError` with its cure, or discards the file.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, final, get_args, get_origin, get_type_hints, overload

from pellucid.errors import InputError

T = TypeVar("T")

# The most bytes of a JSON file: what is made of them takes many times as much memory.
_MOST_BYTES = 1 << 30
# The most lists within lists, with room to spare for what walks through them.
_DEEPEST = 40
LARGEST = 1e100
"""The largest number in a file: its square can still be computed with."""
SMALLEST = 1e-100
"""The smallest scale in a file: one can divide by it."""


class SchemaError(ValueError):
    """Something in a file is not what it must be."""


@final
@dataclass(frozen=True)
class Between:
    """The bounds of a number, or of the length of a text or list."""

    low: float = -math.inf
    high: float = math.inf

    def check(self, value: Any, where: str) -> None:
        """Refuse a value that is out of bounds."""
        if isinstance(value, Mapping | str | tuple):
            value, where = len(value), f"the length of {where or 'it'}"
        if not self.low <= value <= self.high:
            raise SchemaError(f"{where or 'it'} is {shown(value)}, not between {self.low:g} and {self.high:g}")


_BLANK = "null is NaN"
Share = Annotated[float, Between(0, 1)]
Size = Annotated[int, Between(0, 2**40)]
Measured = Annotated[float, _BLANK]
"""A number that may be NaN, for which JSON has null."""


def shown(value: Any) -> str:
    """A value in a message, however long it is."""
    if isinstance(value, int) and abs(value) > 10**20:
        return "a number of very many digits"
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."


@contextmanager
def as_written(must: str, *, where: object, cure: str) -> Iterator[None]:
    """Say of anything that is wrong with a file what must hold, what is wrong, and what to do.

    Parameters
    ----------
    must : str
        What must hold.
    where : object
        The file or folder.
    cure : str
        What to do about it.
    """
    try:
        yield
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError) as error:
        raise InputError(must, got=f"{where}, where something is not: {reason_of(error)}", cure=cure) from error


def reason_of(error: Exception) -> str:
    """What went wrong, in words."""
    if isinstance(error, KeyError):
        return f"{shown(error.args[0]) if error.args else 'something'} is absent"
    lines = [line.strip() for line in f"{error}".splitlines() if line.strip()]
    return " ".join(lines[:2]).rstrip(".") or type(error).__name__


# -- JSON ----------------------------------------------------------------------------------------------------------


def json_of(path: Path) -> Any:
    """The content of a JSON file, neither too large nor nested too deeply, and all of its texts such as can be written.

    Examples
    --------
    >>> json_from("[" * 100_000)
    Traceback (most recent call last):
    pellucid.schemas.SchemaError: its lists are nested too deeply
    """
    size = path.stat().st_size
    if size > _MOST_BYTES:
        raise SchemaError(f"it has {size:,} bytes, more than {_MOST_BYTES:,}")
    return json_from(path.read_bytes())


def json_from(text: bytes | str) -> Any:
    """The content of a JSON text; see `json_of`."""
    try:
        content = json.loads(text)
    except RecursionError:
        raise SchemaError("its lists are nested too deeply") from None
    except json.JSONDecodeError as error:
        raise SchemaError(f"it is no JSON: {error}") from None
    except UnicodeDecodeError:
        raise SchemaError("it is no text in UTF-8") from None
    except ValueError:  # Python refuses to read longer numbers
        raise SchemaError(f"it has a number of more than {sys.get_int_max_str_digits():,} digits") from None
    _check_content(content, 0)
    return content


def _check_content(content: Any, depth: int) -> None:
    if depth > _DEEPEST:
        raise SchemaError("its lists are nested too deeply")
    if isinstance(content, str):
        if not content.isascii():
            _check_text(content)
    elif isinstance(content, int):
        if abs(content) > LARGEST:
            raise SchemaError("it has a number of very many digits")
    elif isinstance(content, dict):
        for name, value in content.items():
            _check_content(name, depth)
            _check_content(value, depth + 1)
    elif isinstance(content, list):
        for value in content:
            if not isinstance(value, float):
                _check_content(value, depth + 1)


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{shown(text)} has signs that no text can have") from None


# -- values --------------------------------------------------------------------------------------------------------


@overload
def checked(kind: type[T], content: Any, where: str = "") -> T: ...


@overload
def checked(kind: Any, content: Any, where: str = "") -> Any: ...


def checked(kind: Any, content: Any, where: str = "") -> Any:
    """The value of a type that JSON content stands for.

    Types are the plain ones, `Literal`, unions, `tuple`, `list`, `Mapping` and `dict` of texts, dataclasses and
    named tuples; `Any` is taken as it is, lists as tuples. Fields that are absent or null have their defaults; what a
    record does not know is ignored. Numbers are finite.

    Parameters
    ----------
    kind : type
        The type, with bounds (`Between`) where it is annotated.
    content : object
        What JSON has.
    where : str
        Where it is in the file, for messages.

    Examples
    --------
    >>> checked(tuple[float, ...], [1, 2.5])
    (1.0, 2.5)
    >>> checked(dict[str, int], {"a": 1, "b": True})
    Traceback (most recent call last):
    pellucid.schemas.SchemaError: b is True, not a whole number
    """
    return _checked(kind, content, where)


def _checked(kind: Any, content: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        if _BLANK in arguments and (content is None or (isinstance(content, float) and not math.isfinite(content))):
            return math.nan
        value = _checked(arguments[0], content, where)
        for bounds in arguments[1:]:
            if isinstance(bounds, Between) and value is not None:
                bounds.check(value, where)
        return value
    if origin in (Union, UnionType):
        others = [argument for argument in arguments if argument is not NoneType]
        if content is None and len(others) < len(arguments):
            return None
        return _first_that_fits(others, content, where)
    if origin is Literal:
        if not any(content == choice and type(content) is type(choice) for choice in arguments):
            raise wrong(content, where, f"one of {', '.join(map(repr, arguments))}")
        return content
    if origin is tuple:
        return _sequence(arguments, content, where)
    if origin is list:
        return list(_sequence((arguments[0], ...), content, where))
    if origin is not None and issubclass(origin, Mapping):
        return {name: _checked(arguments[1], value, _inside(where, name)) for name, value in _mapping(content, where)}
    if kind is Any:
        return _frozen(content)
    if kind in _PLAIN:
        return _PLAIN[kind](content, where)
    return _record(kind, content, where)


def _first_that_fits(kinds: Sequence[Any], content: Any, where: str) -> Any:
    for kind in kinds[:-1]:
        try:
            return _checked(kind, content, where)
        except SchemaError:
            continue
    return _checked(kinds[-1], content, where)


def _text(content: Any, where: str) -> str:
    if not isinstance(content, str):
        raise wrong(content, where, "a text")
    return content


def _truth(content: Any, where: str) -> bool:
    if not isinstance(content, bool):
        raise wrong(content, where, "true or false")
    return content


def _whole(content: Any, where: str) -> int:
    if not isinstance(content, int) or isinstance(content, bool) or abs(content) >= 2**63:
        raise wrong(content, where, "a whole number")
    return content


def _number(content: Any, where: str) -> float:
    if not isinstance(content, int | float) or isinstance(content, bool) or not -LARGEST <= content <= LARGEST:
        raise wrong(content, where, "a number")
    return float(content)


def _nothing(content: Any, where: str) -> None:
    if content is not None:
        raise wrong(content, where, "null")


_PLAIN = {str: _text, bool: _truth, int: _whole, float: _number, NoneType: _nothing}


def _sequence(arguments: tuple[Any, ...], content: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(content, list | tuple):
        raise wrong(content, where, "a list")
    if len(arguments) == 2 and arguments[1] is ...:
        arguments = (arguments[0],) * len(content)
    if len(arguments) != len(content):
        raise wrong(content, where, f"a list of {len(arguments)}")
    return tuple(_checked(kind, value, f"{where}[{i}]") for i, (kind, value) in enumerate(zip(arguments, content)))  # noqa: B905


def _mapping(content: Any, where: str) -> Any:
    if not isinstance(content, Mapping):
        raise wrong(content, where, "an object")
    return content.items()


def _record(kind: Any, content: Any, where: str) -> Any:
    """A record with the fields that are there and not null."""
    present = dict(_mapping(content, where))
    values = {}
    for name, hint, optional in _fields(kind):
        value = present.get(name)
        if value is not None or (not optional and {NoneType, _BLANK} & set(get_args(hint))):
            values[name] = _checked(hint, value, _inside(where, name))
        elif not optional:
            raise SchemaError(f"{_inside(where, name)} is absent")
    return kind(**values)


@cache
def _fields(kind: Any) -> list[tuple[str, Any, bool]]:
    """Name and type of each field, and whether it has a default."""
    hints = get_type_hints(kind, include_extras=True)
    if is_dataclass(kind):
        return [
            (each.name, hints[each.name], each.default is not MISSING or each.default_factory is not MISSING)
            for each in fields(kind)
            if each.init
        ]
    return [(name, hints[name], name in kind._field_defaults) for name in kind._fields]


def _frozen(content: Any) -> Any:
    return tuple(map(_frozen, content)) if isinstance(content, list) else content


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def wrong(content: Any, where: str, expected: str) -> SchemaError:
    return SchemaError(f"{where or 'it'} is {shown(content)}, not {expected}")
