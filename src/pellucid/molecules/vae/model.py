"""A junction-tree variational autoencoder whose encoder can be read, around every molecule, as a small tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks
from pellucid.deviations import gaussian_kl
from pellucid.errors import InputError
from pellucid.games import Game
from pellucid.models import FittedAttribute, new_with_seed
from pellucid.molecules._arguments import calibration_sample, require_validation_share
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.explained_neighborhood import ExplainedNeighborhood
from pellucid.molecules.models import MoleculeModel
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods, SimilarityRule
from pellucid.molecules.network import MAX_DEPTH
from pellucid.molecules.table import Rejection
from pellucid.molecules.tasks import IDENTITY
from pellucid.molecules.tree_explanation import TreeExplanation, bit_names, explain_by_tree
from pellucid.molecules.vae._arguments import EncodableMolecules, encodable_molecules, training_corpus
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.fitted import FittedAutoencoder
from pellucid.molecules.vae.fitting import AutoencoderFit
from pellucid.molecules.vae.generation import decode
from pellucid.molecules.vae.measuring import PIECE, bound, encoder_scores, generator_of, posteriors
from pellucid.molecules.vae.neighborhoods import EncodableNeighborhoods
from pellucid.molecules.vae.networks import TreeAutoencoder
from pellucid.molecules.vae.prior import FittedPrior
from pellucid.molecules.vae.scores import Elbo, EncoderScores
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.named_games import named_game
from pellucid.training.hardware import Hardware
from pellucid.trust import LEVEL, Calibration, calibrate
from pellucid.witnesses import TreeFamily
from pellucid.witnesses.tree import TreeWitnesses

# The number of molecules whose neighborhoods are in memory at once when a model is measured.
_CENTERS = 1000
# Molecules that are enough to calibrate on, though there are many outputs.
_CALIBRATION_SIZE = 300
# Around one molecule; they are in memory together.
_MOST_POINTS = 1_000_000


class Encoding(NamedTuple):
    """Gaussians of N molecules; the first half of the columns describes the tree, the second how it is assembled."""

    mean: np.ndarray
    """(N, 2 L), NaN for rejected molecules."""
    log_variance: np.ndarray
    """(N, 2 L)."""
    rejected: tuple[Rejection, ...] = ()
    """Rejected molecules, with the reason; rows start at 1."""
    flattened: int = 0
    """Molecules with a junction tree whose stereochemistry, which the encoder does not see, was dropped."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class JunctionTreeVAE(MoleculeModel[FittedAutoencoder]):
    """A variational autoencoder of molecules: to points of a latent space, and back to molecules that are valid.

    A molecule M is a junction tree T of clusters and the way G in which these are assembled. The encoder
    maps it to q(z | M), independent Gaussians for z = (z_T, z_G); the decoder generates the tree from z_T, cluster by
    cluster, and attaches the clusters with z_G. Training maximises

        E_q [ log p(T | z_T) + log p(G | T, z_G) ] - kl_weight * KL(q(z | M) || N(0, I)) - weight * mean over M of D_M,
        D_M = mean over members M' of KL( sg(g_M(M')) || q(M') )

    where g_M is a tree over Morgan fingerprints that predicts [mean, log-variance] of z on the neighborhood B(M),
    fitted with squared error; the asymmetric game looks at the center alone, `game=None` plays none, and with
    `held_out_game` the tree of a member was not fitted to it, g_M-M' in the place of g_M. The weight of the first KL
    rises from 0 to `kl_weight` over the first part of the training, and its mean over a batch costs
    nothing below `free`: at a high price the decoder, which is good at guessing, would otherwise learn to do without z.

    The rate of the code, the mean of that KL, decides what the model is good for. With a small `kl_weight`, as by
    default, most molecules come back from their z, and the prior is not where they are. With `kl_weight=1, free=10`,
    the setting of the paper, the bound is the evidence lower bound and samples of the prior look like the training
    molecules, but little of a molecule comes back.

    Parameters
    ----------
    game : {"symmetric", "asymmetric"}, optional
        The game that the encoder plays; None plays none.
    weight : float
        Weight of the game: a large one makes the encoder follow its witnesses at the expense of the bound. With cheap
        nats posteriors are sharp, and deviations in nats are large: weights must be smaller there. The default is for
        `kl_weight=0.005`; 0.4 suits `kl_weight=1, free=10`.
    held_out_game : bool
        Whether the encoder pays at each member for the witness that was fitted without it; see `SymmetricGame`.
    delta : int
        Trees on m members have at most max(ceil(log2 m) - 1 + delta, 1) levels of splits.
    similar : SimilarityRule
        Which molecules are neighbors.
    centers : int
        The number of training molecules, chosen at random, whose neighborhoods play.
    pool : int
        The number of training molecules, chosen at random, among which neighbors are looked for.
    share : float
        The number of neighborhoods that play in a step, per molecule in its batch.
    members : int
        The number of members of a neighborhood, chosen at random, that take part in a step. Explanations and scores
        always use all of them.
    width : int
        The width of all hidden layers; the paper's is 450.
    latent : int
        The number of coordinates that describe the tree, and as many that describe how it is assembled.
    depth : int
        Rounds of message passing through the graph.
    positional : bool
        Whether labels, numbers of children and attachments of the clusters are also written into z place by place,
        from where the decoder reads them: the code then learns to give molecules back many times faster. The paper's
        networks do without.
    warm : float
        The share of the training during which the weight of the KL term rises.
    kl_weight : float
        The weight of the KL term after that, above 0 and at most 1.
    free : float
        Nats of KL that cost nothing in training; 0 trains for the bound itself. Bounds that are reported always count
        all of it, at weight 1.
    epochs, batch_size, learning_rate : int or float
        Training settings: Adam with a one-cycle rate that peaks at `learning_rate`.
    patience : int
        Stop after this many epochs without a better bound, its KL weighed as in training, on the validation data.
    seed : int
        Seed of the initial weights, the order of batches, the noise, and all random choices.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The labels of clusters that occur in the training molecules.
    pool_, groups_ : tuple of str or RGroups
        The molecules among which neighbors are looked for, and the groups that analogs are made with.
    network_ : TreeAutoencoder
        Encoder and decoder.
    history_ : list of dict of str to float
        One record of losses per epoch.
    calibration_ : Calibration, optional
        How far trees can be trusted, learned from held-out molecules; see `calibrate`.
    prior_ : FittedPrior, optional
        Where the codes of training molecules are; models of earlier versions have none.
    rejected_ : tuple of Rejection
        Rejected rows, with the reason; of many the first thousand.
    rejected_counts_ : dict of str to int
        The number of rejected rows, by reason.
    flattened_ : int
        Molecules to learn from whose stereochemistry was dropped.
    """

    game: Literal["symmetric", "asymmetric"] | None = "symmetric"
    weight: float = 0.001
    held_out_game: bool = False
    similar: SimilarityRule = field(default_factory=lambda: SimilarityRule(groups_per_kind=8, most=100))
    centers: int = 10_000
    pool: int = 100_000
    share: float = 0.0625
    width: int = 128
    latent: int = 56
    depth: int = 3
    positional: bool = True
    warm: float = 0.3
    kl_weight: float = 0.005
    free: float = 0.0
    epochs: int = 10
    batch_size: int = 32
    learning_rate: float = 3e-3

    file: ClassVar[str] = "junction_tree_vae"
    record_type = FittedAutoencoder

    vocabulary_ = FittedAttribute[Vocabulary]()
    pool_ = FittedAttribute[tuple[str, ...]]()
    groups_ = FittedAttribute[RGroups]()
    network_ = FittedAttribute[TreeAutoencoder]()
    rejected_ = FittedAttribute[tuple[Rejection, ...]]()
    rejected_counts_ = FittedAttribute[dict[str, int]]()
    flattened_ = FittedAttribute[int]()
    calibration_ = FittedAttribute[Calibration | None]()
    prior_ = FittedAttribute[FittedPrior | None]()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_one_of(("symmetric", "asymmetric", None), "game")
        self._require_type(bool, "held_out_game")
        self._require_type(bool, "positional")
        self._require_whole(1, "centers", "pool")
        self._require_size("width", "latent")
        self._require_whole(1, "depth", most=MAX_DEPTH)
        self._require_number(0, "free")
        self._require_share("kl_weight", least=1e-6)
        self._require_share("warm")

    # -- training ----------------------------------------------------------------------------------------------

    def fit(
        self,
        source: Corpus | str | Path | Iterable[str],
        *,
        validation: float = 0.01,
        on_error: Literal["raise", "skip"] = "skip",
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
        device: str = "auto",
        devices: int = 1,
        nodes: int = 1,
        strategy: Literal["auto", "ddp"] = "auto",
    ) -> JunctionTreeVAE:
        """Learn from molecules, however many.

        Parameters
        ----------
        source : Corpus, str, Path or iterable of str
            SMILES, or a text file of them, or what `Corpus.build` made of either.
        validation : float
            The share of the molecules to hold out, at random, for early stopping; 0 trains all epochs on everything.
        on_error : {"raise", "skip"}
            "skip" rejects molecules that cannot be used, counts them in `rejected_counts_` and lists the first
            thousand in `rejected_`; "raise" refuses them.
        folder : str or Path, optional
            The folder of the checkpoints, about one a minute; None writes none.
        resume : bool
            Go on from the checkpoint in `folder`, if there is one. An interrupted and resumed run gives the same model
            as an uninterrupted one.
        progress : bool
            Show progress bars.
        device : str
            "auto", "cpu", "gpu" or another accelerator that Lightning knows.
        devices, nodes : int
            Processes on each machine, each with a core or a GPU of its own, and machines; see `Hardware`. The result is
            that of one process, up to rounding.
        strategy : {"auto", "ddp"}
            How processes average gradients; see `Hardware`.
        """
        hardware = Hardware(device=device, devices=devices, nodes=nodes, strategy=strategy)
        require_validation_share(validation)
        corpus = training_corpus(source, on_error, progress=progress)
        fit = AutoencoderFit(self, corpus, validation=validation, progress=progress)
        encodable = np.intersect1d(fit.held_out, corpus.encodable(fit.vocabulary)[0])
        held_out = [corpus.smiles(int(i)) for i in encodable] or None
        return self._train(fit, held_out, folder=folder, resume=resume, progress=progress, hardware=hardware)

    def new_network(self, *, vocabulary: Vocabulary, **_: Any) -> TreeAutoencoder:
        """An untrained encoder and decoder of these labels."""
        return new_with_seed(
            self.seed,
            lambda: TreeAutoencoder(
                vocabulary, width=self.width, latent=self.latent, depth=self.depth, positional=self.positional
            ),
        )

    def new_game(self) -> Game | None:
        """The game that is played."""
        return named_game(
            self.game, self.family(), weight=self.weight, deviation=gaussian_kl, held_out=self.held_out_game
        )

    def family(self, delta: int | None = None) -> TreeFamily:
        """The trees that are witnesses, or those of another size."""
        return TreeFamily(depth=self._depth_rule(delta), criterion="squared")

    # -- the latent space ----------------------------------------------------------------------------------------

    def encode(self, smiles: str | Iterable[str] | Corpus, *, on_error: Literal["raise", "skip"] = "raise") -> Encoding:
        """q(z | M) of molecules.

        Parameters
        ----------
        smiles : str, iterable of str or Corpus
            The molecules.
        on_error : {"raise", "skip"}
            "raise" refuses molecules that have no junction tree, or one with unknown labels; "skip" encodes them
            as NaN, and lists them in `rejected`.
        """
        molecules = self._read(smiles, on_error, least=0)
        result = np.full((molecules.total, 4 * self.latent), np.nan, dtype=np.float32)
        if len(molecules.rows):
            result[molecules.rows] = self._posteriors(molecules.corpus, molecules.indices).numpy()
        mean, log_variance = np.split(result, 2, axis=1)
        return Encoding(mean, log_variance, molecules.rejected, molecules.corpus.flattened)

    def decode(self, z: Any, *, seed: int | None = None) -> list[str]:
        """The molecules at points z (N, 2 L): every step takes what is most likely, or with a seed draws at random."""
        network, vocabulary = self.network_, self.vocabulary_
        points = _checks.tensor(z.detach() if isinstance(z, Tensor) else z, "z").float()
        if points.ndim != 2 or points.shape[1] != 2 * self.latent or not points.isfinite().all():
            raise InputError(
                f"Points must be finite, (N, {2 * self.latent})",
                got=f"{tuple(points.shape)}{'' if points.isfinite().all() else ' with NaN or infinity'}",
                cure="a single one is `z[None]`",
            )
        generator = None if seed is None else generator_of(seed)
        return [text for part in points.split(PIECE) for text in decode(network, vocabulary, part, generator)]

    def reconstruct(self, smiles: str | Iterable[str] | Corpus) -> list[str]:
        """The molecules that come back from the means of the encodings."""
        return self.decode(self.encode(smiles).mean)

    def sample(
        self,
        count: int,
        *,
        seed: int = 0,
        greedy: bool = False,
        prior: Literal["standard", "fitted"] = "standard",
    ) -> list[str]:
        """Molecules from points of a Gaussian.

        Parameters
        ----------
        count : int
            The number of molecules.
        seed : int
            Seed of the points, and of the decoder's random choices.
        greedy : bool
            Let the decoder take what is most likely at every step, rather than draw at random.
        prior : {"standard", "fitted"}
            "standard" draws points from N(0, I), the prior of the bound; "fitted" from the Gaussian with mean and
            covariance of the codes of training molecules, see `FittedPrior`. Where nats are cheap, molecules are far
            from most points of N(0, I).
        """
        network, vocabulary = self.network_, self.vocabulary_
        if prior not in ("standard", "fitted"):
            raise InputError('`prior` must be "standard" or "fitted"', got=f"{prior!r}", parameter="prior")
        fitted = self.prior_ if prior == "fitted" else None
        if prior == "fitted" and fitted is None:
            raise InputError(
                "A model must know where its codes are to draw there",
                got="one saved by an earlier version",
                cure='train it again, or use prior="standard"',
                parameter="prior",
            )
        # One source of random numbers for points and decisions, which must not depend on each other.
        generator, count = generator_of(seed), _checks.whole(count, 1, "count")
        molecules: list[str] = []
        while len(molecules) < count:
            z = torch.randn(min(PIECE, count - len(molecules)), 2 * self.latent, generator=generator)
            molecules += decode(
                network, vocabulary, z if fitted is None else fitted.points(z), None if greedy else generator
            )
        return molecules

    def sample_near(self, smiles: str, count: int, *, spread: float = 1.0, seed: int = 0) -> list[str]:
        """Different molecules near one, the nearest points first.

        Points are drawn from its posterior, widened by `spread`, and decoded by what is most likely at every step.

        Parameters
        ----------
        smiles : str
            The molecule.
        count : int
            The number of points; several may be the same molecule, or the one itself, which are left out.
        spread : float
            By how much the standard deviations of the posterior are multiplied.
        seed : int
            Seed of the points.
        """
        if not isinstance(smiles, str):
            raise InputError(
                "Molecules are drawn near one at a time", got=f"{type(smiles).__name__}", cure="use a loop"
            )
        count = _checks.whole(count, 1, "count", _MOST_POINTS)
        spread = _checks.at_least(spread, 0, "spread", "sample_near")
        encoding = self.encode(smiles)
        noise = torch.randn(count, 2 * self.latent, generator=generator_of(seed)).numpy()
        noise = noise[np.argsort(np.square(noise).sum(1), kind="stable")]
        near = self.decode(encoding.mean + spread * np.exp(0.5 * encoding.log_variance) * noise)
        (itself,) = self.flat(smiles)
        return [text for text in dict.fromkeys(near) if text != itself]

    def interpolate(self, first: str, last: str, *, steps: int = 9) -> list[str]:
        """Molecules on the straight line between two encodings, both ends included, without repetitions in a row."""
        begin, end = (self.encode(smiles).mean for smiles in (first, last))
        shares = np.linspace(0, 1, _checks.whole(steps, 2, "steps"))[:, None]
        path = self.decode((1 - shares) * begin + shares * end)
        return [text for k, text in enumerate(path) if not k or text != path[k - 1]]

    def elbo(self, smiles: str | Iterable[str] | Corpus, *, draws: int = 1, seed: int = 0) -> Elbo:
        """The evidence lower bound of molecules, its expectation estimated by `draws` samples of each posterior."""
        molecules, draws = self._read(smiles, "raise"), _checks.whole(draws, 1, "draws")
        corpus, indices = molecules.corpus, molecules.indices
        joined = self._posteriors(corpus, indices)
        return bound(self.network_, self.vocabulary_, corpus, indices, joined, draws=draws, seed=seed)

    def flat(self, smiles: str | Iterable[str] | Corpus) -> list[str]:
        """Canonical SMILES of molecules as the encoder sees them: without stereochemistry."""
        return self._read(smiles, "raise").smiles()

    def _read(self, smiles: Any, on_error: Literal["raise", "skip"], least: int = 1) -> EncodableMolecules:
        return encodable_molecules(smiles, self.vocabulary_, on_error, least)

    def _posteriors(self, corpus: Corpus, index: np.ndarray) -> Tensor:
        return posteriors(self.network_, self.vocabulary_, corpus, index)

    # -- witnesses -----------------------------------------------------------------------------------------------

    def neighborhoods(self, smiles: str | Iterable[str], *, progress: bool = False) -> MoleculeNeighborhoods:
        """The neighborhoods of molecules: similar ones among those of the pool, and analogs."""
        return self._find_neighborhoods(
            self._read(smiles, "raise").smiles(), self.pool_, self.groups_, progress=progress
        )

    def witnesses(self, neighborhoods: EncodableNeighborhoods, *, delta: int | None = None) -> TreeWitnesses:
        """The trees that follow the encoder in these neighborhoods."""
        f = self._posteriors(neighborhoods.corpus, neighborhoods.index)
        witnesses = self.family(delta).best_response(neighborhoods.fingerprints.dense(), f, neighborhoods.hoods)
        return witnesses.named(bit_names(self.morgan.size), self.names)

    def encodable(self, neighborhoods: MoleculeNeighborhoods, *, progress: bool = False) -> EncodableNeighborhoods:
        """Neighborhoods without the members that the encoder cannot read."""
        return EncodableNeighborhoods.of(neighborhoods, self.vocabulary_, self.morgan, progress=progress)

    @property
    def names(self) -> list[str]:
        """Names of the outputs of witnesses."""
        parts = [f"{part} {i + 1}" for part in ("tree", "graph") for i in range(self.latent)]
        return [f"{kind} of {part}" for kind in ("mean", "log-variance") for part in parts]

    def explain(self, smiles: str, *, delta: int | None = None, level: float = LEVEL) -> TreeExplanation:
        """The latent representation of one molecule, and the tree of substructures that the encoder follows there.

        Parameters
        ----------
        smiles : str
            The molecule.
        delta : int, optional
            Another size of tree than the one trained for; it has no bound.
        level : float
            The confidence of the bound.
        """
        if not isinstance(smiles, str):
            raise InputError("One molecule is explained at a time", got=f"{type(smiles).__name__}", cure="use a loop")
        neighborhoods = self.neighborhoods(smiles)
        encodable = self.encodable(neighborhoods)
        witnesses = self.witnesses(encodable, delta=delta)
        calibration = self.calibration_ if delta is None or delta == self.delta else None
        members = encodable.restrict(neighborhoods)
        (around,) = ExplainedNeighborhood.each_of(
            witnesses,
            members,
            task=IDENTITY,
            morgan=self.morgan,
            calibration=calibration,
            level=level,
            analogs=self.similar.analogs,
        )
        explanation = explain_by_tree(witnesses, around)
        return replace(explanation, divergence=float(witnesses.deviations(gaussian_kl)[0]))

    def calibrated(self, data: Iterable[str], *, progress: bool = False) -> FittedAutoencoder:
        """The record, with a calibration on these molecules.

        Molecules that the encoder cannot read are ignored, and of many a few hundred are chosen at random.
        """
        molecules = self._read(calibration_sample(data, self.seed, _CALIBRATION_SIZE), "skip")
        neighborhoods = self.encodable(self.neighborhoods(molecules.smiles(), progress=progress), progress=progress)
        f = self._posteriors(neighborhoods.corpus, neighborhoods.index)
        calibration = calibrate(f, neighborhoods.fingerprints.dense(), neighborhoods.hoods, self.family())
        return replace(self.fitted_, calibration=calibration)

    def evaluate(
        self, smiles: Iterable[str] | Corpus, *, draws: int = 1, seed: int = 0, progress: bool = False
    ) -> EncoderScores:
        """The ELBO with the network's posteriors and with those of the local trees, and how far these deviate.

        Parameters
        ----------
        smiles : iterable of str or Corpus
            The molecules; those that the encoder cannot read are counted in the scores.
        draws : int
            The number of samples of each posterior.
        seed : int
            Seed of the samples.
        progress : bool
            Show progress bars.
        """
        molecules = self._read(smiles, "skip")
        texts = molecules.smiles()
        different = list(dict.fromkeys(texts))
        parts = []
        for begin in range(0, len(different), _CENTERS):
            centers = different[begin : begin + _CENTERS]
            part = self.encodable(self.neighborhoods(centers, progress=progress), progress=progress)
            parts.append(encoder_scores(self.network_, part, self.witnesses(part), draws=draws, seed=seed))
        index = {text: i for i, text in enumerate(different)}
        return EncoderScores.joined(parts).select(
            np.array([index[text] for text in texts]), rows=molecules.rows, rejected_count=molecules.rejected_count
        )
