"""`pellucid compare`: two runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from pellucid.cli.options import OptionGroups, check_options, shared_options, with_options
from pellucid.cli.output import DIGITS, counted_samples, has_viewer, measure_rows, say, warn
from pellucid.errors import InputError
from pellucid.numbers import number
from pellucid.options import Option, options_of
from pellucid.registry import AnyDomain
from pellucid.summaries import MODEL_FOLDERS, ModelSummary, RunSummary
from pellucid.text_tables import aligned

# Outputs whose bounds are compared.
_OUTPUTS = 6
_GROUPS: OptionGroups = lambda domain: (domain.Reading,)  # noqa: E731 - as short as its type


def compare_command() -> Callable[..., None]:
    """The command, with the options of all domains."""
    return with_options(compare, shared_options(_GROUPS))


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="The folder of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="The folder of another.")],
    values: Any,
    data: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Measure the models of both on this file or folder instead."),
    ] = None,
) -> None:
    """Compare two runs: accuracy, transparency and trust, each on its own test data, or both on the same data."""
    from pellucid import runs, summaries
    from pellucid.paths import readable_again
    from pellucid.registry import domain_named
    from pellucid.verdicts import few_tests, unexplained

    folders = {"A": first, "B": second}
    records = {letter: summaries.read(folder) for letter, folder in folders.items()}
    a, b = records.values()
    if a.kind != b.kind or a.outputs != b.outputs:
        raise InputError(
            "Two runs can be compared if they have the same outputs",
            got=f"{a.kind} ({', '.join(a.outputs)}) and {b.kind} ({', '.join(b.outputs)})",
            cure="choose others",
        )
    domain = domain_named(a.kind)
    check_options(domain, values, _GROUPS)
    models = {f"{letter}: {name}": model for letter, record in records.items() for name, model in record.models.items()}
    notes: list[str] = []
    if data is None:
        title = "on the test data of each"
        _warn_unless_same(runs.same_test_data(a, b))
    else:
        with readable_again(data) as file:
            tests = {
                f"{letter}: {name}": _evaluate(domain, folders[letter], name, file, values)
                for letter, record in records.items()
                for name in record.models
            }
        models = {name: test.summary for name, test in tests.items()}
        sizes = sorted({test.size for test in tests.values()})
        title = f"on {' or '.join(f'{size:,}' for size in sizes[:-1])}{' or ' if sizes[:-1] else ''}"
        title += f"{counted_samples(sizes[-1], domain)} of {data.name}"
        notes = few_tests(min(test.tested for test in tests.values()))
        for sentence in dict.fromkeys(test.rejections for test in tests.values() if test.rejections):
            warn(f"{data.name}: {sentence}.")
    say(f"A = {first} ({_game(domain, a)})\nB = {second} ({_game(domain, b)})\n")
    rows = measure_rows(models, a.measures)
    if data is None:
        rows += _bound_rows(records)
    say(aligned([title, *models], rows))
    for sentence in [*unexplained(models, domain.unexplained, domain.cure), *notes]:
        say(f"note: {sentence}")
    settings, others = (_settings(domain, folders[letter], record) for letter, record in records.items())
    settings, others = _flat(settings), _flat(others)
    differences = [
        f"{name}: {value} and {others.get(name)}"
        for name, value in settings.items()
        if name not in others or value != others[name]
    ]
    if differences:
        say("\nsettings that differ: " + "; ".join(differences))


def _warn_unless_same(same: bool | None) -> None:
    if same is None:
        warn(
            "Whether the runs were tested on the same data is not known, as an earlier version wrote one of them: "
            "differences may come from the data; use --data."
        )
    elif not same:
        warn("The runs were tested on different data, so differences may come from the data; use --data.")


class _Test(NamedTuple):
    """The scores of a model on other data, and what of these it was measured on."""

    summary: ModelSummary
    size: int
    """Number of `Domain.samples`."""
    tested: int
    rejections: str | None


def _evaluate(domain: AnyDomain, folder: Path, name: str, data: Path, values: Mapping[str, Any]) -> _Test:
    """Scores of a model of a run on other data."""
    from pellucid import registry, runs
    from pellucid.bounds import LEVEL

    _, saved_model = registry.find_model(folder, MODEL_FOLDERS[name])
    model = domain.load(saved_model)
    test = domain.read(data, runs.load_reading(domain, folder, values), model)
    evaluation = domain.evaluate(model, test, progress=has_viewer())
    summary = ModelSummary(scores=runs.scores(evaluation, LEVEL))
    return _Test(summary, domain.size(test), evaluation.tested, domain.rejection_text(test))


def _bound_rows(records: Mapping[str, RunSummary]) -> list[list[str]]:
    """A row for the bounds of each output, with the models of both runs as columns."""
    columns = [
        record.trust.bound.get(name, ()) if record.trust else ()
        for record in records.values()
        for name in record.models
    ]
    outputs = next(iter(records.values())).outputs[:_OUTPUTS]
    return [
        [
            f"bound of {output} (lower is better)",
            *(number(bounds[k] if k < len(bounds) else None, DIGITS) for bounds in columns),
        ]
        for k, output in enumerate(outputs)
    ]


def _settings(domain: AnyDomain, folder: Path, summary: RunSummary) -> dict[str, Any]:
    """Settings of the models, of the split, and of the reading of files."""
    from pellucid import runs

    split = {"split": summary.data.split} if summary.data.split else {}
    values = asdict(runs.load_reading(domain, folder, {}))
    reading = {_typed_name(option): values[option.name] for option in options_of(domain.Reading) if option.saved}
    return {**summary.settings, **split, **reading}


def _flat(settings: Mapping[str, Any], of: str = "") -> dict[str, Any]:
    """Settings within settings by names of their own: "analogs of similar"."""
    result: dict[str, Any] = {}
    for name, value in settings.items():
        title = f"{name} of {of}" if of else name
        result |= _flat(value, title) if isinstance(value, Mapping) else {title: value}
    return result


def _typed_name(option: Option) -> str:
    """The option as it is typed, without hyphens in front."""
    return option.flags[0].removeprefix("--") if option.flags else option.name


def _game(domain: AnyDomain, summary: RunSummary) -> str:
    game = summary.settings.get("game")
    if game is None:
        return "no game"
    strength = domain.strength_parameter(replace(domain.Settings(), game=game)) or "weight"
    held_out = "held-out " if summary.settings.get("held_out_game") else ""
    value = summary.settings.get(strength)
    return f"{held_out}{game} game" + (f", {strength} {value:g}" if isinstance(value, int | float) else "")
