"""Checks that every witness family must pass; run them on a family of your own."""

from __future__ import annotations

import torch
from torch import Tensor

from pellucid.builders import from_lists, nearest, windows
from pellucid.deviations import absolute_error, squared_error
from pellucid.neighborhoods import BaseNeighborhoods
from pellucid.witnesses.base import WitnessFamily


def check_family(family: WitnessFamily) -> None:
    """Check a family on a few awkward problems: singletons, duplicates, constant features, large offsets.

    Examples
    --------
    >>> from pellucid import LinearFamily
    >>> check_family(LinearFamily(ridge=1.0))
    """
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(24, 3, generator=generator, dtype=torch.float64)
    f = torch.randn(24, 2, generator=generator, dtype=torch.float64)
    bits = (x > 0).to(torch.uint8)
    uneven = from_lists([[0], [0, 1], range(12), [23, 5, 7]], centers=[0, 9, 3, 23], n_points=24)
    for hoods in (windows([20, 1, 3], radius=4), nearest(x, k=7), uneven):
        check_response(family, x, f, hoods)
        check_response(family, bits, f[:, :1], hoods)
        check_response(family, torch.ones_like(x), f, hoods)
        check_response(family, x[:1].expand(24, -1), f + 1e6, hoods)
        check_response(family, x, torch.ones_like(f), hoods)


def check_response(family: WitnessFamily, x: Tensor, f: Tensor, hoods: BaseNeighborhoods) -> None:
    """Check that a best response keeps the contract of `Witnesses` on one problem."""
    witnesses = family.best_response(x, f, hoods)
    n, (points, k) = len(hoods), f.shape
    members, centers, consensus = witnesses.at_members(), witnesses.at_centers(), witnesses.consensus()
    _require(len(witnesses) == n, f"one witness for each of the {n} neighborhoods, got {len(witnesses)}")
    for name, values, shape in (
        ("at_members", members, (len(hoods.members), k)),
        ("at_centers", centers, (n, k)),
        ("consensus", consensus, (points, k)),
    ):
        _require(values.shape == shape, f"{name}() of shape {shape}, got {tuple(values.shape)}")
        _require(bool(values.isfinite().all()), f"finite values from {name}()")
        _require(values.dtype == f.dtype, f"{name}() in the predictions' {f.dtype}, got {values.dtype}")
    _close(members, witnesses.evaluate(hoods.rows, x[hoods.members]), "at_members() to evaluate the witnesses")
    _close(centers, witnesses.evaluate(torch.arange(n), x[hoods.centers]), "at_centers() to evaluate the witnesses")
    shares = members.double() / hoods.sizes[hoods.rows, None]
    covered = hoods.coverage > 0
    expected = (hoods.spread_members(shares) / hoods.coverage[:, None])[covered]
    _close(consensus[covered], expected, "consensus() to be the weighted mean of the witnesses")
    for deviation in (squared_error, absolute_error):
        direct = hoods.sum_members(deviation(f[hoods.members], members)) / hoods.sizes
        _close(witnesses.deviations(deviation), direct, f"deviations({deviation.__name__}) to follow their definition")
    one = witnesses[n - 1]
    last = hoods.members_of(n - 1)
    _close(one(x[last]), members[hoods.offsets[-2] :], "a single witness to predict what it predicts among all")
    _require(bool(one.text()) and bool(one.to_dict()), "a witness that can be read")
    again = family.best_response(x, f, hoods).at_members()
    _require(bool((again == members).all()), "the same response to the same predictions")


def _close(got: Tensor, expected: Tensor, what: str) -> None:
    scale = 1 + float(expected.double().abs().max()) if len(expected) else 1.0
    gap = float((got.double() - expected.double()).abs().max()) if len(expected) else 0.0
    _require(gap <= 1e-8 * scale, f"{what}, they differ by {gap:.2g}")


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise AssertionError(f"Expected {what}.")
