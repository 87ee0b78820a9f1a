"""What commands print: plain text, in which nothing that users typed is markup."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pellucid.domains import Domain
from pellucid.numbers import counted, number, percent
from pellucid.summaries import MODEL_FOLDERS, BaselineSummary, Measure, ModelSummary, RunSummary, TradeOff
from pellucid.text_tables import aligned, printable

Folder = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a run, or of a saved model.")]
Which = Annotated[
    str | None,
    typer.Option("--model", metavar="|".join(MODEL_FOLDERS.values()), help="Which model of a run."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
KEPT = "\n\t"
"""Control characters that are printed; all others are written out."""
DIGITS = 4
"""The significant digits of scores."""
# The length of the bars of deviations, and the outputs whose bounds a line has room for.
_BAR, _OUTPUTS = 30, 6


def say(text: str, *, apart: bool = False) -> None:
    """Print a line on the standard output, at once; or apart from it, on stderr, where the output is a file's."""
    typer.echo(printable(text, keep=KEPT), err=apart)


def warn(text: str) -> None:
    """Print a line on stderr."""
    typer.echo(f"pellucid: {printable(text, keep=KEPT)}", err=True)


def has_viewer(quiet: bool = False) -> bool:
    """Whether somebody sees a progress bar."""
    return not quiet and sys.stderr.isatty()


def summary_text(summary: RunSummary, domain: Domain[Any, Any]) -> str:
    """Each measure of every model on the test data, the trust number, and what to know besides."""
    models: dict[str, ModelSummary | BaselineSummary] = dict(summary.models)
    models |= {baseline.title: baseline for baseline in summary.baselines}
    head = f"on {counted_samples(summary.data.parts['test'], domain, 'test ')}"
    lines = [aligned([head, *models], measure_rows(models, summary.measures)), *_trust_lines(summary, domain.points)]
    if summary.trade_off:
        lines += ["", trade_off_text(summary.trade_off)]
    lines += [f"{baseline.title}: {baseline.about}" for baseline in summary.baselines]
    return "\n".join([*lines, *(f"note: {sentence}" for sentence in summary.verdict)])


def counted_samples(count: int, domain: Domain[Any, Any], kind: str = "") -> str:
    """A number of samples of a domain, whose noun is a plural."""
    return counted(count, f"{kind}{domain.samples.removesuffix('s')}", f"{kind}{domain.samples}")


def measure_rows(models: Mapping[str, ModelSummary | BaselineSummary], measures: Sequence[Measure]) -> list[list[str]]:
    """A row per measure that at least one model has."""
    return [
        [measure.title if measure.better == "neither" else f"{measure.title} ({measure.better} is better)",
         *(number(model.scores.get(measure.key), DIGITS) for model in models.values())]
        for measure in measures
        if any(model.scores.get(measure.key) is not None for model in models.values())
    ]  # fmt: skip


def _trust_lines(summary: RunSummary, points: str) -> list[str]:
    trust, name = summary.trust, summary.main
    if trust is None or name is None:
        return []
    cells = zip(summary.outputs, trust.bound.get(name, ()), trust.coverage.get(name, ()), strict=False)
    calibrated = [(output, bound, share) for output, bound, share in cells if bound is not None and share is not None]
    if not calibrated:
        from pellucid.trust import no_bound_reason  # heavy: it imports torch

        return [f"trust: {no_bound_reason(trust.level, trust.calibrated)}"]
    missing = len(summary.outputs) - len(calibrated)
    if len(summary.outputs) == 1:
        ((output, bound, _),) = calibrated
        bounds, note = f"{bound:.3g} ({output}, median)", ""
    else:
        more = ", ..." if len(calibrated) > _OUTPUTS else ""
        bounds = ", ".join(f"{bound:.3g} ({output})" for output, bound, _ in calibrated[:_OUTPUTS]) + more
        note = f" (medians{f'; not known for {missing} more' if missing else ''})"
    coverage = sum(share for _, _, share in calibrated) / len(calibrated)
    return [
        f"trust: with {percent(trust.level)} confidence, {name}'s witness is within {bounds} of the network at a "
        f"nearby {points.removesuffix('s')}{note};",
        f"       this held in {percent(coverage, 0)} of {trust.tested} test neighborhoods; it is not the prediction's "
        "error",
    ]


def trade_off_text(costs: TradeOff) -> str:
    """The weights that were tried."""
    longest = max(trial.deviation for trial in costs.trials) or 1.0
    rows = []
    for trial in costs.trials:
        mark = "DEEP" if trial.weight is None else "chosen" if trial.weight == costs.chosen else ""
        mark = mark or ("" if trial.loss <= costs.limit else "too costly")
        bar = "#" * max(1, round(_BAR * trial.deviation / longest))
        weight = "none" if trial.weight is None else f"{trial.weight:g}"
        rows.append([weight, f"{trial.loss:.4f}", f"{trial.deviation:.4f}", f"{bar:<{_BAR}}", mark])
    head = ["weight", "loss", "deviation", f"{'':<{_BAR}}", ""]
    note = f"validation data; a loss of up to {costs.limit:.4f} is allowed, {percent(costs.tolerance)} above DEEP's"
    if not costs.within:
        note += "\nno weight stays within it: the least costly one was taken; try smaller weights or more epochs"
    elif costs.best and costs.deep and costs.best.deviation >= costs.deep.deviation:
        note += "\nno weight within it is more transparent than DEEP; try more epochs"
    return f"{aligned(head, rows)}\n{note}"
