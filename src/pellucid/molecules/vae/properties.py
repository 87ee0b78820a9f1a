"""A property as a linear function of the latent space: learned from measured molecules, and explained by trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, cast, final

import numpy as np
import torch
from torch import Tensor

from pellucid.bounds import LEVEL, rank
from pellucid.errors import InputError
from pellucid.molecules._arguments import calibration_sample
from pellucid.molecules.explaining import explain_each
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods
from pellucid.molecules.tasks import IDENTITY
from pellucid.molecules.tree_explanation import TreeExplanation, bit_names
from pellucid.molecules.vae._arguments import encodable_molecules
from pellucid.molecules.vae.measuring import posteriors
from pellucid.molecules.vae.neighborhoods import EncodableNeighborhoods
from pellucid.numbers import counted, percent
from pellucid.trust import Calibration, calibrate

if TYPE_CHECKING:
    from pellucid.molecules.vae.model import JunctionTreeVAE

# Penalties of the regression that are compared by leaving one molecule out.
_PENALTIES = np.logspace(-3, 5, 17)
_FEWEST = 3
# A share of the variance below which a warning stands.
_LITTLE = 0.3
# Molecules that are enough to calibrate on.
_CALIBRATION_SIZE = 100
_UNBOUNDED = (
    "how far it can be trusted is not known: of the molecules that the property was measured at, there is none with "
    "similar ones around it that the model was not trained on; measure some"
)


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LatentProperty:
    """A property h(M) = constant + direction . mean(M) of molecules, with the means of their encodings.

    Made by `LatentProperty.fit`. The gradient of h in the latent space is `direction`, everywhere.
    """

    model: JunctionTreeVAE = field(repr=False)
    name: str
    direction: np.ndarray = field(repr=False)
    """(2 L,)"""
    constant: float
    spread: np.ndarray = field(repr=False)
    """(2 L,) standard deviations of the means of the molecules that it was learned from."""
    measured: Mapping[str, float] = field(repr=False)
    """What it was learned from: molecules as the encoder sees them, without stereochemistry, and the mean of the values
    that were measured of each."""
    joined: int
    """The number of rows that were joined with others of the same molecule."""
    left_out: int
    """The number of rows without a finite value, or with a molecule that the encoder cannot read."""
    explained: float
    """The share of the variance of measured values that it explains at molecules left out of the fit one at a time."""
    errors: np.ndarray = field(repr=False)
    """(N,) what |measured - h| is at each molecule if it is left out of the fit."""
    extent: tuple[float, float]
    """The lowest and the highest h of these molecules: beyond, nothing was learned."""

    @property
    def count(self) -> int:
        """The number of molecules that it was learned from."""
        return len(self.measured)

    @classmethod
    def fit(
        cls, model: JunctionTreeVAE, smiles: Iterable[str], values: Sequence[float], *, name: str = "property"
    ) -> LatentProperty:
        """Learn a property by ridge regression, whose penalty is chosen by leaving out one molecule at a time.

        Rows of one molecule, as the encoder sees it, are joined: replicates, stereoisomers, other ways to write it. A
        molecule counts as much as any other, with the mean of its values. Left in as rows, they would be known already
        when one of them is left out.

        Parameters
        ----------
        model : JunctionTreeVAE
            A trained model.
        smiles : iterable of str
            Molecules; those that the encoder cannot read are left out, and counted.
        values : sequence of float
            The measured value of each; those that are not finite are left out, and counted.
        name : str
            What the property is called.
        """
        from sklearn.linear_model import RidgeCV

        texts, y = list(smiles), np.asarray(values, dtype=np.float64)
        if y.shape != (len(texts),):
            raise InputError("There must be one value for each molecule", got=f"{y.shape} for {len(texts)} molecules")
        molecules = encodable_molecules(texts, model.vocabulary_, "skip")
        known = np.isfinite(y[molecules.rows])
        values_of: dict[str, list[float]] = {}
        index: list[int] = []
        flat = [text for text, usable in zip(molecules.smiles(), known.tolist(), strict=True) if usable]
        for text, value, i in zip(flat, y[molecules.rows[known]].tolist(), molecules.indices[known], strict=True):
            if text not in values_of:
                index.append(int(i))
            values_of.setdefault(text, []).append(value)
        y = np.array([np.mean(each) for each in values_of.values()])
        if len(y) < _FEWEST or np.ptp(y) == 0:
            raise InputError(
                f"A property must be measured at {_FEWEST} molecules that the encoder can read, or more, and vary",
                got=f"{counted(len(y), 'molecule')}{'' if len(y) < _FEWEST else ' of the same value'}",
            )
        joined = posteriors(model.network_, model.vocabulary_, molecules.corpus, np.array(index))
        x = joined[:, : 2 * model.latent].double().numpy()
        # Errors at molecules left out follow from the hat matrix, without further fits.
        regression = RidgeCV(alphas=_PENALTIES, store_cv_results=True).fit(x, y)
        fitted = regression.predict(x)
        return cls(
            model=model,
            name=name,
            direction=np.asarray(regression.coef_),
            constant=float(regression.intercept_),
            spread=x.std(0),
            measured=dict(zip(values_of, y.tolist(), strict=True)),
            joined=len(flat) - len(y),
            left_out=len(texts) - len(flat),
            explained=float(1 + regression.best_score_ / y.var()),
            errors=np.sqrt(regression.cv_results_[:, int(np.argmin(np.abs(_PENALTIES - regression.alpha_)))]),
            extent=(float(fitted.min()), float(fitted.max())),
        )

    def __call__(self, smiles: str | Iterable[str]) -> np.ndarray:
        """(N,) the property of molecules, as the latent space has it."""
        return self.at(self.model.encode(smiles).mean)

    def at(self, z: np.ndarray) -> np.ndarray:
        """(N,) the property at points (N, 2 L)."""
        return np.asarray(self.constant + np.asarray(z, dtype=np.float64) @ self.direction)

    def bound(self, level: float = LEVEL) -> float | None:
        """What |measured - h| does not exceed, with this confidence, at a molecule like those it was learned from.

        It is the quantile of `errors` at ceil((N + 1) level) / N; None if N is too small for it. A molecule that was
        chosen from many because its h is high is not like those: there h is too high more often than too low.
        """
        place = rank(self.count, level)
        return float(np.sort(self.errors)[place - 1]) if place <= self.count else None

    def best(self, *, lower: bool = False) -> str:
        """The molecule with the highest measured value, or with the lowest."""
        return (min if lower else max)(self.measured, key=self.measured.__getitem__)

    def explain(self, smiles: str, *, level: float = LEVEL) -> TreeExplanation:
        """The property of one molecule, and the tree of substructures that it follows around it.

        Parameters
        ----------
        smiles : str
            The molecule.
        level : float
            The confidence of the bound between the tree and the property; see `calibration`.
        """
        neighborhoods = self.model.neighborhoods(smiles)
        encodable, f = self._around(neighborhoods)
        witnesses = self.model.family().best_response(encodable.fingerprints.dense(), f, encodable.hoods)
        (explanation,) = explain_each(
            witnesses.named(bit_names(self.model.morgan.size), [self.name]),
            encodable.restrict(neighborhoods),
            task=IDENTITY,
            morgan=self.model.morgan,
            calibration=self.calibration,
            level=level,
            measured={text: np.array([value]) for text, value in self.measured.items()},
            analogs=self.model.similar.analogs,
        )
        return cast("TreeExplanation", replace(explanation, unbounded=None if self.calibration else _UNBOUNDED))

    @cached_property
    def calibration(self) -> Calibration | None:
        """How far trees can be trusted to follow the property near a molecule; None if that is not known.

        It is learned from the measured molecules around which the model did not play its game: from all if it plays
        none, and else from those that it was not trained on. Of a pool that is smaller than the training data nobody
        knows which these are.
        """
        model, pool = self.model, set(self.model.pool_)
        if model.game is None:
            molecules = list(self.measured)
        else:
            molecules = [text for text in self.measured if text not in pool] if len(pool) < model.pool else []
        if not molecules:
            return None
        around, f = self._around(model.neighborhoods(calibration_sample(molecules, model.seed, _CALIBRATION_SIZE)))
        calibration = calibrate(f, around.fingerprints.dense(), around.hoods, model.family())
        return calibration if len(calibration) else None

    def _around(self, neighborhoods: MoleculeNeighborhoods) -> tuple[EncodableNeighborhoods, Tensor]:
        """The members that the encoder can read, and the property of each of them (N, 1)."""
        encodable = self.model.encodable(neighborhoods)
        joined = posteriors(self.model.network_, self.model.vocabulary_, encodable.corpus, encodable.index)
        f = torch.from_numpy(self.at(joined[:, : len(self.direction)].numpy())).float()[:, None]
        return encodable, f

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        share, bound = f"explains {percent(self.explained, 0)} of the variance", self.bound()
        parts = ["is worse than their mean" if self.explained <= 0 else share]
        parts += [] if bound is None else [f"is off by {bound:.3g} or less at {percent(LEVEL)} of them"]
        says = " and ".join(parts)
        if bound is None:
            says += f"; they are too few to say how far it is off at {percent(LEVEL)} of others"
        if self.explained <= 0:
            says += "; what a search for it finds means nothing"
        elif self.explained < _LITTLE:
            says += "; that is little: what a search for it finds may be chance"
        learned = f"learned from {counted(self.count, 'molecule')}"
        if self.joined:
            learned += f", {counted(self.joined, 'row')} joined with others of the same molecule"
        if self.left_out:
            learned += f", {counted(self.left_out, 'row')} without a value or an encoding left out"
        return f"{self.name}: at molecules left out it {says}; a linear function of the latent space, {learned}"
