"""A junction-tree variational autoencoder whose encoder can be read, around every molecule, as a small tree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks, storage
from pellucid.deviations import gaussian_kl
from pellucid.errors import InputError, Parameter
from pellucid.games import AsymmetricGame, Game, SymmetricGame
from pellucid.molecules._inputs import some, whole_delta
from pellucid.molecules.analogs import RGroups
from pellucid.molecules.explanation import MoleculeExplanation, bit_names, explain
from pellucid.molecules.neighborhoods import MoleculeNeighborhoods, SimilarityRule
from pellucid.molecules.table import Rejection
from pellucid.molecules.tasks import Task
from pellucid.molecules.vae.corpus import Corpus
from pellucid.molecules.vae.fitting import AutoencoderFit
from pellucid.molecules.vae.generation import decode
from pellucid.molecules.vae.measuring import PIECE, bound, posteriors
from pellucid.molecules.vae.networks import TreeAutoencoder
from pellucid.molecules.vae.readable import Readable
from pellucid.molecules.vae.reading import Given, listed, read, require_on_error
from pellucid.molecules.vae.scores import Elbo, EncoderScores
from pellucid.molecules.vae.vocabulary import Vocabulary
from pellucid.numbers import counted
from pellucid.trust import LEVEL, Calibration, calibrate
from pellucid.witnesses import TreeFamily, effective_depth
from pellucid.witnesses.tree import TreeWitnesses

# Molecules whose neighborhoods are looked at together when a model is measured.
_CENTERS = 1000
# Molecules that are enough to calibrate on, though there are many outputs.
_CALIBRATING = 300


class Encoding(NamedTuple):
    """Gaussians of N molecules; the first half of the columns describes the tree, the second how it is assembled."""

    mean: np.ndarray
    """(N, 2 L), NaN for molecules that were skipped."""
    log_variance: np.ndarray
    """(N, 2 L)."""
    rejected: tuple[Rejection, ...] = ()
    """Molecules that were skipped, with the reason; the first has the row 1."""


@final
@dataclass(kw_only=True, eq=False)
class JunctionTreeVAE:
    """A variational autoencoder of molecules: to points of a latent space, and back to molecules that are valid.

    A molecule M is a junction tree T of clusters and the way G in which these are assembled. The encoder gives
    q(z | M), independent Gaussians for z = (z_T, z_G); the decoder tells the tree from z_T, cluster by cluster, and
    attaches the clusters with z_G. Training maximises

        E_q [ log p(T | z_T) + log p(G | T, z_G) ] - KL(q(z | M) || N(0, I))  -  weight * mean over M of D_M,
        D_M = mean over members M' of KL( sg(g_M(M')) || q(M') )

    where g_M is a tree over Morgan fingerprints that predicts [mean, log-variance] of z on the neighborhood B(M),
    fitted with squared error; the asymmetric game looks at the center alone, `game=None` plays none. The weight of
    the first KL rises from 0 to 1 over the first part of the training, and its mean over a batch costs nothing below
    `free`: the decoder is good at guessing, and would otherwise learn to do without z.

    Parameters
    ----------
    game : {"symmetric", "asymmetric"}, optional
        "symmetric", "asymmetric" or None.
    weight : float
        Of the game: a large one makes the encoder follow its witnesses at the expense of the bound.
    delta : int
        Trees on m members have at most max(ceil(log2 m) - 1 + delta, 1) levels of splits.
    similar : SimilarityRule
        Who is whose neighbor.
    centers : int
        Molecules learned from, chosen at random, whose neighborhoods play.
    pool : int
        Molecules learned from, chosen at random, among which neighbors are looked for.
    share : float
        Neighborhoods that play in a step, per molecule in its batch.
    members : int
        Of a neighborhood, chosen at random, take part in a step. Explanations and scores always use whole ones.
    width : int
        Of all hidden layers; the paper's is 450.
    latent : int
        Numbers that describe the tree, and as many that describe how it is assembled.
    depth : int
        Rounds of message passing through the graph.
    warm : float
        The share of the training during which the weight of the KL term rises.
    free : float
        Nats of KL that cost nothing in training; 0 trains for the bound itself. Bounds that are reported always count
        all of it.
    epochs, batch_size, learning_rate : int or float
        Of the training: Adam with a one-cycle rate that peaks at `learning_rate`.
    patience : int
        Stop after so many epochs without a better ELBO on the validation data.
    seed : int
        Of initial weights, order of batches, noise, and all choices at random.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The labels of clusters that it knows.
    pool_, groups_ : tuple of str or RGroups
        Where neighbors come from.
    network_ : TreeAutoencoder
        Encoder and decoder.
    history_ : list of dict of str to float
        One record of losses per epoch.
    calibration_ : Calibration, optional
        How far trees can be trusted, learned from molecules held out; see `calibrate`.
    rejected_ : tuple of Rejection
        Rows that were left out, with the reason; of many the first thousand.
    left_out_ : dict of str to int
        How many were left out, by reason.
    """

    game: Literal["symmetric", "asymmetric"] | None = "symmetric"
    weight: float = 0.1
    delta: int = 0
    similar: SimilarityRule = field(default_factory=lambda: SimilarityRule(groups_per_kind=8, most=100))
    centers: int = 10_000
    pool: int = 100_000
    share: float = 0.0625
    members: int = 16
    width: int = 200
    latent: int = 28
    depth: int = 3
    warm: float = 0.3
    free: float = 10.0
    epochs: int = 10
    batch_size: int = 128
    learning_rate: float = 2e-3
    patience: int = 10
    seed: int = 0

    vocabulary_: Vocabulary = field(init=False, repr=False)
    pool_: tuple[str, ...] = field(init=False, repr=False)
    groups_: RGroups = field(init=False, repr=False)
    network_: TreeAutoencoder = field(init=False, repr=False)
    history_: list[dict[str, float]] = field(init=False, repr=False)
    rejected_: tuple[Rejection, ...] = field(init=False, repr=False)
    left_out_: dict[str, int] = field(init=False, repr=False)
    calibration_: Calibration | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.game not in (None, "symmetric", "asymmetric"):
            raise InputError(
                f'{Parameter("game", of="JunctionTreeVAE")} must be "symmetric", "asymmetric" or None',
                got=f"{self.game!r}",
                parameter="game",
            )
        if not isinstance(self.similar, SimilarityRule):
            raise InputError(
                "`similar` of JunctionTreeVAE must be a SimilarityRule", got=f"{self.similar!r}", parameter="similar"
            )
        for name in ("centers", "pool", "width", "latent", "depth", "epochs", "batch_size", "patience"):
            setattr(self, name, _checks.whole(getattr(self, name), 1, name))
        self.members = _checks.whole(self.members, 3, "members")
        self.seed = _checks.whole(self.seed, 0, "seed", 2**31 - 1)
        for name, low in (("weight", 0), ("share", 1e-9), ("warm", 0), ("free", 0), ("learning_rate", 1e-9)):
            setattr(self, name, _checks.at_least(getattr(self, name), low, name, "JunctionTreeVAE"))
        if self.warm > 1:
            raise InputError(
                "`warm` of JunctionTreeVAE must be a share of the training", got=f"{self.warm!r}", parameter="warm"
            )
        self.delta = whole_delta(self.delta)

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
    ) -> JunctionTreeVAE:
        """Learn from molecules, however many.

        Parameters
        ----------
        source : Corpus, str, Path or iterable of str
            SMILES, or a text file of them, or what `Corpus.build` made of either.
        validation : float
            The share of the molecules to hold out, at random, for early stopping; 0 trains all epochs on everything.
        on_error : {"raise", "skip"}
            "skip" leaves out molecules that cannot be used, counts them in `left_out_` and lists the first thousand in
            `rejected_`; "raise" refuses them.
        folder : str or Path, optional
            Where checkpoints go, about one a minute; None keeps none.
        resume : bool
            Go on from the checkpoint in `folder`, if there is one. An interrupted and resumed run gives the same model
            as an uninterrupted one.
        progress : bool
            Show progress bars.
        device : str
            "auto", "cpu", "gpu" or another accelerator that Lightning knows.
        """
        from pellucid import training

        require_on_error(on_error)
        self._split(2, validation)
        corpus = source if isinstance(source, Corpus) else Corpus.build(source, progress=progress)
        total = sum(corpus.reasons.values())
        if total and (on_error == "raise" or not len(corpus)):
            raise InputError(
                "Every row must be a molecule with a junction tree",
                got=f"{listed(corpus.rejected, total)}. Mend or remove these rows",
                cure=f"{Parameter('on_error', 'skip')} goes on without them, if there are others",
                parameter="on_error",
            )
        learned, watched = self._split(len(corpus), validation)
        setting = AutoencoderFit(self, corpus, learned, watched, progress)
        self.history_ = training.train(
            setting.network,
            setting.loss,
            setting.batches,
            setting.watching,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            patience=self.patience,
            identity={"data": corpus.key(), "validation": validation, **self._settings()},
            folder=None if folder is None else Path(folder),
            resume=resume,
            progress=progress,
            device=device,
        )
        self.vocabulary_, self.network_ = setting.vocabulary, setting.network
        self.pool_, self.groups_, self.rejected_ = setting.pool, setting.groups, corpus.rejected
        self.left_out_ = dict(corpus.reasons)
        self.calibration_ = None
        held = np.intersect1d(watched, corpus.known(self.vocabulary_)[0])
        return self.calibrate([corpus.smiles(int(i)) for i in held], progress=progress) if len(held) else self

    def _split(self, count: int, validation: float) -> tuple[np.ndarray, np.ndarray]:
        if isinstance(validation, bool) or not isinstance(validation, int | float) or not 0 <= validation < 1:
            raise InputError(
                f"{Parameter('validation')} must be a share in [0, 1)",
                got=f"{validation!r}",
                cure="try 0.01",
                parameter="validation",
            )
        held = max(round(validation * count), 1) if validation else 0
        if held >= count:
            raise InputError(
                "There must be molecules left to learn from",
                got=f"{counted(count, 'molecule')} that can be used, of which {held} would be held out",
                cure="give more",
            )
        order = np.random.default_rng(self.seed).permutation(count)
        return np.sort(order[held:]), np.sort(order[:held])

    def new_network(self, vocabulary: Vocabulary) -> TreeAutoencoder:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return TreeAutoencoder(vocabulary, width=self.width, latent=self.latent, depth=self.depth)

    def new_game(self) -> Game | None:
        if self.game is None:
            return None
        kind = SymmetricGame if self.game == "symmetric" else AsymmetricGame
        return kind(self.family(), weight=self.weight, deviation=gaussian_kl)

    def family(self, delta: int | None = None) -> TreeFamily:
        """The trees that are witnesses, or those of another size."""
        rule = effective_depth(self.delta if delta is None else whole_delta(delta))
        return TreeFamily(depth=rule, criterion="squared")

    # -- the latent space ----------------------------------------------------------------------------------------

    def encode(self, smiles: str | Iterable[str] | Corpus, *, on_error: Literal["raise", "skip"] = "raise") -> Encoding:
        """q(z | M) of molecules.

        Parameters
        ----------
        on_error : {"raise", "skip"}
            "raise" refuses molecules that have no junction tree, or one with unknown labels; "skip" gives them NaN,
            and lists them in `rejected`.
        """
        given = self._read(smiles, on_error)
        result = np.full((given.total, 4 * self.latent), np.nan, dtype=np.float32)
        result[given.rows] = posteriors(self.network_, self.vocabulary_, given.corpus, given.known).numpy()
        mean, log_variance = np.split(result, 2, axis=1)
        return Encoding(mean, log_variance, given.rejected)

    def decode(self, z: Any, *, seed: int | None = None) -> list[str]:
        """The molecules at points z (N, 2 L): at every step what is most likely, or a draw with a seed."""
        _checks.fitted(self)
        points = _checks.tensor(z.detach() if isinstance(z, Tensor) else z, "z").float()
        if points.ndim != 2 or points.shape[1] != 2 * self.latent or not points.isfinite().all():
            raise InputError(
                f"Points must be finite, (N, {2 * self.latent})",
                got=f"{tuple(points.shape)}{'' if points.isfinite().all() else ' with NaN or infinity'}",
                cure="a single one is `z[None]`",
            )
        source = None if seed is None else _source(seed)
        return [text for part in points.split(PIECE) for text in decode(self.network_, self.vocabulary_, part, source)]

    def reconstruct(self, smiles: str | Iterable[str] | Corpus) -> list[str]:
        """The molecules that come back from the means of the encodings."""
        return self.decode(self.encode(smiles).mean)

    def sample(self, count: int, *, seed: int = 0, greedy: bool = False) -> list[str]:
        """Molecules from the prior.

        Parameters
        ----------
        greedy : bool
            Take what is most likely at every step, rather than a draw.
        """
        _checks.fitted(self)
        # One source of random numbers for points and decisions, which must not depend on each other.
        source, left = _source(seed), _checks.whole(count, 1, "count")
        found: list[str] = []
        while len(found) < left:
            z = torch.randn(min(PIECE, left - len(found)), 2 * self.latent, generator=source)
            found += decode(self.network_, self.vocabulary_, z, None if greedy else source)
        return found

    def interpolate(self, first: str, last: str, *, steps: int = 9) -> list[str]:
        """Molecules on the straight line between two encodings, both ends included; the first of equals that follow
        each other.
        """
        mean = self.encode([first, last]).mean
        along = np.linspace(0, 1, _checks.whole(steps, 2, "steps"))[:, None]
        found = self.decode((1 - along) * mean[0] + along * mean[1])
        return [text for k, text in enumerate(found) if not k or text != found[k - 1]]

    def elbo(self, smiles: str | Iterable[str] | Corpus, *, draws: int = 1, seed: int = 0) -> Elbo:
        """The evidence lower bound of molecules, the expectation estimated by so many draws of each."""
        given = self._read(smiles, "raise")
        found = posteriors(self.network_, self.vocabulary_, given.corpus, given.known)
        return self._bound(given.corpus, given.known, found, _checks.whole(draws, 1, "draws"), seed)

    def _bound(self, corpus: Corpus, places: np.ndarray, joined: Tensor, draws: int, seed: int) -> Elbo:
        source = _source(seed)
        return bound(self.network_, self.vocabulary_, corpus, places, joined, draws=draws, source=source)

    def _read(self, smiles: Any, on_error: Literal["raise", "skip"]) -> Given:
        _checks.fitted(self)
        return read(smiles, self.vocabulary_, on_error)

    # -- witnesses -----------------------------------------------------------------------------------------------

    def surroundings(self, smiles: str | Iterable[str], *, progress: bool = False) -> MoleculeNeighborhoods:
        """The neighborhoods of molecules: similar ones among those of the pool, and analogs."""
        given = self._read(smiles, "raise")
        # Without stereochemistry, which the encoder does not see.
        texts = list(dict.fromkeys(given.corpus.smiles(int(i)) for i in given.known))
        few = len(texts) < 32
        return self.similar.around(
            texts,
            self.pool_,
            self.groups_,
            jobs=1 if few else None,
            progress=progress,
            cache="none" if few else "default",
        )

    def witnesses(self, readable: Readable, *, delta: int | None = None) -> TreeWitnesses:
        """The trees that follow the encoder in these neighborhoods."""
        _checks.fitted(self)
        f = posteriors(self.network_, self.vocabulary_, readable.corpus, readable.index)
        found = self.family(delta).best_response(readable.fingerprints.dense(), f, readable.hoods)
        return found.named(bit_names(self.similar.fingerprints.size), self.names)

    def readable(self, around: MoleculeNeighborhoods, *, progress: bool = False) -> Readable:
        """Neighborhoods with the members that the encoder can read."""
        return Readable.of(around, self.vocabulary_, self.similar.fingerprints, progress=progress)

    @property
    def names(self) -> list[str]:
        """What the outputs of witnesses are called."""
        parts = [f"{part} {i + 1}" for part in ("tree", "graph") for i in range(self.latent)]
        return [f"{kind} of {part}" for kind in ("mean", "log-variance") for part in parts]

    def explain(self, smiles: str, *, delta: int | None = None, level: float = LEVEL) -> MoleculeExplanation:
        """The latent representation of one molecule, and the tree of substructures that the encoder follows there.

        Parameters
        ----------
        delta : int, optional
            Another size of tree than the one that was trained for; there is no bound for it.
        level : float
            The confidence of the bound.
        """
        if not isinstance(smiles, str):
            raise InputError("One molecule is explained at a time", got=f"{type(smiles).__name__}", cure="use a loop")
        self._read(smiles, "raise")
        around = self.surroundings(smiles)
        readable = self.readable(around)
        witnesses = self.witnesses(readable, delta=delta)
        calibration = self.calibration_ if delta is None or delta == self.delta else None
        here = readable.surroundings(around)
        found = explain(witnesses, here, _AS_IT_IS, self.similar.fingerprints, calibration, level=level)
        return replace(found, divergence=float(witnesses.deviations(gaussian_kl)[0]))

    def calibrate(self, smiles: Iterable[str], *, progress: bool = False) -> JunctionTreeVAE:
        """Learn from molecules that were not learned from how far trees can be trusted; see `pellucid.calibrate`.

        `fit` does so by itself with the molecules that it holds out. Those that cannot be read are left out, and of
        many a few hundred are chosen.
        """
        given = self._read(some(smiles, self.seed, _CALIBRATING), "skip")
        around = self.surroundings([given.corpus.smiles(int(i)) for i in given.known], progress=progress)
        readable = self.readable(around, progress=progress)
        f = posteriors(self.network_, self.vocabulary_, readable.corpus, readable.index)
        self.calibration_ = calibrate(f, readable.fingerprints.dense(), readable.hoods, self.family())
        return self

    def evaluate(
        self, smiles: Iterable[str] | Corpus, *, draws: int = 1, seed: int = 0, progress: bool = False
    ) -> EncoderScores:
        """The ELBO with the network's posteriors and with those of the local trees, and how far these deviate.

        Parameters
        ----------
        draws : int
            Of each posterior.
        """
        given = self._read(smiles, "skip")
        texts = [given.corpus.smiles(int(i)) for i in given.known]
        different = list(dict.fromkeys(texts))
        parts = []
        for begin in range(0, len(different), _CENTERS):
            around = self.surroundings(different[begin : begin + _CENTERS], progress=progress)
            parts.append(self._scores(self.readable(around, progress=progress), draws, seed))
        place = {text: i for i, text in enumerate(different)}
        return EncoderScores.joined(parts).select(
            np.array([place[text] for text in texts]), rows=given.rows, left_out=given.left_out
        )

    def _scores(self, readable: Readable, draws: int, seed: int) -> EncoderScores:
        """Of the centers of some neighborhoods."""
        witnesses = self.witnesses(readable)
        here = readable.index[readable.hoods.centers.numpy()]
        return EncoderScores(
            neural=self._bound(readable.corpus, here, witnesses.f[readable.hoods.centers], draws, seed),
            tree=self._bound(readable.corpus, here, witnesses.at_centers(), draws, seed),
            deviations=witnesses.deviations(gaussian_kl).numpy(),
            sizes=readable.hoods.sizes.numpy(),
            leaves=(np.diff(witnesses.trees.node_offsets) + 1) // 2,
            rows=np.arange(len(here)),
            left_out=0,
        )

    # -- on disk -------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the model as a folder of plain files: JSON, safetensors, and the vocabulary as text."""
        _checks.fitted(self)
        content = {
            "settings": self._settings(),
            "groups": {kind: list(texts) for kind, texts in self.groups_.by_kind.items()},
            "largest_group": self.groups_.largest,
            "pool": list(self.pool_),
            "rejected": [list(row) for row in self.rejected_],
            "left_out": self.left_out_,
            "history": self.history_,
            "calibration": None if self.calibration_ is None else self.calibration_.to_dict(),
        }
        storage.save(Path(folder), "junction_tree_vae", content, {"network": self.network_.state_dict()})
        self.vocabulary_.save(Path(folder) / "vocabulary.txt")

    @classmethod
    def load(cls, folder: str | Path) -> JunctionTreeVAE:
        """Read what `save` wrote. Nothing in the folder can run code."""
        content, weights = storage.load(Path(folder), "junction_tree_vae", ("network",))
        with storage.as_saved(Path(folder)):
            model = cls(**content["settings"] | {"similar": SimilarityRule.from_dict(content["settings"]["similar"])})
            model.groups_ = RGroups.from_lists(content["groups"], int(content["largest_group"]))
            model.pool_ = tuple(content["pool"])
            model.rejected_ = tuple(Rejection(*row) for row in content["rejected"])
            model.left_out_ = content["left_out"]
            model.history_ = content["history"]
            known = content.get("calibration")  # models saved by earlier versions have none
            model.calibration_ = None if known is None else Calibration.from_dict(known)
            model.vocabulary_ = Vocabulary.load(Path(folder) / "vocabulary.txt")
            model.network_ = model.new_network(model.vocabulary_)
            model.network_.load_state_dict(weights["network"])
        model.network_.eval()
        return model

    def _settings(self) -> dict[str, Any]:
        """What was given when the model was made, ready for JSON."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init} | {"similar": asdict(self.similar)}


_AS_IT_IS = Task(kind="regression", shift=np.zeros(1), scale=np.ones(1))


def _source(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(_checks.whole(seed, 0, "seed"))
