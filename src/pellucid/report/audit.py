"""The report of an audit: how transparent a finished predictor is, and where least and most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.errors import InputError
from pellucid.numbers import counted, decimals
from pellucid.report.charts import histogram
from pellucid.report.numbers import NOTHING, fixed, number, percent
from pellucid.report.page import render, write_page

if TYPE_CHECKING:
    from markupsafe import Markup

    from pellucid.auditing.core import Audit
    from pellucid.comparing import FamilyComparison

# Neighborhoods at either end that are shown; of fewer than eight none is called the least or the most trustworthy.
_SHOWN, _FEW = 5, 8


def write_audit(
    audit: Audit,
    path: str | Path,
    *,
    title: str = "Audit",
    names: Sequence[str] | None = None,
    level: float = 0.9,
    text: Callable[[int], str] | None = None,
    conditions: Sequence[tuple[str, str]] = (),
    columns: Sequence[tuple[str, str, str]] = (),
    candidates: tuple[Sequence[str], Sequence[tuple[str, Sequence[tuple[str, bool]]]], str] | None = None,
) -> Path:
    """Write an audit as one HTML file: its table, all distances, the worst and the best neighborhoods.

    Parameters
    ----------
    audit : Audit
        What `pellucid.audit` found.
    path : str or Path
        Of the HTML file.
    title : str
        What was audited.
    names : sequence of str, optional
        What the centers of the neighborhoods are called, in their order; by default their numbers.
    level : float
        Confidence of the bounds.
    text : callable, optional
        The witness of a neighborhood, given by its place, in words; by default as it prints.
    conditions : sequence of (str, str)
        What was audited and how, as names and values: ("family", "linear"), ("neighborhoods", "15 nearest").
    columns : sequence of (str, str, str)
        Of the table that was audited: name, what it was taken for, and why or how.
    candidates : (sequence of str, sequence of (str, sequence of (str, bool)), str), optional
        Settings that were compared: a title for each column; for each row a title and cells, each a text and whether
        it was chosen; and what they say.
    """
    count = len(audit.deviations)
    if names is not None and len(names) != count:
        raise InputError(f"There must be a name for each of the {count} neighborhoods", got=f"{len(names)} names")
    order = np.argsort(-audit.relative(), kind="stable").tolist()
    if count < _FEW:
        groups = [("All neighborhoods, the largest distance first", order)]
    else:
        worst = order[:_SHOWN]
        best = [i for i in order[::-1] if i not in worst][:_SHOWN]
        groups = [("Least trustworthy", worst), ("Most trustworthy", best)]
    view = _viewer(audit, level, names, text)
    return write_page(
        path,
        "audit.html",
        kind="audit",
        title=title,
        **_common(audit, level),
        conditions=conditions,
        columns=columns,
        candidates=candidates,
        rows=bool(names) and all(name.startswith("row") for name in names or ()),
        groups=[(name, [view(i) for i in group]) for name, group in groups],
    )


def fragment(audit: Audit, level: float = 0.9) -> Markup:
    """An audit as a piece of HTML with its own styles and without scripts: for notebooks."""
    return render("audit_fragment.html", **_common(audit, level))


def _viewer(
    audit: Audit, level: float, names: Sequence[str] | None, text: Callable[[int], str] | None
) -> Callable[[int], dict[str, Any]]:
    """A function that returns the content of the card of a neighborhood, by its index."""
    witnesses, hoods = audit.witnesses, audit.witnesses.hoods
    bound, relative, outputs = audit.bound(level), audit.relative(), _outputs(audit)
    rmse = audit.rmse_by_output
    predicted = witnesses.f[hoods.centers].double().cpu().numpy()
    approximations = audit.at_centers.double().cpu().numpy()
    # Prediction and witness with the digits that tell them apart from others.
    digits = [decimals(witnesses.f[:, k].tolist()) for k in range(len(outputs))]

    def view(i: int) -> dict[str, Any]:
        witness = witnesses[i]
        return {
            "name": f"point {witness.center}" if names is None else names[i],
            "distance": number(float(relative[i]), 2),
            "size": witness.size,
            "rows": [
                (
                    name,
                    fixed(predicted[i, k], digits[k]),
                    fixed(approximations[i, k], digits[k]),
                    number(float(rmse[i, k]), 2),
                    number(float(bound[i, k]), 2) if np.isfinite(bound[i, k]) else "not known",
                )
                for k, name in enumerate(outputs)
            ],
            "text": witness.text() if text is None else text(i),
        }

    return view


def _common(audit: Audit, level: float) -> dict[str, Any]:
    summary = audit.to_dict(level)
    sizes = audit.witnesses.hoods.sizes.cpu().numpy()
    relative, outputs = audit.relative(), _outputs(audit)
    quantiles = summary["held_out_deviation_quantiles"]
    held_out, caution = summary["held_out_variance_explained"], audit.caution()
    several = len(outputs) > 1
    pooled = "; of all outputs together, in their own units" if several else ""
    # One of the outputs: they differ in their units.
    output, bound = next(((k, b) for k, b in enumerate(summary["bound"]) if b is not None), (0, None))
    confidence = f"with {percent(level)} confidence"
    return {
        "caution": f"{caution[0].upper()}{caution[1:]}." if caution else "",
        "trust": _trust(audit, summary["bound"], level),
        "level": percent(level),
        "outputs": outputs,
        "families": None if audit.comparison is None else _families(audit.comparison),
        "histogram": histogram({"distance": relative.tolist()}, "mean distance, in standard deviations"),
        "tiles": [
            {
                "name": "Variance explained",
                "value": percent(summary["explained_where_fitted"], 0),
                "note": "at the members fitted to",
            }
            if held_out is None
            else {
                "name": "Held-out variance explained",
                "value": percent(held_out, 0),
                "note": f"at members not fitted to; {percent(summary['explained_where_fitted'], 0)} at those fitted to",
            },
            {
                "name": "Distance, median",
                "value": f"{number(float(np.median(relative)), 2)}\u00a0sd",
                "note": f"of predictor and witness; worst {number(float(relative.max()), 2)}\u00a0sd",
            },
            {
                "name": f"Trust bound, {outputs[output]}" if several else "Trust bound",
                "value": number(bound, 2),
                "note": f"not known {confidence}"
                if bound is None
                else confidence + ("; the others above" if several else ""),
            },
        ],
        "table": [
            ("Held-out variance explained", percent(held_out, 1),
             "of the predictor's inside the neighborhoods, at members that the witness was not fitted to: the honest "
             "one; zero is no better than a constant"),
            ("Variance explained where fitted", percent(summary["explained_where_fitted"], 1),
             "at the members that the witnesses were fitted to: high even for noise"),
            ("Neighborhoods", number(summary["neighborhoods"]), ""),
            ("Members", f"{np.median(sizes):g}", f"median; the largest has {sizes.max():g}"),
            ("Held-out deviation, mean", number(summary["held_out_deviation"]),
             f"of predictor and witness at members that the witness was not fitted to{pooled}"),
            ("Held-out deviation, quantiles", f"{number(quantiles['5%'])} {NOTHING} {number(quantiles['95%'])}",
             f"from 5 % to 95 %; the largest is {number(quantiles['100%'])}"),
            ("Deviation where fitted, mean", number(summary["deviation_where_fitted"]),
             f"at the members that the witnesses were fitted to{pooled}"),
            ("RMSE at the centers", number(summary["rmse_at_centers"]), f"of predictor and witness{pooled}"),
            ("Pairs ordered alike, locally", percent(summary["auc_local"], 1), "generalized AUC inside neighborhoods"),
            ("Pairs ordered alike, globally", percent(summary["auc_global"], 1), "generalized AUC over all centers"),
        ],
    }  # fmt: skip


def _families(comparison: FamilyComparison) -> tuple[list[str], list[tuple[str, list[tuple[str, bool]]]], str]:
    """What each family explains: head, rows of cells with whether they were chosen, and what the numbers are."""
    lines = [
        (score.name, [(percent(score.held_out, 1), score.chosen), (percent(score.where_fitted, 1), False)])
        for score in comparison.scores
    ]
    about = (
        f"Variance explained in {counted(len(comparison.used), 'neighborhood')}, at members that the witness was not "
        "fitted to and at those it was. Chosen is the family that holds best at the former."
    )
    if comparison.others is not None:
        about += f" All other numbers for held-out members come from the {len(comparison.others)} other neighborhoods."
    return ["held out", "where fitted"], lines, about


def _trust(audit: Audit, bounds: Sequence[float | None], level: float) -> str:
    """The sentence of the trust number, with a bound for each output."""
    if all(bound is None for bound in bounds):
        return f"{audit.why_not(level).replace('how far it', 'How far a witness', 1).replace('`', '')}."
    named = list(zip(bounds, _outputs(audit), strict=True))
    texts = [number(bound, 2) + (f" ({name})" if len(named) > 1 else "") for bound, name in named if bound is not None]
    rest = ", ".join(name for bound, name in named if bound is None)
    return (
        f"With {percent(level)} confidence a witness is within {', '.join(texts)} of the predictor at a further point "
        f"of its neighborhood that it was not fitted to (median; calibrated on "
        f"{counted(len(audit.calibration), 'neighborhood')} with members held out)"
        + (f"; not known for {rest}." if rest else ".")
    )


def _outputs(audit: Audit) -> list[str]:
    count = audit.witnesses.f.shape[1]
    return list(audit.witnesses.output_names or ([""] if count == 1 else [f"f{k}" for k in range(count)]))
