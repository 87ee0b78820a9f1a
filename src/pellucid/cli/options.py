"""Options of commands, made from those that domains declare; see `pellucid.options`."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from pellucid.errors import InputError, Parameter, PellucidError, written_as
from pellucid.options import Option, Options, options_of
from pellucid.registry import AnyDomain, domains

OptionGroups: TypeAlias = Callable[[AnyDomain], Sequence[type[Options]]]
"""Selects the options of a domain that a command has: `lambda domain: (domain.Reading, domain.Predicting)`."""
_AS_TRAINED = "as the model's"
_METAVARS = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}


class Command(TyperCommand):
    """A command whose messages name parameters of the library as its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        root = ctx.find_root().command
        with written_as(lambda parameter: as_option(parameter, self, root)):
            try:
                return super().invoke(ctx)
            except InputError as error:
                option = error.parameter and _option_of(self, Parameter(error.parameter))
                text, literal = str(error), f"`{error.parameter}`"
                if not option or option in text:
                    raise
                text = text.replace(literal, option) if literal in text else f"{option}: {text}"
                raise PellucidError(text) from error

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words that were typed."""
        try:
            self._refuse_empty_paths(ctx, args)
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = _in_words(error)
            raise

    def _refuse_empty_paths(self, ctx: Any, args: Sequence[str]) -> None:
        """An empty path, as of a variable that is not set, would be that of the current folder."""
        if "" not in [word.partition("=")[2] if word.startswith("-") else word for word in args]:
            return
        typed = self.make_parser(ctx).parse_args(args=list(args))[0]
        kinds = inspect.signature(self.callback, eval_str=True).parameters if self.callback else {}
        parameters: list[Any] = self.get_params(ctx)
        for each in parameters:
            words = typed.get(each.name)
            empty = "" in words if isinstance(words, list | tuple) else words == ""
            if empty and each.name in kinds and _is_path(kinds[each.name].annotation):
                raise typer.BadParameter("must be a path. Got ''.", ctx=ctx, param=each)

    # Help shows arguments by their names alone: typer adds braces and the names of Python's types.

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What follows the name of the command in its usage."""
        arguments = [each for each in self.get_params(ctx) if isinstance(each, TyperArgument)]
        return ["[OPTIONS]", *(f"{each.metavar}" if each.required else f"[{each.metavar}]" for each in arguments)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options."""
        arguments, options = [], []
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None and isinstance(each, TyperArgument):
                arguments.append((each.metavar, record[1]))
            elif record is not None:
                options.append(record)
        for title, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def _is_path(kind: Any) -> bool:
    """Whether a parameter of this type is a path, or several."""
    return kind is Path or any(map(_is_path, get_args(kind)))


def _in_words(error: typer.BadParameter) -> str:
    """What must hold and what came, where typer says it in the words of its validation."""
    # Some versions of typer validate with pydantic, whose errors say what was typed.
    details: list[dict[str, Any]] = getattr(error.__cause__, "errors", list)()
    if not details:
        return error.message
    kind, typed = details[0]["type"], details[0]["input"]
    if kind == "greater_than_equal":
        return f"must be at least {details[0]['ctx']['ge']:g}. Got {typed}."
    if kind == "value_error" and "is not one of " in error.message:
        *others, last = error.message.rpartition("is not one of ")[2].rstrip(".").replace("'", "").split(", ")
        must = f"{', '.join(others)} or {last}" if others else last
    else:
        must = {"int_parsing": "a whole number", "float_parsing": "a number"}.get(kind, "")
    return f"must be {must}. Got {typed!r}." if must else error.message


def as_option(parameter: Parameter, command: Any, root: Any) -> str | None:
    """A parameter as it is typed: an option of this command, or of another, which is named then; None if of none."""
    here = _option_of(command, parameter)
    if here is not None:
        return here
    options = {path: _option_of(leaf, parameter) for path, leaf in _commands(root)}
    options = {path: option for path, option in options.items() if option is not None}
    for path, option in options.items():
        several = sum(other[0] == path[0] for other in options) > 1
        return f"`pellucid {' '.join(path[:1] if several else path)} ... {option}`"
    return None


def _option_of(command: Any, parameter: Parameter) -> str | None:
    name = _renamed_parameters().get(parameter.name, parameter.name)
    for option in command.params:
        if isinstance(option, TyperOption) and (option.name == name or f"--{name}" in option.opts):
            return _typed(option, parameter.value)
    return None


def _renamed_parameters() -> dict[str, str]:
    """Names of options by the parameters that they set, where these have other names."""
    groups = [
        group
        for domain in domains().values()
        for group in (domain.Reading, domain.Settings, domain.Predicting, domain.Explaining)
    ]
    return {option.parameter: option.name for group in groups for option in options_of(group) if option.parameter}


def _typed(option: TyperOption, value: Any) -> str:
    long = max(option.opts, key=lambda word: word.startswith("--"))
    if value is ... or value is True or (option.is_flag and value is not False):
        return long
    if value is False:
        return option.secondary_opts[0] if option.secondary_opts else f"no {long}"
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    # A value that begins with a dash would be taken for an option.
    return f"{long}{'=' if text.startswith('-') else ' '}{shlex.quote(text)}"


def _commands(command: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """All commands, each with the words that are typed for it."""
    if not isinstance(command, TyperGroup):
        return [(path, command)]
    return [pair for name, inner in command.commands.items() for pair in _commands(inner, (*path, name))]


# -- from the options of domains to those of commands ------------------------------------------------------------


def domain_options(groups: Sequence[type[Options]]) -> list[inspect.Parameter]:
    """Options of one domain as parameters of a command."""
    return [_parameter(option, option.help, option.default) for group in groups for option in options_of(group)]


def shared_options(groups: OptionGroups) -> list[inspect.Parameter]:
    """Options for a trained model of any domain as parameters of a command, each once; None unless it is typed."""
    owners: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    capable = [domain for domain in domains().values() if groups(domain)]
    for domain in capable:
        for group in groups(domain):
            for option in options_of(group):
                if not option.training_only:
                    owners.setdefault(option.name, []).append(domain.name)
                    as_trained = group is domain.Reading and option.saved
                    text = _AS_TRAINED if as_trained else option.default_text or str(option.default or "") or None
                    options.setdefault(option.name, replace(option, default_text=text))
    parameters = []
    for name, option in options.items():
        text = option.help
        if len(owners[name]) < len(capable):
            text = f"{', '.join(owners[name]).capitalize()}: {text[:1].lower()}{text[1:]}"
        parameters.append(_parameter(option, text, None))
    return parameters


def _parameter(option: Option, text: str, default: Any) -> inspect.Parameter:
    """An option as typer declares it, in the signature of a command."""
    flags = option.flags or (f"--{option.name.replace('_', '-')}",)
    kind: Any = option.type
    if kind is bool and option.default is None:
        flags = (f"{flags[0]}/--no-{flags[0].removeprefix('--')}",)
    if option.repeated:
        kind, default = list[str], list(default) if default else None
    metavar = None if kind is bool else option.metavar or _metavar(option)
    declaration = typer.Option(
        *flags, help=text, metavar=metavar, show_default=option.default_text or default is not None, min=option.minimum
    )
    kind = kind if default is not None else kind | None
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, declaration], default=default
    )


def _metavar(option: Option) -> str:
    if option.choices:
        return "|".join(option.choices)
    return _METAVARS.get(option.type, "TEXT")


def argument(name: str, kind: type, text: str, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """An argument of a command, such as a file; required unless it has a default."""
    declaration = typer.Argument(metavar=name.upper(), help=text)
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, declaration], default=default
    )


def with_options(
    function: Callable[..., None], options: Sequence[inspect.Parameter], **fixed: Any
) -> Callable[..., None]:
    """A command with further options, whose values the function gets as the dictionary `values`.

    Parameters
    ----------
    function : callable
        Takes `values`, and arguments and options of its own; help shows the latter last.
    options : sequence of inspect.Parameter
        The further options.
    **fixed : object
        Values for parameters of the function that users do not type.
    """
    signature = inspect.signature(function, eval_str=True)
    declared = {name: p for name, p in signature.parameters.items() if name != "values" and name not in fixed}
    required = [p for p in declared.values() if p.default is inspect.Parameter.empty]
    optional = [p for p in declared.values() if p.default is not inspect.Parameter.empty]
    ordered = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*required, *options, *optional)]

    def command(**typed: Any) -> None:
        arguments = {name: typed.pop(name) for name in declared}
        function(values=typed, **fixed, **arguments)

    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    command.__doc__, command.__name__ = function.__doc__, function.__name__
    return command


def check_options(domain: AnyDomain, values: Mapping[str, Any], groups: OptionGroups) -> None:
    """Refuse options that models of this domain do not have.

    Parameters
    ----------
    domain : Domain
        The domain of the model.
    values : mapping of str to object
        The values typed; None stands for an option that was not.
    groups : callable
        As in `shared_options`.
    """
    names = _names(domain, groups)
    for name, value in values.items():
        if value is not None and name not in names:
            others = [other.name for other in domains().values() if name in _names(other, groups)]
            raise InputError(
                f"{Parameter(name)} is for {' and '.join(others)}",
                got=domain.model_noun,
                cure="leave it out",
                parameter=name,
            )


def _names(domain: AnyDomain, groups: OptionGroups) -> set[str]:
    return {option.name for group in groups(domain) for option in options_of(group) if not option.training_only}
