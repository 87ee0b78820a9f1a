"""Runs on tables of molecules: DEEP and GAME side by side, from a table to a report. See `pellucid.runs`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from rdkit.Chem.Scaffolds import MurckoScaffold

from pellucid import runs
from pellucid.errors import InputError, Parameter
from pellucid.molecules.explanation import MoleculeExplanation
from pellucid.molecules.neighborhoods import SimilarityRule
from pellucid.molecules.property_model import PropertyModel
from pellucid.molecules.run_measures import measures, scores_of
from pellucid.molecules.table import Molecules
from pellucid.trust import LEVEL, check_level

# Share of molecules with more than two similar ones above which a table needs no analogs.
_DENSE = 0.7
# Molecules of the test whose explanations are made, to show the extremes of.
_EXPLAINED = 300


def task_of(y: np.ndarray) -> Literal["classification", "regression"]:
    """What is to be learned: labels, where there is nothing but 0 and 1, or measured values."""
    known = y[~np.isnan(y)]
    return "classification" if np.isin(known, (0.0, 1.0)).all() else "regression"


def density(smiles: Sequence[str]) -> float:
    """The share of molecules with more than two members in their neighborhoods, analogs not counted."""
    similar = SimilarityRule(analogs=False)
    around = similar.around(smiles, smiles, similar.groups(smiles), progress=False)
    return float((around.hoods.sizes > 2).double().mean())


def settings_for(smiles: Sequence[str], game: str | None, *, analogs: bool | None = None) -> dict[str, Any]:
    """Settings of a `PropertyModel` that suit a table: a dense series needs no analogs, which makes training cheap.

    Parameters
    ----------
    analogs : bool, optional
        Whether neighborhoods hold analogs; by default they do where too few molecules have similar ones.
    """
    if analogs is None:
        analogs = density(smiles) < _DENSE
    if analogs:
        return {"similar": SimilarityRule()}
    return {
        "similar": SimilarityRule(analogs=False),
        "play": "banked" if game in (None, "symmetric") else "fresh",
        "criterion": "squared",
        "delta": -1,
        "weight": 1.0,
        "width": 200,
        "epochs": 60,
        "batch_size": 32,
        "learning_rate": 3e-3,
    }


def parts_of(table: Molecules, seed: int, split: str) -> dict[str, np.ndarray]:
    """Places of the molecules that are learned from, validated on and tested on."""
    if split == "random":
        return runs.parts_of(len(table), seed)
    if split != "scaffold":
        raise InputError(f'{Parameter("split")} must be "random" or "scaffold"', got=f"{split!r}", parameter="split")
    scaffolds: dict[str, list[int]] = {}
    for i, smiles in enumerate(table.smiles):
        ring = MurckoScaffold.MurckoScaffoldSmiles(smiles=smiles)  # type: ignore[no-untyped-call]
        scaffolds.setdefault(ring, []).append(i)
    # The largest first, so that the last parts hold rare scaffolds; equally large ones at random.
    chance = np.random.default_rng(seed).permutation(len(scaffolds))
    groups = [own for _, own in sorted(zip(chance, scaffolds.values(), strict=True), key=lambda g: (-len(g[1]), g[0]))]
    sizes = {name: len(part) for name, part in runs.parts_of(len(table), seed).items()}
    found: dict[str, list[int]] = {name: [] for name in runs.PARTS}
    for own in groups:
        room = next((name for name in runs.PARTS if len(found[name]) + len(own) <= sizes[name]), "train")
        found[room] += own
    empty = [name for name, places in found.items() if not places]
    if empty:
        raise InputError(
            "A split by scaffold needs several of them",
            got=f"{len(scaffolds)}, which leave nothing for {empty[0]}",
            cure="split at random",
        )
    return {name: np.array(places) for name, places in found.items()}


def train(
    table: Molecules,
    model: PropertyModel,
    folder: str | Path,
    *,
    title: str,
    weights: Sequence[float] = (),
    tolerance: float = runs.TOLERANCE,
    level: float = LEVEL,
    pool: Sequence[str] = (),
    names: Mapping[int, str] | None = None,
    split: Literal["random", "scaffold"] = "random",
    patience: bool = False,
    resume: bool = False,
    progress: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> dict[str, Any]:
    """Train DEEP and GAME on four fifths of a table, calibrate them on a tenth, test them on another; the summary.

    Parameters
    ----------
    model : PropertyModel
        GAME, untrained; DEEP has the same settings and no game. With `game=None` DEEP is trained alone.
    weights : sequence of float
        Try these, and keep the one that `runs.choose` finds on the validation molecules; by default the model's.
    tolerance : float
        Of this choice.
    level : float
        The confidence of the bounds.
    pool : sequence of str
        Unlabeled molecules, see `PropertyModel.fit`.
    names : mapping of int to str, optional
        What molecules are called in the report, by their rows.
    split : {"random", "scaffold"}
        "random", or "scaffold", which keeps molecules of one ring system together: a harder test, and closer to what
        happens with the next series. It is unlike what bounds were learned from, so that these are not promised.
    patience : bool
        Stop early on the validation molecules; by default all epochs are trained.
    say : callable
        Told what is going on.
    """
    folder, tolerance, level = Path(folder), runs.check_tolerance(tolerance), check_level(level)
    parts = {name: table.select(places) for name, places in parts_of(table, model.seed, split).items()}
    runs.open_folder(folder, resume=resume)
    watched = parts["validation"]

    def fit(own: PropertyModel, place: Path, begun: bool) -> PropertyModel:
        held = watched if patience else 0
        own.fit(parts["train"], validation=held, pool=pool, folder=place, resume=begun, progress=progress)
        return own.calibrate(watched, progress=progress)

    found = runs.side_by_side(
        model,
        folder,
        fit=fit,
        seen=lambda own: _seen(own, watched),
        weights=weights,
        tolerance=tolerance,
        say=say,
    )
    say("measuring on the test molecules")
    loss = "cross-entropy" if model.task == "classification" else "root mean squared error in standard deviations"
    summary = runs.summary_of(
        "molecules",
        title,
        seed=model.seed,
        data={
            "source": title,
            "description": table.summary(),
            "parts": {name: len(part) for name, part in parts.items()},
            "split": split,
            "test_digest": _digest(parts["test"]),
            **runs.left_out(table.rejected),
        },
        settings=found.shown.settings(),
        targets=list(table.targets),
        **_measured(found, parts["test"], level, names or {}, progress),
        trade_off=runs.trade_off(
            found.trials, tolerance, f"validation loss: {loss}", "mean deviation on validation neighborhoods"
        ),
    )
    from pellucid.molecules import report

    runs.write_summary(folder, summary, report.write)
    return summary


def _digest(test: Molecules) -> str:
    """A fingerprint of molecules and their measured values."""
    return runs.digest(
        json.dumps([smiles, runs.plain(values)]).encode() for smiles, values in zip(test.smiles, test.y, strict=True)
    )


def _seen(model: PropertyModel, watched: Molecules) -> tuple[float, float]:
    """Loss and deviation on validation molecules."""
    scores = model.evaluate(watched)
    return scores.loss if model.task == "classification" else scores.loss**0.5, scores.deviation or 0.0


def _measured(
    found: runs.SideBySide[PropertyModel], test: Molecules, level: float, names: Mapping[int, str], progress: bool
) -> dict[str, Any]:
    """What the test molecules say."""
    models, shown = found.models, found.shown
    scores = {name: model.evaluate(test, progress=progress) for name, model in models.items()}
    some = test.select(np.arange(min(len(test), _EXPLAINED)))
    explanations = shown.explain_many(some, level=level, progress=progress)
    fresh = {name: model.held_out(test, seed=1, progress=progress) for name, model in models.items()}
    told = {
        name: {"scores": scores_of(scores[name], models[name], test, fresh[name]), **found.notes[name]}
        for name in models
    }
    first = next(iter(scores.values()))
    lone = int((first.sizes <= 2).sum())
    small = [f"{lone} of {len(test)} test molecules have fewer than two similar ones: trees say nothing of them"]
    return {
        "measures": measures(first.measure, test),
        "models": told,
        "verdict": runs.verdict(
            told,
            tested=len(test),
            deviation="deviation",
            more=[
                *([small[0] + (", and --analogs yes helps." if not shown.similar.analogs else ".")] if lone else []),
                *runs.unexplained(told, "the trees explain nothing at molecules they were not fitted to"),
            ],
        ),
        "deviations": {name: s.variations[s.sizes > 2].tolist() for name, s in scores.items()},
        "deviation_unit": "total variation between tree and network"
        + (", a sum over the targets" if len(test.targets) > 1 else "")
        + ("" if first.measure == "AUC" else ", in standard deviations of the targets"),
        "trust": runs.trust(
            {name: model.calibration_ for name, model in models.items() if model.calibration_ is not None},
            fresh,
            {name: model.task_.scale for name, model in models.items()},
            level,
        ),
        "explanations": _shown(explanations, some, shown, names),
    }


def _shown(
    explanations: Sequence[MoleculeExplanation], test: Molecules, model: PropertyModel, names: Mapping[int, str]
) -> list[dict[str, Any]]:
    """Explanations for the report: of neighborhoods that say something, ordered by how far the tree is off."""
    large = [i for i, found in enumerate(explanations) if len(found.members) > 2]
    # Targets differ in their units: each deviation counts in those of its target.
    off = [float((explanations[i].deviation / model.task_.scale).sum()) for i in large]
    return [
        {
            "rank": rank,
            "place": _place(test.rows[large[k]], names),
            "measured": runs.plain(test.y[large[k]]),
            "explanation": explanations[large[k]].to_dict(),
        }
        for k, rank in runs.extremes(off)
    ]


def _place(rows: Sequence[int], names: Mapping[int, str]) -> str:
    """What a molecule is called, and where it stands in the table."""
    called = dict.fromkeys(names[row] for row in rows if names.get(row))
    where = f"row {', '.join(str(row) for row in rows)}"
    return f"{', '.join(called)} ({where})" if called else where
