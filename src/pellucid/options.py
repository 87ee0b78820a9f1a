"""Options: fields of a frozen dataclass with their descriptions, from which command lines are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeVar, final, get_args, get_origin, get_type_hints

from pellucid.errors import InputError, Parameter

Group = TypeVar("Group", bound="Options")


@final
@dataclass(frozen=True, kw_only=True)
class Option:
    """A setting that a user may change: a field of a dataclass that was made by `option`.

    Parameters
    ----------
    name : str
        Name of the field.
    type : type
        Type of the value, without None.
    default : object
        The default; None leaves the choice to the library.
    help : str
        What the option does, in one sentence.
    flags : tuple of str
        How it is typed, if not as the name of the field: "--recordings-by", "-t".
    default_text : str, optional
        Description of the default, where its value says little: "chosen by leave-one-out".
    metavar : str, optional
        Placeholder of the value: "COLUMN".
    minimum : float, optional
        The smallest value allowed.
    training_only : bool
        Whether it is fixed once a model is trained.
    parameter : str, optional
        The parameter of the library that it sets, where that has another name.
    saved : bool
        Whether a run saves it, so that later files are read in the same way.
    """

    name: str = ""
    type: Any = None
    default: Any = None
    help: str
    flags: tuple[str, ...] = ()
    default_text: str | None = None
    metavar: str | None = None
    minimum: float | None = None
    training_only: bool = False
    parameter: str | None = None
    saved: bool = True

    @property
    def choices(self) -> tuple[str, ...]:
        """The values allowed; empty if there are more than can be listed."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()

    @property
    def repeated(self) -> bool:
        """Whether it holds several values."""
        return get_origin(self.type) is tuple


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of all groups of options; it has none itself."""


def option(default: Any, help: str, /, *flags: str, **description: Any) -> Any:  # noqa: A002 - as such libraries call it
    """A field of a dataclass that users may set; `description` holds further fields of `Option`."""
    return field(default=default, metadata={"option": Option(help=help, flags=flags, **description)})


def options_of(group: type[Options]) -> list[Option]:
    """The options of a group, in the order of its fields.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Reading(Options):
    ...     decimal: Literal[".", ","] = option(".", "The decimal sign.")
    >>> [(option.name, option.choices, option.default) for option in options_of(Reading)]
    [('decimal', ('.', ','), '.')]
    """
    hints = get_type_hints(group)
    return [
        replace(each.metadata["option"], name=each.name, type=_without_none(hints[each.name]), default=each.default)
        for each in fields(group)
        if "option" in each.metadata
    ]


def _without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 and type(None) in get_args(hint) else hint


def updated(options: Group, values: Mapping[str, Any]) -> Group:
    """The same options with those of the values that belong to them and are not None."""
    names = {option.name for option in options_of(type(options))}
    changes = {name: value for name, value in values.items() if name in names and value is not None}
    return replace(options, **{k: tuple(v) if isinstance(v, list) else v for k, v in changes.items()})


def names_in(texts: Sequence[str] | None, parameter: str, header: Sequence[str] = ()) -> list[str] | None:
    """Names of columns, repeated or separated by commas; a name in the header may itself contain commas.

    Parameters
    ----------
    texts : sequence of str, optional
        What a user typed; None where nothing was.
    parameter : str
        Whose names they are.
    header : sequence of str
        The names that exist.

    Examples
    --------
    >>> names_in(["a, b", "dose, mg"], "drop", header=["a", "b", "dose, mg"])
    ['a', 'b', 'dose, mg']
    """
    if texts is None:
        return None
    parts = [[text] if text in header else text.split(",") for text in texts]
    names = [name.strip() for some in parts for name in some if name.strip()]
    if texts and not names:
        raise InputError(
            f"{Parameter(parameter)} must name columns", got=repr(", ".join(texts)), cure="name some, or leave it out",
            parameter=parameter,
        )  # fmt: skip
    return names
