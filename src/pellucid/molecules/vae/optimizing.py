"""A search in the latent space for molecules with more of a property, every step of which is a valid molecule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.molecules.vae.corpus import corpus_of
from pellucid.molecules.vae.optimization import Optimization, Step
from pellucid.molecules.vae.properties import LatentProperty
from pellucid.numbers import counted

if TYPE_CHECKING:
    from pellucid.molecules.vae.model import JunctionTreeVAE

# How far along the gradient points are tried, in standard deviations of the property over the latent space.
_LENGTHS = np.geomspace(0.1, 4.0, 12)
# Noise around these, in standard deviations of each coordinate: small steps and large ones.
_NOISE = (0.0, 0.1, 0.3)
# Rounds in a row without a better molecule after which a search ends.
_PATIENCE = 3


def optimize(
    model: JunctionTreeVAE,
    goal: LatentProperty | Callable[[list[str]], Sequence[float]],
    start: str,
    *,
    steps: int = 20,
    proposals: int = 72,
    least_similarity: float = 0.0,
    lower: bool = False,
    seed: int = 0,
) -> Optimization:
    """Search for molecules with a higher value, from one molecule on.

    Around the encoding of the best molecule so far, points are drawn, along the gradient of a `LatentProperty`, at
    several lengths, with noise; for any other function with noise alone. They are decoded, each to a valid molecule,
    and these are valued: by the property at the encoding of the decoded molecule, not at the point, so that what counts
    is the molecule; the few that the encoder cannot read, as their fragments occur in no training molecule, do not
    count. The best one is the next step, if it is better. The search ends early if there is none three times in a row.

    Parameters
    ----------
    model : JunctionTreeVAE
        A trained model.
    goal : LatentProperty or callable
        The property; or a function from a list of SMILES to their values.
    start : str
        The molecule to start from.
    steps : int
        The most rounds.
    proposals : int
        Points that are decoded in a round.
    least_similarity : float
        The least Tanimoto similarity to the first molecule, from 0 to 1.
    lower : bool
        Search for lower values.
    seed : int
        Seed of the noise.
    """
    if not 0 <= least_similarity <= 1:
        raise InputError(
            f"{Parameter('least_similarity')} must be between 0 and 1",
            got=f"{least_similarity}",
            parameter="least_similarity",
        )
    steps, proposals = _checks.whole(steps, 1, "steps"), _checks.whole(proposals, 1, "proposals")
    head = goal if isinstance(goal, LatentProperty) else None
    sign, rng = -1.0 if lower else 1.0, np.random.default_rng(_checks.seed(seed))
    encoding = model.encode(start)
    (first,) = model.flat(start)
    spread = np.exp(0.5 * encoding.log_variance[0]) if head is None else head.spread
    found: dict[str, tuple[float, np.ndarray]] = {}

    def value(texts: list[str]) -> None:
        """Encode and value molecules that are new; those that the encoder cannot read are left out."""
        corpus = corpus_of(texts)
        index, _ = corpus.encodable(model.vocabulary_)
        kept = [texts[row - 1] for row in corpus.arrays["rows"][index].tolist()]
        if kept:
            means = model.encode(corpus, on_error="skip").mean[index].astype(np.float64)
            values = goal.at(means) if isinstance(goal, LatentProperty) else _values(goal, kept)
            for text, number, mean in zip(kept, values.tolist(), means, strict=True):
                found[text] = number, mean

    value([first])
    measured = {} if head is None else head.measured
    path, waited = [Step(first, found[first][0], 1.0, measured.get(first))], 0
    for _ in range(steps):
        z = found[path[-1].smiles][1]
        points = z + _moves(head, spread, proposals, sign, 1 + waited, rng)
        new = [text for text in dict.fromkeys(model.decode(points)) if text not in found]
        if new:
            value(new)
        others = [text for text in found if text != path[-1].smiles and np.isfinite(found[text][0])]
        similarity = similarities(model, first, others)
        allowed = [(sign * found[text][0], text) for text in others if similarity[text] >= least_similarity]
        best = max(allowed, default=None)
        if best is None or best[0] <= sign * path[-1].value:
            waited += 1
            if waited == _PATIENCE:
                break
            continue
        waited = 0
        path.append(Step(best[1], found[best[1]][0], similarity[best[1]], measured.get(best[1])))
    name = head.name if head is not None else getattr(goal, "__name__", "value")
    return Optimization(name=name, steps=tuple(path), tried=len(found), head=head, lower=lower)


def _values(goal: Callable[[list[str]], Sequence[float]], texts: list[str]) -> np.ndarray:
    """(N,) what a function of the user's says of molecules."""
    must = "The goal must be a function of a list of SMILES that returns a number for each of them"
    cure = "write a function of one as `lambda texts: [f(text) for text in texts]`"
    try:
        values = np.asarray(goal(texts), dtype=np.float64)
    except (TypeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [""])[0]
        raise InputError(must, got=f"{type(error).__name__}: {reason}", cure=cure) from error
    if values.shape != (len(texts),):
        raise InputError(must, got=f"values of shape {values.shape} for {counted(len(texts), 'molecule')}", cure=cure)
    return values


def _moves(
    head: LatentProperty | None, spread: np.ndarray, count: int, sign: float, scale: float, rng: np.random.Generator
) -> np.ndarray:
    """(count, 2 L) differences to the best point so far."""
    noise = rng.standard_normal((count, len(spread))) * spread
    if head is None:
        return np.asarray(scale * noise * np.resize((0.5, 1.0, 2.0), count)[:, None])
    # The steepest direction if coordinates are measured in their standard deviations; 1 is that of the property.
    uphill = head.direction * spread**2
    uphill = sign * uphill / max(np.linalg.norm(head.direction * spread), 1e-12)
    lengths = np.resize(_LENGTHS, count)[:, None]
    levels = np.repeat(_NOISE, -(-count // len(_NOISE)))[:count, None]
    return np.asarray(lengths * uphill + scale * levels * noise)


def similarities(model: JunctionTreeVAE, smiles: str, others: list[str]) -> dict[str, float]:
    """Tanimoto similarities of molecules to one."""
    if not others:
        return {}
    dense, own = model.morgan(others).dense(), model.morgan([smiles]).dense()
    both = (dense * own).sum(1)
    return dict(zip(others, (both / (dense.sum(1) + own.sum() - both).clamp(min=1)).tolist(), strict=True))
