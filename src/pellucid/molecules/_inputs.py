"""What users give to a `PropertyModel`, checked before the work begins."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from pellucid.errors import InputError
from pellucid.molecules.graphs import Graphs
from pellucid.molecules.table import Molecules, prepare
from pellucid.trust import MOST


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


def some(smiles: Iterable[str] | Molecules, seed: int, most: int = MOST) -> list[str]:
    """As many molecules as a calibration needs: all, or of very many some at random."""
    texts = list(smiles.smiles if isinstance(smiles, Molecules) else smiles)
    if len(texts) <= most:
        return texts
    return [texts[i] for i in np.sort(np.random.default_rng(seed).permutation(len(texts))[:most])]


def whole_delta(value: Any) -> int:
    """How many levels smaller or larger than the rule trees are."""
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(
            "`delta` must be a whole number", got=f"{value!r}", cure="0 is the paper's", parameter="delta"
        ) from None


def tried(network: Any, molecules: Molecules) -> nn.Module:
    """A predictor of the user's, tried on two molecules before the work begins."""
    if not isinstance(network, nn.Module):
        raise InputError(
            "`network` must be a torch module",
            got=f"{network!r}",
            cure="pass an instance, such as `Network()`",
            parameter="network",
        )
    some = molecules.smiles[:2]
    with torch.no_grad():
        outputs = network(Graphs(some).batch(list(range(len(some)))))
    expected = (len(some), len(molecules.targets))
    if not isinstance(outputs, Tensor) or outputs.shape != expected:
        got = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise InputError(
            f"`network` must give one row for each molecule and one column for each target: {expected} for "
            f"{len(some)} molecules",
            got=f"{got}",
            cure="mind the last layer",
            parameter="network",
        )
    return network


def digest_of(learned: Molecules, watched: Molecules | None, pool: Sequence[str]) -> str:
    """A fingerprint of the data, so that a run is not resumed on others."""
    digest = hashlib.sha256()
    for part in (part for part in (learned, watched) if part is not None):
        digest.update("\n".join(part.smiles).encode())
        digest.update(np.ascontiguousarray(part.y).data)
    digest.update("\n".join(pool).encode())
    return digest.hexdigest()
