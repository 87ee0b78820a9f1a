"""The report of an audit: how transparent a finished predictor is, and where least and most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.errors import InputError
from pellucid.report.charts import histogram
from pellucid.report.numbers import NOTHING, number, percent
from pellucid.report.page import render, write_page

if TYPE_CHECKING:
    from markupsafe import Markup

    from pellucid.auditing import Audit

# Neighborhoods at either end that are shown.
_SHOWN = 5


def write_audit(
    audit: Audit,
    path: str | Path,
    *,
    title: str = "Audit",
    names: Sequence[str] | None = None,
    level: float = 0.9,
    text: Callable[[int], str] | None = None,
) -> Path:
    """Write an audit as one HTML file: its table, all deviations, the worst and the best neighborhoods.

    Parameters
    ----------
    audit : what `pellucid.audit` found.
    path : of the HTML file.
    title : what was audited.
    names : what the centers of the neighborhoods are called, in their order; by default their numbers.
    level : confidence of the bounds.
    text : the witness of a neighborhood, given by its place, in words; by default as it prints.
    """
    count = len(audit.deviations)
    if names is not None and len(names) != count:
        raise InputError(f"There must be a name for each of the {count} neighborhoods. Got {len(names)} names.")
    bound = audit.bound(level)
    order = audit.worst(count)
    worst = order[:_SHOWN]
    best = [i for i in order[::-1] if i not in worst][:_SHOWN]

    def view(i: int) -> dict[str, Any]:
        witness = audit.witnesses[i]
        return {
            "name": f"point {witness.center}" if names is None else names[i],
            "deviation": number(float(audit.deviations[i])),
            "rmse": number(witness.rmse),
            "size": witness.size,
            "bound": None if np.isnan(bound[i]).any() else ", ".join(number(v, 2) for v in bound[i].tolist()),
            "text": witness.text() if text is None else text(i),
        }

    return write_page(
        path,
        "audit.html",
        kind="audit",
        title=title,
        **_common(audit, level),
        histogram=histogram({"deviation": audit.deviations.tolist()}),
        groups=[(name, [view(i) for i in group]) for name, group in (("Least", worst), ("Most", best)) if group],
    )


def fragment(audit: Audit, level: float = 0.9) -> Markup:
    """An audit as a piece of HTML with its own styles and without scripts: for notebooks."""
    chart = histogram({"deviation": audit.deviations.tolist()})
    return render("audit_fragment.html", **_common(audit, level), histogram=chart)


def _common(audit: Audit, level: float) -> dict[str, Any]:
    found = audit.to_dict(level)
    sizes = audit.witnesses.hoods.sizes.cpu().numpy()
    known = len(audit.calibration) if found["bound"] is not None else 0
    if found["bound"] is None:
        trust = (
            f"How far the witnesses can be trusted with {percent(level)} confidence is not known: there are too few "
            "neighborhoods of three members or more."
        )
    else:
        trust = (
            f"With {percent(level)} confidence a witness is within {number(found['bound'], 2)} of the predictor at a "
            f"further point of its neighborhood that it was not fitted to (median; calibrated on {known} neighborhoods "
            "with one member held out)."
        )
    quantiles = found["deviation_quantiles"]
    worst = number(quantiles["100%"])
    return {
        "trust": trust,
        "tiles": [
            {"name": "Deviation, median", "value": number(quantiles["50%"]), "note": f"worst {worst}"},
            {"name": "Variance explained", "value": percent(found["explained"]), "note": "by the witnesses"},
            {"name": "Trust bound", "value": number(found["bound"], 2), "note": f"with {percent(level)} confidence"},
        ],
        "table": [
            ("Neighborhoods", number(found["neighborhoods"]), ""),
            ("Members", f"{np.median(sizes):g}", f"median; the largest has {sizes.max():g}"),
            ("Deviation, mean", number(found["deviation"]), "of predictor and witness over the members"),
            ("Deviation, quantiles", f"{number(quantiles['5%'])} {NOTHING} {number(quantiles['95%'])}",
             f"from 5 % to 95 %; the largest is {worst}"),
            ("RMSE at the centers", number(found["rmse_at_centers"]), "of predictor and witness"),
            ("Variance explained", percent(found["explained"], 1), "of the predictor's inside the neighborhoods"),
            ("Pairs ordered alike, locally", percent(found["auc_local"], 1), "generalized AUC inside neighborhoods"),
            ("Pairs ordered alike, globally", percent(found["auc_global"], 1), "generalized AUC over all centers"),
        ],
    }  # fmt: skip
