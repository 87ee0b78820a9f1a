"""Options of commands, made from the settings that domains declare; see `pellucid.options`."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from pellucid.errors import InputError, Parameter, written_as
from pellucid.options import NoOptions, Option, options_of
from pellucid.registry import AnyDomain, domains

Role: TypeAlias = Callable[[AnyDomain], Sequence[type[NoOptions]]]
"""Which settings of a domain a command uses, such as `lambda domain: (domain.Reading, domain.Predicting)`."""
Settings = TypeVar("Settings", bound=NoOptions)
_AS_TRAINED = "as the model's"
_METAVARS = {int: "N", float: "NUMBER", str: "TEXT", Path: "PATH"}


class Command(TyperCommand):
    """A command in whose sentences parameters of the library are written as options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        commands = [self, *_commands(ctx.find_root().command)]
        with written_as(lambda parameter: as_option(parameter, commands)):
            return super().invoke(ctx)


def as_option(parameter: Parameter, commands: Sequence[Any]) -> str | None:
    """A parameter as it is typed: as an option of the first command that has it; None if none does."""
    name = _other_names().get(parameter.name, parameter.name)
    for command in commands:
        for option in command.params:
            if option.name == name and isinstance(option, TyperOption):
                return _typed(option, parameter.value)
    return None


def _other_names() -> dict[str, str]:
    """Names of options by those of the parameters that they set, where these differ."""
    settings = [kind for domain in domains().values() for kind in (domain.Reading, domain.Settings)]
    return {o.words.parameter: o.name for kind in settings for o in options_of(kind) if o.words.parameter}


def _typed(option: TyperOption, value: Any) -> str:
    long = max(option.opts, key=lambda word: word.startswith("--"))
    if value is ... or value is True or (option.is_flag and value is not False):
        return long
    if value is False:
        return option.secondary_opts[0] if option.secondary_opts else f"no {long}"
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return f"{long} {shlex.quote(text)}"


def _commands(command: Any) -> list[Any]:
    if not isinstance(command, TyperGroup):
        return [command]
    return [leaf for inner in command.commands.values() for leaf in _commands(inner)]


# -- from settings to options ---------------------------------------------------------------------------------------


def declared(settings: type[NoOptions]) -> list[inspect.Parameter]:
    """Settings as parameters of a command."""
    return [_parameter(option, option.words.help, option.default) for option in options_of(settings)]


def declared_by_domains(role: Role) -> list[inspect.Parameter]:
    """What a trained model of any domain can be asked with, each option once; None where nothing is typed.

    Parameters
    ----------
    role : callable
        The settings of a domain that the command uses.
    """
    every = {name: domain for name, domain in domains().items() if role(domain)}
    owners: dict[str, list[str]] = {}
    options: dict[str, Option] = {}
    shown: dict[str, str | None] = {}
    for name, domain in every.items():
        for settings in role(domain):
            for option in options_of(settings):
                if not option.words.once:
                    owners.setdefault(option.name, []).append(name)
                    options.setdefault(option.name, option)
                    kept = settings is domain.Reading and option.words.kept
                    default = option.words.default or (str(option.default) if option.default else None)
                    shown.setdefault(option.name, _AS_TRAINED if kept else default)
    parameters = []
    for name, option in options.items():
        text = option.words.help
        if len(owners[name]) < len(every):
            text = f"{', '.join(owners[name]).capitalize()}: {text[:1].lower()}{text[1:]}"
        parameters.append(_parameter(option, text, None, shown[name]))
    return parameters


def _parameter(option: Option, text: str, default: Any, shown: str | None = None) -> inspect.Parameter:
    words = option.words
    long = f"--{option.name.replace('_', '-')}"
    names = words.names or (long,)
    kind: Any = option.type
    if kind is bool and option.default is None:
        names = (f"{names[0]}/--no-{names[0].removeprefix('--')}",)
    if option.repeated:
        kind, default = list[str], list(default) if default else None
    if kind is not bool:
        kind, metavar = (kind if default is not None else kind | None), words.metavar or _metavar(option)
    else:
        kind, metavar = (bool if default is not None else bool | None), None
    show = shown or words.default or default is not None
    declaration = typer.Option(*names, help=text, metavar=metavar, show_default=show, min=words.minimum)
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, declaration], default=default
    )


def _metavar(option: Option) -> str:
    if option.choices:
        return "|".join(option.choices)
    return _METAVARS.get(option.type, "TEXT")


def argument(name: str, kind: type, text: str) -> inspect.Parameter:
    """What a command needs, such as a file."""
    declaration = typer.Argument(metavar=name.upper(), help=text)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, declaration])


def command_of(
    function: Callable[..., None], options: Sequence[inspect.Parameter], **fixed: Any
) -> Callable[..., None]:
    """A command from a function and options that are not in its signature: it gets them as a dictionary, `values`.

    Parameters
    ----------
    function : callable
        Takes arguments, `values`, and options of its own, which help shows last.
    options : sequence of inspect.Parameter
        The others.
    **fixed : object
        Parameters of the function that are no options.
    """
    signature = inspect.signature(function, eval_str=True)
    own = {name: p for name, p in signature.parameters.items() if name != "values" and name not in fixed}
    required = [p for p in own.values() if p.default is inspect.Parameter.empty]
    optional = [p for p in own.values() if p.default is not inspect.Parameter.empty]
    ordered = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*required, *options, *optional)]

    def command(**typed: Any) -> None:
        values = {name: value for name, value in typed.items() if name not in own}
        function(values=values, **fixed, **{name: value for name, value in typed.items() if name in own})

    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in ordered}
    command.__doc__, command.__name__ = function.__doc__, function.__name__
    return command


# -- from options to settings ---------------------------------------------------------------------------------------


def settings_from(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Settings with the values that were typed."""
    names = {option.name for option in options_of(kind)}
    return kind(**{name: _frozen(value) for name, value in values.items() if name in names and value is not None})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def require_options(domain: AnyDomain, values: Mapping[str, Any], role: Role) -> None:
    """Refuse options that a model of this domain does not have.

    Parameters
    ----------
    domain : Domain
        The domain of the model.
    values : mapping of str to object
        What was typed; None is nothing.
    role : callable
        As in `declared_by_domains`.
    """
    names = _names(domain, role)
    for name, value in values.items():
        if value is not None and name not in names:
            others = [other.name for other in domains().values() if name in _names(other, role)]
            raise InputError(
                f"{Parameter(name)} is for {' and '.join(others)}",
                got=f"a model of the domain {domain.name}",
                cure="leave it out",
                parameter=name,
            )


def _names(domain: AnyDomain, role: Role) -> set[str]:
    return {option.name for settings in role(domain) for option in options_of(settings) if not option.words.once}
