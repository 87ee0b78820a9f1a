r"""Contributions of substructures: the law around one molecule as a sum of terms, with what is known of each.

Around a molecule the law is g(x) = theta_0 + sum_b theta_b x_b over the bits of the fingerprint, a ridge regression on
the m members. Bits that are equal in all members are one term t with n_t bits, the coefficient theta_t (their sum) and
the column x_t; bits that do not vary have no coefficient. With the means over the members,

    g(molecule) = mean of g  +  sum_t theta_t (x_t(molecule) - mean of x_t):

what a term contributes is counted from the average member, so that an absent substructure contributes, too.

The coefficient is linear in the predictions, theta_t = w_t' f with

    w_t = n_t (Z Z' + ridge)^-1 z_t,     z_t = x_t - mean,     Z all centered bits,

and the law that is fitted without member j has theta_t - w_tj (f_j - g_j), where g_j is what it says of j: a law that
goes through the point (x_j, g_j) is not changed by it. The standard error is the jackknife over these exact refits,

    se_t^2 = (m - 1)/m  sum_j (delta_tj - mean of delta_t)^2,     delta_tj = w_tj (f_j - g_j),
    f_j - g_j = residual_j / (1 - H_jj),     1 - H = ridge (Z Z' + ridge)^-1 - 1 1'/m,

all of them with the ridge that was chosen with all members. It says how much the coefficient depends on which members
there are; what the ridge takes away from all coefficients, its bias, is not in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rdkit import Chem

from pellucid.molecules._smiles import molecule_of
from pellucid.molecules.fingerprints import Morgan
from pellucid.molecules.substructures import environment, hashes


class Terms(NamedTuple):
    """The T terms of a law over P bits with K outputs."""

    bits: list[np.ndarray]
    """The bits of each term."""
    values: np.ndarray
    """(T, K) coefficients."""
    errors: np.ndarray
    """(T, K) their standard errors."""
    contributions: np.ndarray
    """(T, K) to the law's value of the first member, counted from the mean over the members."""
    counts: np.ndarray
    """(T,) in how many members each occurs."""
    present: np.ndarray
    """(T,) whether it occurs in the first member."""


def terms_of(x: np.ndarray, theta: np.ndarray, f: np.ndarray, ridge: float) -> Terms:
    """The terms of one law.

    Parameters
    ----------
    x : ndarray
        (m, P) bits of the members, of which the first is the molecule.
    theta : ndarray
        (P, K) coefficients.
    f : ndarray
        (m, K) predictions, to which it was fitted.
    ridge : float
        The ridge of the fit.
    """
    m = len(x)
    varying = np.flatnonzero(x.min(0) < x.max(0))
    columns, place = np.unique(x[:, varying].T, axis=0, return_inverse=True)  # (T, m), (varying,)
    order = np.argsort(place.ravel(), kind="stable")
    sizes = np.bincount(place.ravel(), minlength=len(columns))
    bits = np.split(varying[order], np.cumsum(sizes)[:-1]) if len(columns) else []
    values = np.array([theta[b].sum(0) for b in bits]).reshape(len(bits), theta.shape[1])
    present = columns[:, 0] > 0
    z = columns - columns.mean(1, keepdims=True)  # (T, m)
    errors = np.zeros_like(values)
    if len(bits):
        gram = (z * sizes[:, None]).T @ z
        inverse = np.linalg.inv(gram + ridge * np.eye(m))
        weights = sizes[:, None] * (z @ inverse)  # (T, m)
        misses = ridge * (inverse @ (f - f.mean(0))) / (ridge * np.diag(inverse) - 1 / m)[:, None]
        delta = weights[..., None] * misses  # (T, m, K)
        errors = np.sqrt((m - 1) / m * np.square(delta - delta.mean(1, keepdims=True)).sum(1))
    return Terms(bits, values, errors, values * z[:, :1], columns.sum(1).astype(int), present)


def atom_sums(smiles: str, morgan: Morgan, bits: Sequence[np.ndarray], contributions: np.ndarray) -> np.ndarray:
    """(A, K) contributions of present terms, shared out over the atoms of a molecule.

    All bits of a term have the same share of it, all places where a bit occurs in the molecule the same share of the
    bit, and all atoms of a place the same share of that: so the sum over the atoms is that over the terms, and it does
    not depend on which bits happen to be one term.

    Parameters
    ----------
    smiles : str
        The molecule.
    morgan : Morgan
        The fingerprints that the bits belong to.
    bits : sequence of ndarray
        The bits of each term, which the molecule has.
    contributions : ndarray
        (T, K) their contributions.
    """
    molecule = molecule_of(smiles)
    places: dict[int, list[list[int]]] = {}
    for radius, atom, key in hashes(molecule, morgan):
        places.setdefault(key % morgan.size, []).append(_atoms(molecule, atom, radius))
    result = np.zeros((molecule.GetNumAtoms(), contributions.shape[1]))
    for term, contribution in zip(bits, contributions, strict=True):
        for bit in term.tolist():
            for atoms in places[bit]:
                result[atoms] += contribution / (len(term) * len(places[bit]) * len(atoms))
    return result


def _atoms(molecule: Chem.Mol, atom: int, radius: int) -> list[int]:
    return environment(molecule, atom, radius)[0]
