"""The paper's Figure 2: one neighborhood, one error, three behaviors.

A noisy one-dimensional neighborhood is fitted by piecewise linear predictors: DEEP without a game, GAME with a
linear witness and GAME with a decision stump as witness. DEEP is restrained by its number of pieces; the other
two have many more and are restrained by the game alone, whose weight is found by bisection such that all three
have the same mean squared error. What differs is what they look like, and from which family they deviate.

    python paper/figure2.py [--out DIRECTORY] [--smoke]
"""

from __future__ import annotations

import argparse
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import pellucid as pl

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FAMILIES: dict[str, pl.WitnessFamily] = {"linear": pl.LinearFamily(), "stump": pl.TreeFamily(depth=1)}
POINTS = 40
CENTER = 20
DEEP_PIECES = 7
GAME_PIECES = 26


@dataclass(frozen=True)
class Fit:
    """A trained predictor and what is told of it."""

    name: str
    pieces: int
    weight: float
    knots: Tensor
    """(pieces + 1,) the predictor's values at its equally spaced knots."""
    mse: float
    deviations: dict[str, float]
    """Deviation D from each family."""
    witness: pl.Witness | None


def neighborhood(seed: int = 0) -> tuple[Tensor, Tensor]:
    """Points x (N, 1) in [0, 1] and noisy labels y (N, 1): a bent rise with a step."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.linspace(0, 1, POINTS, dtype=torch.float64)[:, None]
    curve = 4 * x + 2 * torch.tanh(12 * (x - 0.55)) + torch.sin(9 * x)
    return x, curve + 1.25 * torch.randn(POINTS, 1, generator=generator, dtype=torch.float64)


def hat_basis(x: Tensor, pieces: int) -> Tensor:
    """(N, pieces + 1) weights of linear interpolation between equally spaced knots."""
    knots = torch.linspace(0, 1, pieces + 1, dtype=x.dtype)
    return (1 - (x - knots).abs() * pieces).clamp(min=0)


def train(name: str, x: Tensor, y: Tensor, pieces: int, game: pl.SymmetricGame | None, steps: int) -> Fit:
    """Fit the knots to the labels, with or without a game: one code path, no game is DEEP."""
    basis = hat_basis(x, pieces)
    hoods = pl.from_lists([range(len(x))], centers=[CENTER])
    # Start from the least-squares fit: DEEP is done then, a GAME is pulled away from it by its witness.
    knots = torch.linalg.lstsq(basis, y).solution.requires_grad_()
    weight = game.weight if game else 0.0
    # Newton's direction for this quadratic: all knots move at one pace, whatever data they see.
    preconditioner = torch.linalg.pinv(basis.T @ basis / len(x)) / (2 * (1 + weight))
    outcome = None
    for _ in range(steps if game else 0):
        f = basis @ knots
        outcome = game(f, x, hoods) if game else None
        loss = (f - y).square().mean() + (outcome.penalty if outcome else 0.0)
        (gradient,) = torch.autograd.grad(loss, knots)
        with torch.no_grad():
            knots -= preconditioner @ gradient
    f = (basis @ knots).detach()
    return Fit(
        name=name,
        pieces=pieces,
        weight=weight,
        knots=knots.detach(),
        mse=float((f - y).square().mean()),
        deviations={kind: float(pl.audit(f, x, hoods, family).deviations) for kind, family in FAMILIES.items()},
        witness=outcome.witnesses.named(["x"])[0] if outcome else None,
    )


def match_error(kind: str, x: Tensor, y: Tensor, target: float, steps: int) -> Fit:
    """Bisect the weight of a game until its predictor has the target error to well over three digits."""

    def fit(weight: float) -> Fit:
        game = pl.SymmetricGame(FAMILIES[kind], weight=weight)
        return train(f"GAME, {kind} witness", x, y, GAME_PIECES, game, steps)

    low, high = 0.0, 1.0
    while fit(high).mse < target:
        low, high = high, 2 * high
        if high > 1e6:
            raise SystemExit(f"No weight brings the {kind} game to an error of {target:.4f}.")
    for _ in range(60):
        middle = (low + high) / 2
        result = fit(middle)
        if abs(result.mse - target) < 1e-5 * target:
            break
        low, high = (middle, high) if result.mse < target else (low, middle)
    return result


def reproduce(*, seed: int = 0, steps: int = 60) -> tuple[Tensor, Tensor, list[Fit]]:
    """The data and the three predictors."""
    x, y = neighborhood(seed)
    deep = train("DEEP, no game", x, y, DEEP_PIECES, None, steps)
    return x, y, [deep, *(match_error(kind, x, y, deep.mse, steps) for kind in FAMILIES)]


def table(fits: list[Fit]) -> str:
    """The numbers side by side."""
    head = f"{'predictor':<22}{'pieces':>7}{'weight':>9}{'MSE':>9}{'deviation from linear':>24}{'from stumps':>14}"
    rows = [
        f"{fit.name:<22}{fit.pieces:>7}{fit.weight:>9.3f}{fit.mse:>9.3f}"
        f"{fit.deviations['linear']:>24.4f}{fit.deviations['stump']:>14.4f}"
        for fit in fits
    ]
    return "\n".join([head, "-" * len(head), *rows])


def plot(x: Tensor, y: Tensor, fits: list[Fit]) -> Figure:
    """Four panels, as in the paper: the data, and the three predictors with their witnesses."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6.4), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True, sharey=True).flatten()
    grid = torch.linspace(0, 1, 801, dtype=x.dtype)[:, None]
    for panel, (axis, fit) in enumerate(zip(axes, [None, *fits], strict=True)):
        axis.scatter(x, y, s=16, color="0.55", linewidths=0, label="labels")
        axis.scatter(x[CENTER], y[CENTER], s=36, color="#c1121f", zorder=4, label=f"center $x_{{{CENTER}}}$")
        if fit is None:
            axis.set_title(f"(a) the neighborhood $B(x_{{{CENTER}}})$", loc="left", fontsize=10)
        else:
            axis.plot(grid, hat_basis(grid, fit.pieces) @ fit.knots, color="#2a7f3f", lw=2, label="predictor $f$")
            text = f"({'abcd'[panel]}) {fit.name}: MSE {fit.mse:.3f}"
            if fit.witness is not None:
                axis.plot(grid, fit.witness(grid), color="black", lw=1.3, ls="--", label="witness $\\hat g$")
                kind = fit.name.split()[1]
                text += f", deviation {fit.deviations[kind]:.4f}"
            axis.set_title(text, loc="left", fontsize=10)
        axis.legend(frameon=False, fontsize=8, loc="upper left")
        axis.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("x", fontsize=10)
    figure.supylabel("y", fontsize=10)
    return figure


def report(fits: list[Fit], *, seed: int, steps: int) -> dict[str, Any]:
    """The numbers behind the figure, with what is needed to repeat the run."""
    return {
        "seed": seed,
        "steps": steps,
        "points": POINTS,
        "versions": {"python": platform.python_version(), "torch": torch.__version__, "pellucid": pl.__version__},
        "predictors": [
            {
                "name": fit.name,
                "pieces": fit.pieces,
                "weight": fit.weight,
                "mse": fit.mse,
                "deviations": fit.deviations,
                "witness": fit.witness.to_dict() if fit.witness else None,
            }
            for fit in fits
        ],
    }


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Reproduce the paper's Figure 2.")
    parser.add_argument("--out", type=Path, default=Path("out"), help="where the figures go (default: out)")
    parser.add_argument("--smoke", action="store_true", help="fewer steps of training")
    arguments = parser.parse_args(words)
    print("Fitting one neighborhood three ways, bisecting the weights to one error ...", flush=True)
    seed, steps = 0, 20 if arguments.smoke else 60
    x, y, fits = reproduce(seed=seed, steps=steps)
    print("\n" + table(fits) + "\n")
    for fit in fits[1:]:
        print(f"The witness of {fit.name}:\n{fit.witness}\n")
    arguments.out.mkdir(parents=True, exist_ok=True)
    figure = plot(x, y, fits)
    for suffix in ("png", "svg"):
        path = arguments.out / f"figure2.{suffix}"
        figure.savefig(path, dpi=150)
        print(f"wrote {path}")
    path = arguments.out / "figure2.json"
    path.write_text(json.dumps(report(fits, seed=seed, steps=steps), indent=1) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
