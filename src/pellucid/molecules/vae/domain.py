"""Molecules as a domain of an autoencoder: read, split, learned from, measured, encoded, explained."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, final

from pellucid.capabilities import Search, SupportsSearch
from pellucid.domains import (
    Evaluation,
    ExplainedPoint,
    ExplanationSet,
    MessageCallback,
    Plan,
    Source,
    TrainingOptions,
)
from pellucid.errors import InputError, Parameter
from pellucid.molecules.base_domain import (
    BaseMoleculeDomain,
    MoleculeTraining,
    SmilesReading,
    molecules_in,
    require_enough,
)
from pellucid.options import Options, option
from pellucid.summaries import HELD_OUT, Measure

if TYPE_CHECKING:
    from pellucid.explanations import Explanation
    from pellucid.molecules.table import Molecules
    from pellucid.molecules.vae.model import JunctionTreeVAE
    from pellucid.molecules.vae.optimization import Optimization
    from pellucid.splitting import Parts
    from pellucid.trust import HeldOut

# The most molecules that are measured, and the most that are explained to find the extremes.
_MEASURED, _EXPLAINED = 1000, 40
# The share of the training molecules that is held out for early stopping.
_VALIDATION_SHARE = 0.05

MEASURES = (
    Measure(key="objective", title="objective", better="higher",
            about="what the network learns: the ELBO in nats, its KL term weighed as in training"),
    Measure(key="objective_of_trees", title="objective of the trees", better="higher",
            about="the same with the posterior of each molecule's tree"),
    # With cheap nats it says above all how many there are.
    Measure(key="elbo", title="ELBO", better="neither",
            about="the evidence lower bound, all of its KL term counted: log-probability of a molecule, at least"),
    Measure(key="rate", title="rate in nats", better="neither",
            about="the KL term: the nats of a molecule that its encoding carries"),
    Measure(key="reconstructed", title="reconstructed", better="higher",
            about="the share of molecules that come back from the means of their encodings"),
    Measure(key=HELD_OUT, title="held-out variance explained", better="higher",
            about="of the encodings, by trees at molecules that they were not fitted to: 0 is no better than a "
                  "constant"),
    Measure(key="deviation", title="deviation", better="lower",
            about="KL(tree || network), the mean over the members of a neighborhood, in nats"),
)  # fmt: skip


@final
@dataclass(frozen=True, kw_only=True)
class AutoencoderReading(SmilesReading):
    """How SMILES are read."""


@final
@dataclass(frozen=True, kw_only=True)
class AutoencoderSettings(MoleculeTraining):
    """What the training of an autoencoder can be set to; see `pellucid.molecules.vae.JunctionTreeVAE`."""

    # A network that learns from a few thousand molecules on a laptop; the paper's is larger.
    epochs: int = option(20, "Passes over the training data.", minimum=1)
    width: int = option(64, "Width of the network's hidden layers.", minimum=1)
    batch_size: int = option(32, "Training items per step.", minimum=1)
    learning_rate: float = option(0.003, "Peak of the one-cycle learning rate.", minimum=1e-9)
    depth: int = option(3, "Rounds of message passing.", minimum=1)
    analogs: Literal["yes", "no"] = option("yes", "Fill neighborhoods with analogs.")
    latent: int = option(
        56,
        "Number of coordinates that describe the junction tree, and as many that describe how it is assembled.",
        minimum=1,
    )
    held_out: bool = option(
        False, "Play the game at members that the tree was not fitted to.", parameter="held_out_game"
    )
    kl_weight: float = option(
        0.005,
        "Weight of the KL term, at most 1: a small one gives molecules back; 1, with --free 10, gives samples that "
        "look real. The default of --weight follows it: 0.001 at 0.005, 0.4 at 1.",
        minimum=1e-6,
    )
    free: float = option(0.0, "Nats of the KL term that cost nothing.", minimum=0)


@final
class AutoencoderDomain(BaseMoleculeDomain["JunctionTreeVAE"], SupportsSearch):
    """Points of a latent space for molecules, explained by small trees of substructures."""

    name: ClassVar[str] = "autoencoder"
    about: ClassVar[str] = (
        "Learn a latent space of molecules, and explain where each of them lies by a small tree of substructures."
    )
    source: ClassVar[str] = "A table with a column of SMILES, a file of SMILES, or a corpus of junction trees."
    file: ClassVar[str] = "junction_tree_vae"
    unexplained: ClassVar[str] = "the trees explain nothing at molecules they were not fitted to"

    Reading: ClassVar[type[Options]] = AutoencoderReading
    Settings: ClassVar[type[TrainingOptions]] = AutoencoderSettings

    # -- training ----------------------------------------------------------------------------------------------

    def check(self, settings: AutoencoderSettings) -> None:
        """Refuse settings that no model has."""
        super().check(settings)
        _untrained(settings)

    def read(self, path: Path, reading: AutoencoderReading, model: JunctionTreeVAE | None = None) -> Molecules:
        """The molecules that have a junction tree, and for a trained model one whose labels it knows."""
        from pellucid.molecules.vae.files import read_molecules, select_encodable

        molecules = read_molecules(path, smiles=reading.smiles, names=reading.names)
        if model is not None:
            return select_encodable(molecules, model.vocabulary_, list_others=True)
        require_enough(molecules, path, which=" that have a junction tree", advice="thousands")
        return molecules

    def summary(self, data: Molecules) -> str:
        """The number of molecules, and what was done to the table."""
        from pellucid.molecules.vae.files import summary_of

        return summary_of(data)

    def size(self, data: Molecules) -> int:
        """The number of molecules, or as many of them as are measured."""
        return min(len(data), _MEASURED)

    def plan(
        self, source: Source[Molecules], settings: AutoencoderSettings, *, weight: float | None = None
    ) -> Plan[Molecules, JunctionTreeVAE]:
        """Split the molecules, and set up a small network."""
        from pellucid import runs
        from pellucid.molecules.vae.files import summary_of
        from pellucid.numbers import counted

        model = _untrained(settings, weight)
        parts, unknown = _parts(source.data, model.seed, settings.split)
        notes = [f"neighborhoods {'with' if model.similar.analogs else 'without'} analogs"]
        if unknown:
            notes.append(
                f"not used to validate or test: {counted(unknown, 'molecule')} with labels that do not occur among the "
                "molecules to learn from"
            )
        if len(parts.test) > _MEASURED:
            notes.append(f"scores are those of {_MEASURED:,} test molecules")
        return Plan(
            model=model,
            parts=parts,
            sizes={name: len(part) for name, part in parts._asdict().items()},
            outputs=tuple(model.names),
            description=summary_of(source.data),
            digest=runs.digest(text.encode() for text in parts.test.smiles),
            split=settings.split,
            loss="validation loss: the negative ELBO in nats, its KL term weighed as in training",
            deviation="mean of KL(tree || network) over validation neighborhoods",
            notes=tuple(notes),
            rejected=tuple(tuple(row) for row in source.data.rejected),
            stops_early=settings.patience is not None,
        )

    def fit(
        self,
        model: JunctionTreeVAE,
        plan: Plan[Molecules, JunctionTreeVAE],
        settings: AutoencoderSettings,
        *,
        folder: Path,
        resume: bool,
        progress: bool,
    ) -> JunctionTreeVAE:
        """Train all epochs, unless a patience is set, and calibrate on the validation molecules."""
        model.fit(
            plan.parts.train.smiles,
            validation=0 if settings.patience is None else _VALIDATION_SHARE,
            folder=folder,
            resume=resume,
            progress=progress,
            **settings.hardware(),
        )
        return model.calibrate(plan.parts.validation.smiles, progress=progress)

    def validate(self, model: JunctionTreeVAE, data: Molecules) -> tuple[float, float]:
        """The negative objective, and mean deviation of the trees.

        Not the ELBO: where nats are cheap, it rises with whatever makes the network use fewer of them.
        """
        scores = model.evaluate(_first(data, _MEASURED).smiles)
        return -scores.neural.objective(model.kl_weight), 0.0 if math.isnan(scores.deviation) else scores.deviation

    # -- measuring ---------------------------------------------------------------------------------------------

    def measures(self, test: Molecules, model: JunctionTreeVAE) -> Sequence[Measure]:
        """What is learned, the share of molecules that are reconstructed, and how far trees and network are apart."""
        return MEASURES

    def evaluate(self, model: JunctionTreeVAE, test: Molecules, *, progress: bool = False) -> Evaluation:
        """Scores of the network and of its trees."""
        import numpy as np

        test = _first(test, _MEASURED)
        scores = model.evaluate(test.smiles, progress=progress)
        encodable = test.select(scores.rows)
        decoded = model.reconstruct(encodable.smiles)
        hits = [text == smiles for text, smiles in zip(decoded, encodable.smiles, strict=True)]
        return Evaluation(
            scores={
                "objective": scores.neural.objective(model.kl_weight),
                "objective_of_trees": scores.tree.objective(model.kl_weight),
                "elbo": scores.neural.mean,
                "rate": float(scores.neural.kl.mean()),
                "reconstructed": sum(hits) / len(hits),
                "deviation": None if math.isnan(scores.deviation) else scores.deviation,
            },
            tested=len(encodable),
            deviations=scores.deviations[scores.sizes > 2],
            deviation_unit="KL(tree || network), the mean over the members, in nats",
            held_out=_held_out(model, encodable.smiles, progress=progress),
            calibration=model.calibration_,
            units=np.ones(len(model.names)),
        )

    def examples(
        self, model: JunctionTreeVAE, test: Molecules, *, level: float, progress: bool = False
    ) -> Sequence[ExplainedPoint]:
        """Explanations of test molecules whose neighborhoods say something."""
        from pellucid.molecules.vae.files import select_encodable

        molecules = _first(select_encodable(test, model.vocabulary_), _EXPLAINED)
        explanations = [model.explain(smiles, level=level) for smiles in molecules.smiles]
        return [
            ExplainedPoint(label, explanation, explanation.divergence or 0.0)
            for label, explanation in zip(molecules.labels(), explanations, strict=True)
            if len(explanation.members) > 2
        ]

    # -- use ---------------------------------------------------------------------------------------------------

    def load(self, folder: Path) -> JunctionTreeVAE:
        """A saved `JunctionTreeVAE`."""
        from pellucid.molecules.vae.model import JunctionTreeVAE

        return JunctionTreeVAE.load(folder)

    def outputs(self, model: JunctionTreeVAE) -> Sequence[str]:
        """The coordinates of the latent space."""
        return model.names

    def predict(
        self,
        model: JunctionTreeVAE,
        path: Path,
        reading: AutoencoderReading,
        settings: Options,
        *,
        progress: bool,
        warn: MessageCallback,
    ) -> Iterator[Sequence[Any]]:
        """The rows of the table, each followed by the mean of every latent coordinate."""
        from pellucid.molecules.vae.files import encoding_table

        return encoding_table(model, path, smiles=reading.smiles, names=reading.names, warn=warn)

    def explain(
        self,
        model: JunctionTreeVAE,
        what: str,
        reading: AutoencoderReading,
        settings: Options,
        *,
        level: float,
        progress: bool,
        warn: MessageCallback,
    ) -> ExplanationSet:
        """The tree of a molecule, or of each molecule of a table that the encoder can read."""
        from pellucid.molecules.vae.files import warn_of_stereo

        labels = molecules_in(what, reading, warn)
        explanations: dict[str, Explanation] = {}
        errors: dict[str, InputError] = {}
        for smiles, label in labels.items():
            try:
                explanations[label] = model.explain(smiles, level=level)
            except InputError as error:
                errors[label] = error
        if not explanations and errors:
            raise next(iter(errors.values()))
        warn_of_stereo([smiles for smiles, label in labels.items() if label in explanations], warn)
        return ExplanationSet(explanations, {label: str(error) for label, error in errors.items()})

    def sample(
        self,
        model: JunctionTreeVAE,
        count: int,
        *,
        prior: Literal["standard", "fitted"],
        seed: int,
        warn: MessageCallback,
    ) -> Iterator[Sequence[Any]]:
        """Valid molecules, some perhaps more than once."""
        if prior == "standard" and model.kl_weight < 1:
            warn(
                f"Where nats are cheap, points of N(0, I) are far from molecules: {Parameter('prior', 'fitted')} draws "
                "where those of training molecules are, and `pellucid near` around one of yours."
            )
        yield ["SMILES"]
        yield from ([text] for text in model.sample(count, seed=seed, prior=prior))

    def near(
        self, model: JunctionTreeVAE, item: str, count: int, *, spread: float, seed: int, warn: MessageCallback
    ) -> Iterator[Sequence[Any]]:
        """Different molecules near one, with their similarity to it."""
        from pellucid.molecules.vae.files import near_table

        return near_table(model, item, count, spread=spread, seed=seed, warn=warn)

    def optimize(
        self,
        model: JunctionTreeVAE,
        path: Path,
        reading: AutoencoderReading,
        *,
        target: str,
        start: str | None,
        steps: int,
        least_similarity: float,
        lower: bool,
        seed: int,
        warn: MessageCallback,
    ) -> Search:
        """A property that is linear in the latent space, and a search along its gradient."""
        from pellucid.molecules.vae.files import measured_property, molecule_alone
        from pellucid.molecules.vae.optimizing import optimize

        if start is not None:  # before the table, which may be long
            start = molecule_alone(start, warn)
            model.flat(start)
        head = measured_property(model, path, smiles=reading.smiles, names=reading.names, target=target, warn=warn)
        return optimize(
            model,
            head,
            head.best(lower=lower) if start is None else start,
            steps=steps,
            least_similarity=least_similarity,
            lower=lower,
            seed=seed,
        )

    def write_search(self, search: Optimization, path: Path, *, title: str) -> None:
        """A gallery of the steps, in their order."""
        from pellucid.molecules import report

        trees = {}
        for i, step in enumerate(search.steps):
            measured = "" if step.measured is None else f", measured {step.measured:.4g}"
            trees[f"step {i}: {search.change(i) if i else 'the start'}{measured}"] = search.explain(i)
        remark = "on this page the network is the encoder, followed by this linear function"
        report.write_explanations(trees, path, title=title, verdict=[*search.remarks(), remark])


def _untrained(settings: AutoencoderSettings, weight: float | None = None) -> JunctionTreeVAE:
    """The model of these settings; the weight of its game follows the price of a nat unless there is one."""
    from pellucid.molecules.neighborhoods import SimilarityRule
    from pellucid.molecules.vae.model import JunctionTreeVAE

    values: dict[str, Any] = settings.chosen("latent", "depth", "patience", "kl_weight", "free")
    if settings.analogs == "no":
        values["similar"] = SimilarityRule(analogs=False)
    return JunctionTreeVAE(
        game=None if settings.game == "none" else settings.game,
        held_out_game=settings.held_out,
        weight=usual_weight(settings.kl_weight) if weight is None else weight,
        **values,
    )


def usual_weight(kl_weight: float) -> float:
    """The weight of the game that suits a price of a nat: where nats are cheap, deviations in nats are large.

    A power of the price, through the two weights that were measured, see `paper.rate_games`.

    Examples
    --------
    >>> usual_weight(0.005), usual_weight(0.1), usual_weight(1)
    (0.001, 0.03, 0.4)
    """
    return float(f"{0.4 * kl_weight**1.13:.1g}")


def _parts(molecules: Molecules, seed: int, kind: Literal["random", "scaffold"]) -> tuple[Parts[Molecules], int]:
    """The parts of a split, and the number of molecules in none of them: their labels do not occur in training."""
    from pellucid import splitting
    from pellucid.molecules.splitting import split
    from pellucid.molecules.vae.corpus import corpus_of
    from pellucid.molecules.vae.files import select_encodable

    parts = split(molecules, seed, kind)
    vocabulary = corpus_of(parts.train.smiles).vocabulary()
    encodable = splitting.Parts(
        parts.train, select_encodable(parts.validation, vocabulary), select_encodable(parts.test, vocabulary)
    )
    for name in ("validation", "test"):
        if not len(getattr(encodable, name)):
            raise InputError(
                "Molecules to validate and test on must have labels that occur among the molecules to learn from",
                got=f"none of the {len(getattr(parts, name))} for {name} with these labels",
                cure=f"add more molecules, or use {Parameter('split', 'random')}",
            )
    return encodable, sum(map(len, parts)) - sum(map(len, encodable))


def _first(molecules: Molecules, most: int) -> Molecules:
    return molecules.select(range(min(len(molecules), most)))


def _held_out(model: JunctionTreeVAE, smiles: Sequence[str], *, progress: bool) -> HeldOut:
    """The trees at members that they were not fitted to, around molecules that the encoder can read."""
    from pellucid.molecules.vae.measuring import posteriors
    from pellucid.trust import held_out

    neighborhoods = model.encodable(model.neighborhoods(smiles, progress=progress), progress=progress)
    f = posteriors(model.network_, model.vocabulary_, neighborhoods.corpus, neighborhoods.index)
    return held_out(f, neighborhoods.fingerprints.dense(), neighborhoods.hoods, model.family(), seed=1)
