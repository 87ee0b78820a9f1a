"""Options: fields of a frozen dataclass with the words that describe them, for command lines and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, final, get_args, get_origin, get_type_hints


@final
@dataclass(frozen=True, kw_only=True)
class Words:
    """How a field is described.

    Parameters
    ----------
    help : str
        What it does, in a sentence.
    names : tuple of str
        How it is typed, where that is not the name of the field: "--recordings-by", "-t".
    default : str, optional
        What stands for the default, where its value says little: "chosen by leave-one-out".
    metavar : str, optional
        What stands for the value: "COLUMN".
    minimum : float, optional
        The smallest value.
    once : bool
        Whether it is set when a model is trained, and never again.
    parameter : str, optional
        The parameter of the library that it sets, where that has another name.
    kept : bool
        Whether a run keeps it, so that later files are read alike.
    """

    help: str
    names: tuple[str, ...] = ()
    default: str | None = None
    metavar: str | None = None
    minimum: float | None = None
    once: bool = False
    parameter: str | None = None
    kept: bool = True


class Option(NamedTuple):
    """A field that may be set."""

    name: str
    type: Any
    """Without None."""
    default: Any
    words: Words

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that are allowed, where there are only some."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def repeated(self) -> bool:
        """Whether it holds several values."""
        return get_origin(self.type) is tuple


def option(default: Any, help: str, /, *names: str, **words: Any) -> Any:  # noqa: A002 - as such libraries call it
    """A field of a dataclass that may be set; see `Words`."""
    return field(default=default, metadata={"words": Words(help=help, names=names, **words)})


def options_of(settings: type) -> list[Option]:
    """The options of a dataclass, in the order of its fields.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Reading(NoOptions):
    ...     decimal: Literal[".", ","] = option(".", "The decimal sign.")
    >>> [(found.name, found.choices, found.default) for found in options_of(Reading)]
    [('decimal', ('.', ','), '.')]
    """
    hints = get_type_hints(settings)
    return [
        Option(each.name, _without_none(hints[each.name]), each.default, each.metadata["words"])
        for each in fields(settings)
        if "words" in each.metadata
    ]


def _without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 and type(None) in get_args(hint) else hint


@dataclass(frozen=True, kw_only=True)
class NoOptions:
    """Settings of which there are none: the base of those that have some."""


def changed(settings: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are set and are options of these settings."""
    names = {each.name for each in options_of(type(settings))}
    return {name: value for name, value in values.items() if name in names and value is not None}


def names_in(texts: Sequence[str] | None, header: Sequence[str] = ()) -> list[str] | None:
    """Names of columns that were repeated or separated by commas; a name of the header may have commas itself.

    Examples
    --------
    >>> names_in(["a, b", "dose, mg"], ["a", "b", "dose, mg"])
    ['a', 'b', 'dose, mg']
    """
    if texts is None:
        return None
    parts = [[text] if text in header else text.split(",") for text in texts]
    return [name.strip() for names in parts for name in names if name.strip()]
