"""What users give to a `PropertyModel`, checked before the work begins."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import InputError, Parameter
from pellucid.molecules.graphs import Graphs
from pellucid.molecules.preparing import prepare
from pellucid.molecules.table import Molecules
from pellucid.numbers import counted
from pellucid.splitting import hold_out
from pellucid.trust import MOST

Labeled: TypeAlias = "Molecules | tuple[Sequence[str], Any]"
"""Molecules with measured values: a `Molecules`, or SMILES and y."""


def molecules_of(
    smiles: Iterable[str] | Molecules, y: Any, targets: Sequence[str] | None, on_error: Literal["raise", "skip"]
) -> Molecules:
    """A table of molecules with measured values: one that was read, or SMILES and y."""
    if isinstance(smiles, Molecules):
        if y is not None:
            raise InputError("Molecules that were read bring their values", got="`y` besides", cure="leave it out")
        molecules = smiles
    else:
        molecules = prepare(smiles, y, targets=targets, on_error=on_error)
    if not molecules.targets:
        raise InputError(
            "Molecules to learn from or to score on must have measured values", got="none", cure="pass `y`"
        )
    return molecules


def require_targets(molecules: Molecules, targets: tuple[str, ...]) -> None:
    """Refuse molecules with other targets than those learned."""
    if molecules.targets != targets:
        raise InputError(
            f"The targets must be those learned, {', '.join(targets)}",
            got=f"{', '.join(molecules.targets) or 'none'}",
            cure="read these columns, in this order",
        )


def sample_of(smiles: Iterable[str] | Molecules, seed: int, most: int = MOST) -> list[str]:
    """As many molecules as a calibration needs: all, or of very many a sample at random."""
    texts = list(smiles.smiles if isinstance(smiles, Molecules) else smiles)
    if len(texts) <= most:
        return texts
    return [texts[i] for i in np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])]


def split_off(count: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Which of so many molecules are learned from, and which are held out: at least one of them, unless the share is 0.

    Examples
    --------
    >>> learned, held_out = split_off(5, 0.4, seed=0)
    >>> len(learned), len(held_out), sorted([*learned.tolist(), *held_out.tolist()])
    (3, 2, [0, 1, 2, 3, 4])
    """
    learned, held = hold_out(count, share, seed=seed)
    if not len(learned):
        raise InputError(
            "There must be molecules left to learn from",
            got=f"{counted(count, 'molecule')}, of which {len(held)} would be held out",
            cure=f"give more, or pass {Parameter('validation', 0)}",
            parameter="validation",
        )
    return learned, held


def require_share(validation: Any, *, otherwise: str = "") -> float:
    """The share of the molecules to hold out; `otherwise` says what else is allowed."""
    if isinstance(validation, bool) or not isinstance(validation, int | float) or not 0 <= validation < 1:
        raise InputError(
            f"{Parameter('validation')} must be a share in [0, 1){otherwise}",
            got=f"{validation if isinstance(validation, int | float) else type(validation).__name__}",
            cure="try 0.1",
            parameter="validation",
        )
    return validation


def held_out_from(
    molecules: Molecules, validation: float | Labeled, seed: int, on_error: Literal["raise", "skip"]
) -> tuple[Molecules, Molecules | None]:
    """What is learned from, and what is held out: a share of the molecules, or others."""
    if not isinstance(validation, Molecules | tuple):
        share = require_share(validation, otherwise=", a tuple (smiles, y), or Molecules")
        if not share:
            return molecules, None
        learned, held_out = split_off(len(molecules), share, seed)
        return molecules.select(learned), molecules.select(held_out)
    others = molecules_of(*validation, molecules.targets, on_error) if isinstance(validation, tuple) else validation
    require_targets(others, molecules.targets)
    if not len(others):
        raise InputError(
            f"{Parameter('validation')} must have molecules",
            got="none",
            cure="0 trains all epochs on everything",
            parameter="validation",
        )
    return molecules, others


def whole_delta(value: Any) -> int:
    """How many levels smaller or larger than the rule trees are."""
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(
            "`delta` must be a whole number", got=f"{value!r}", cure="0 is the paper's", parameter="delta"
        ) from None


def checked_network(network: Any, molecules: Molecules) -> nn.Module:
    """A predictor of the user's, tried on two molecules before the work begins."""
    if not isinstance(network, nn.Module):
        raise InputError(
            "`network` must be a torch module",
            got=f"{network!r}",
            cure="pass an instance, such as `Network()`",
            parameter="network",
        )
    two = molecules.smiles[:2]
    with torch.no_grad():
        outputs = network(Graphs(two).batch(list(range(len(two)))))
    expected = (len(two), len(molecules.targets))
    if not isinstance(outputs, Tensor) or outputs.shape != expected:
        got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise InputError(
            f"`network` must give one row for each molecule and one column for each target: {expected} for "
            f"{len(two)} molecules",
            got=f"{got}",
            cure="mind the last layer",
            parameter="network",
        )
    return network
