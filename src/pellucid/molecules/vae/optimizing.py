"""A search in the latent space for molecules with more of a property, every step of which is a valid molecule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from pellucid import _checks
from pellucid.errors import InputError, Parameter
from pellucid.molecules.vae.bayesian import most_promising, require_botorch
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
# How far away a Bayesian search begins to draw, in standard deviations of the encoding of the start; and the molecules
# that it chooses from, for each that is valued.
_WIDTH = 3.0
_CHOICE = 3


def optimize(
    model: JunctionTreeVAE,
    goal: LatentProperty | Callable[[list[str]], Sequence[float]],
    start: str,
    *,
    search: Literal["local", "bayesian"] = "local",
    steps: int = 20,
    proposals: int = 72,
    batch: int = 15,
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

    A function whose values cost something is searched with `search="bayesian"`: a Gaussian process learns the values
    of the molecules so far from their encodings, and of the decoded ones only those are valued, `batch` in a round,
    of which it expects the largest improvement. Points are drawn further away while steps succeed, and nearer where
    they do not.

    Parameters
    ----------
    model : JunctionTreeVAE
        A trained model.
    goal : LatentProperty or callable
        The property; or a function from a list of SMILES to their values.
    start : str
        The molecule to start from.
    search : {"local", "bayesian"}
        How to choose what is valued; "bayesian" is for functions, and needs botorch (`pellucid[search]`).
    steps : int
        The most rounds.
    proposals : int
        Points that are decoded in a round.
    batch : int
        The most molecules that are valued in a round of a Bayesian search; twice as many in the first, at random.
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
    batch, seed = _checks.whole(batch, 1, "batch"), _checks.seed(seed)
    head = goal if isinstance(goal, LatentProperty) else None
    _check_search(search, head)
    sign, rng = -1.0 if lower else 1.0, np.random.default_rng(seed)
    encoding = model.encode(start)
    (first,) = model.flat(start)
    spread = np.exp(0.5 * encoding.log_variance[0]) if head is None else head.spread
    found: dict[str, tuple[float, np.ndarray]] = {}

    def value(means: dict[str, np.ndarray]) -> None:
        points = np.array([*means.values()])
        values = goal.at(points) if isinstance(goal, LatentProperty) else _values(goal, [*means])
        for text, number in zip(means, values.tolist(), strict=True):
            found[text] = number, means[text]

    def drawn(width: float) -> dict[str, np.ndarray]:
        """New molecules around the best."""
        points = found[path[-1].smiles][1] + _moves(head, spread, proposals, sign, width, rng)
        return _readable(model, [text for text in dict.fromkeys(model.decode(points)) if text not in found])

    value(_readable(model, [first]))
    measured = {} if head is None else head.measured
    path, waited, width = [Step(first, found[first][0], 1.0, measured.get(first))], 0, _WIDTH
    for number in range(steps):
        if search == "local":
            means = drawn(1 + waited)
        else:
            means, width = _enough(drawn, width, batch)
            means = {text: means[text] for text in _similar(model, first, [*means], least_similarity)}
            means = _chosen(means, found, batch, sign, seed + number)
        if means:
            value(means)
        others = [text for text in found if text != path[-1].smiles and np.isfinite(found[text][0])]
        allowed = _similar(model, first, others, least_similarity)
        best = max(((sign * found[text][0], text) for text in allowed), default=None)
        if best is None or best[0] <= sign * path[-1].value:
            waited, width = waited + 1, max(width * 0.8, _WIDTH / 2)
            if search == "local" and waited == _PATIENCE:
                break
            continue
        waited, width = 0, min(width * 1.2, _WIDTH * 5)
        path.append(Step(best[1], found[best[1]][0], allowed[best[1]], measured.get(best[1])))
    name = head.name if head is not None else getattr(goal, "__name__", "value").replace("<lambda>", "value")
    return Optimization(name=name, steps=tuple(path), tried=len(found), head=head, lower=lower)


def _check_search(search: str, head: LatentProperty | None) -> None:
    if search not in ("local", "bayesian"):
        raise InputError('`search` must be "local" or "bayesian"', got=f"{search!r}", parameter="search")
    if search == "bayesian" and head is not None:
        raise InputError(
            "A Bayesian search is one for a function",
            got="a LatentProperty, whose gradient is known",
            cure='use search="local"',
            parameter="search",
        )
    if search == "bayesian":
        require_botorch()


def _readable(model: JunctionTreeVAE, texts: list[str]) -> dict[str, np.ndarray]:
    """The means of molecules; those that the encoder cannot read are left out."""
    corpus = corpus_of(texts)
    index, _ = corpus.encodable(model.vocabulary_)
    if not len(index):
        return {}
    means = model.encode(corpus, on_error="skip").mean[index].astype(np.float64)
    return dict(zip((texts[row - 1] for row in corpus.arrays["rows"][index].tolist()), means, strict=True))


def _enough(
    drawn: Callable[[float], dict[str, np.ndarray]], width: float, batch: int
) -> tuple[dict[str, np.ndarray], float]:
    """Molecules enough to choose from, drawn at a width where there are, and this width."""
    means = drawn(width)
    while len(means) < _CHOICE * batch and width < _WIDTH * 10:
        width *= 1.4
        means |= drawn(width)
    return means, width


def _chosen(
    means: dict[str, np.ndarray], found: dict[str, tuple[float, np.ndarray]], batch: int, sign: float, seed: int
) -> dict[str, np.ndarray]:
    """Those that are valued: at first any, then those of which most is expected."""
    texts, known = [*means], [(sign * value, mean) for value, mean in found.values() if np.isfinite(value)]
    if len(known) < 2 * batch:
        return {text: means[text] for text in texts[: 2 * batch]}
    if not texts:
        return {}
    y, x = (np.array(part) for part in zip(*known, strict=True))
    chosen = most_promising(x, y, np.array([*means.values()]), batch, seed=seed)
    return {texts[i]: means[texts[i]] for i in chosen}


def _similar(model: JunctionTreeVAE, first: str, texts: list[str], least: float) -> dict[str, float]:
    """The molecules that are similar enough to the first, and how similar they are."""
    return {text: value for text, value in similarities(model, first, texts).items() if value >= least}


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
