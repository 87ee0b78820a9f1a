"""Forecasts of multi-channel recordings, with the local autoregressive law that they follow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid import _checks, storage
from pellucid.errors import InputError, Parameter
from pellucid.games import AsymmetricGame, SymmetricGame
from pellucid.series import choosing
from pellucid.series.choosing import Laws
from pellucid.series.explanation import ForecastExplanation
from pellucid.series.linear_law import LinearLaw
from pellucid.series.network import Network
from pellucid.series.overall import SEQUENCES, RecordingLaw, law_along
from pellucid.series.recordings import Recordings, array_of, names_of, recordings, recordings_with_warnings
from pellucid.series.scaling import Scaling
from pellucid.series.scores import ForecastScores, measure
from pellucid.series.witnessing import Witnessing
from pellucid.trust import FEWEST, LEVEL, Calibration, HeldOut, check_level, stated, unknown

GAMES = {"symmetric": SymmetricGame, "asymmetric": AsymmetricGame}
# Sequences that pass through the network at once where nothing is learned.
_BATCH = 512
# Settings that are chosen where they are not given.
_CHOICES = ("order", "radius", "ridge", "linear")


class Forecast(NamedTuple):
    """The distribution along a forecast: each value given the context and the means before it."""

    mean: np.ndarray
    """(..., horizon, c) the trajectory."""
    covariance: np.ndarray
    """(..., horizon, c, c) of each value, not accumulated along the trajectory."""


@final
@dataclass(kw_only=True, eq=False)
class Forecaster:
    """A neural forecaster that follows, along every forecast, a local autoregressive law.

    The predictor (see `Network`) gives x_{i+1} a Gaussian distribution after x_1..x_i. Its mean mu is
    witnessed, at each horizon position i, by an autoregressive model of the given order

        g_i(x_t, ..., x_{t-order+1}) = sum_k theta_{k+1} x_{t-k} + theta_0

    with full c x c matrices, fitted by ridge regression to mu at the horizon positions t within the radius of
    i. Training minimises

        mean over positions of -log p(x_{i+1} | x_1..x_i)  +  weight * mean over neighborhoods of D_i

    where both the log-density and the deviation (squared error) are sums over channels; the asymmetric game
    replaces D_i by the squared error at the center. `game=None` trains the same predictor without a game.

    Parameters
    ----------
    channels : int, str or sequence of str, optional
        Names of the channels to use, in order; or just their number; by default all that the data have.
    context, horizon : int
        Observe so many values, forecast so many.
    order : int, optional
        Past values that a witness reads, the present one included; by default chosen in `fit`, like the next two, by
        leave-one-out.
    radius : int, optional
        Steps to either side over which a witness is fitted. There should be 1.5 steps for each of its order c + 1
        coefficients per channel: fewer are refused, unless the ridge bears a part of them.
    ridge : float, optional
        Of the witnesses' least squares. A large one shrinks the witnesses, and the game then pays the predictor for
        moving less.
    game : {"symmetric", "asymmetric"}, optional
        "symmetric", "asymmetric" or None.
    weight : float
        Lambda, the weight of the game: 0 is no game, a large one makes the predictor follow its witnesses at the
        expense of its error.
    scale : bool
        Play the game in units of each channel's standard deviation, so that ridge and weight mean the same for all
        data (the default); or in the units of the data, as in the paper. What is reported is in the units of the data
        either way.
    width, kernel : int
        Of the network.
    linear : int, optional
        Past values that the network's linear path reads, with which it begins as the best linear law; by default
        chosen in `fit` by cross-validation, up to the context; 0 is a network without such a path, as in the paper.
    epochs, batch_size, learning_rate : int or float
        Of the training: Adam with a one-cycle rate that peaks at `learning_rate`.
    stride : int, optional
        From the start of one training sequence to that of the next; by default the horizon, so that every value is
        forecast once in an epoch. context + horizon makes them disjoint, as in the paper.
    patience : int
        Stop after so many epochs without a better loss on the validation data.
    seed : int
        Of initial weights, order of batches and choice of validation data.

    Attributes
    ----------
    channels_ : tuple of str
        Names of the channels.
    network_ : Network
        The trained predictor; it reads and gives channels of mean 0 and standard deviation 1.
    scaling_ : Scaling
        Mean and standard deviation of each channel in the training data.
    order_, radius_, ridge_, linear_ : int or float
        What was given, or chosen.
    history_ : list of dict of str to float
        One record of losses per epoch.
    kept_ : int
        The epoch whose network was kept, the best one on the validation data; 0 is the linear law that it began as.
    calibrations_ : dict of str to Calibration
        How far laws can be trusted along generated and along real values, learned from data held out; see `calibrate`.

    Examples
    --------
    >>> from pellucid.series import Forecaster, simulate_rig
    >>> rig = simulate_rig(rows=4000, seed=0)
    >>> model = Forecaster(context=40, width=16, epochs=2).fit(rig, progress=False)
    >>> model.forecast(rig.values[0][:40]).mean.shape
    (20, 4)
    """

    channels: int | str | Sequence[str] | None = None
    context: int = 80
    horizon: int = 20
    order: int | None = None
    radius: int | None = None
    game: Literal["symmetric", "asymmetric"] | None = "symmetric"
    weight: float = 1.0
    ridge: float | None = None
    scale: bool = True
    width: int = 128
    kernel: int = 9
    linear: int | None = None
    epochs: int = 20
    stride: int | None = None
    batch_size: int = 128
    learning_rate: float = 3e-3
    patience: int = 5
    seed: int = 0

    channels_: tuple[str, ...] = field(init=False, repr=False)
    network_: Network = field(init=False, repr=False)
    scaling_: Scaling = field(init=False, repr=False)
    order_: int = field(init=False, repr=False)
    radius_: int = field(init=False, repr=False)
    ridge_: float = field(init=False, repr=False)
    linear_: int = field(init=False, repr=False)
    history_: list[dict[str, float]] = field(init=False, repr=False)
    kept_: int = field(init=False, repr=False)
    calibrations_: dict[str, Calibration] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.game not in (None, *GAMES):
            raise InputError(
                f'{Parameter("game", of="Forecaster")} must be "symmetric", "asymmetric" or None',
                got=f"{self.game!r}",
                cure="to play another game, train `series.Network` in a loop of your own",
                parameter="game",
            )
        if not isinstance(self.scale, bool):
            raise InputError(
                f"{Parameter('scale', of='Forecaster')} must be True or False", got=f"{self.scale!r}", parameter="scale"
            )
        if isinstance(self.channels, int | np.integer):
            self.channels = _checks.whole(self.channels, 1, "channels")
        elif self.channels is not None:
            self.channels = tuple(names_of(self.channels))
        if self.stride is not None:
            self.stride = _checks.whole(self.stride, 1, "stride")
        self.horizon = _checks.whole(self.horizon, 2, "horizon")
        for name in ("width", "kernel", "epochs", "batch_size", "patience"):
            setattr(self, name, _checks.whole(getattr(self, name), 1, name))
        for name, least in (("order", 1), ("radius", 1), ("linear", 0)):
            if getattr(self, name) is not None:
                setattr(self, name, _checks.whole(getattr(self, name), least, name))
        self.seed = _checks.whole(self.seed, 0, "seed", 2**31 - 1)
        self.context = _checks.whole(self.context, max(self.order or 1, self.linear or 1), "context")
        for name, low in (("weight", 0), ("ridge", 0), ("learning_rate", 1e-9)):
            if name != "ridge" or self.ridge is not None:
                setattr(self, name, _checks.at_least(getattr(self, name), low, name, "Forecaster"))

    # -- training ----------------------------------------------------------------------------------------------

    def fit(
        self,
        data: Any,
        *,
        validation: Any = 0.05,
        folder: str | Path | None = None,
        resume: bool = False,
        progress: bool = True,
        device: str = "auto",
    ) -> Forecaster:
        """Learn from recordings, cut into sequences of context + horizon values.

        Parameters
        ----------
        data : object
            A file or folder, a table, an array (time, channels), several of them, or `Recordings`.
        validation : object
            The share of the data to hold out for early stopping and for `calibrate`, in pieces of context + horizon
            values cut out at random; or other data of any of these kinds; 0 trains all epochs on everything.
        folder : str or Path, optional
            Where checkpoints go, about one a minute; None keeps none.
        resume : bool
            Go on from the checkpoint in `folder`, if there is one. An interrupted and resumed run gives the same model
            as an uninterrupted one.
        progress : bool
            Show a progress bar.
        device : str
            "auto", "cpu", "gpu" or another accelerator that Lightning knows.
        """
        from pellucid import training

        length, stride = self.context + self.horizon, self.stride or self.horizon
        source = recordings_with_warnings(data, self.channels)
        source.require_variation()
        learned, watched = source, None
        if not isinstance(validation, int | float):
            watched = recordings(validation, source.channels)
        elif not 0 <= validation < 1:
            raise InputError(
                f"{Parameter('validation')} must be a share in [0, 1), or data",
                got=f"{validation!r}",
                cure="try 0.05",
                parameter="validation",
            )
        elif validation:
            learned, watched = source.hold_out(validation, length, seed=self.seed)
            learned.require_variation()
        # A copy is trained, so that what was learned before survives an interruption.
        model = replace(self)
        model.channels_ = source.channels
        rows = np.concatenate(learned.values)
        model.scaling_ = Scaling.of(rows)
        z = model.scaling_.standardize(rows)
        firsts = torch.tensor(_places(learned, length, stride))
        law, _ = model._settle(learned, z)
        model.network_ = model._new_network(law)
        held = None if watched is None else model.scaling_.standardize(watched.sequences(length))
        beginning = None if held is None or law is None else model._beginning(held)
        watching = None
        if held is not None:
            watching = training.Batches(lambda chosen, _: held[chosen], len(held), size=_BATCH, seed=None)
        batches = training.Batches(
            lambda chosen, _: z[firsts[chosen][:, None] + torch.arange(length)],
            len(firsts),
            size=self.batch_size,
            seed=self.seed,
        )
        history = training.train(
            model.network_,
            model._loss,
            batches,
            watching,
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            patience=self.patience,
            identity={
                "data": _digest(z, held),
                **self.settings(),
                "scaling": model.scaling_.to_dict(),
                "chosen": model._choices(),
            },
            folder=None if folder is None else Path(folder),
            resume=resume,
            progress=progress,
            device=device,
        )
        losses = [record["validation_loss"] for record in history if "validation_loss" in record]
        model.kept_ = 1 + int(np.argmin(losses)) if losses else len(history)
        if beginning is not None and not min(losses) < beginning:  # nothing was learned beyond the law
            model.network_, model.kept_ = model._new_network(law).eval(), 0
        self.channels_, self.scaling_, self.network_ = model.channels_, model.scaling_, model.network_
        for name in _CHOICES:
            setattr(self, f"{name}_", getattr(model, f"{name}_"))
        self.history_, self.kept_ = history, model.kept_
        self.calibrations_ = {}
        return self if watched is None else self.calibrate(watched)

    def settled(self, data: Any) -> tuple[Forecaster, list[str]]:
        """The same forecaster with order, radius, ridge and linear path decided as `fit` would decide on these data.

        Returns
        -------
        (Forecaster, list of str)
            The untrained forecaster, and a sentence on each choice.
        """
        source = recordings(data, self.channels)
        source.require_variation()
        model = replace(self)
        rows = np.concatenate(source.values)
        model.scaling_ = Scaling.of(rows)
        law, laws = model._settle(source, model.scaling_.standardize(rows))
        chosen = [name for name in ("order", "radius", "ridge") if getattr(self, name) is None]
        sentences = [laws.described(self.horizon, len(source.channels), chosen)] if chosen else []
        if law is not None:
            how = "chosen by cross-validation" if self.linear is None else "as you say"
            sentences.append(f"network: begins as one linear law of the {law.reach} ({how})")
        return replace(self, **model._choices()), sentences

    def _settle(self, learned: Recordings, z: Tensor) -> tuple[LinearLaw | None, Laws]:
        """Choose what was left open on the data that are learned from, z (T, c) if standardized."""
        ends = np.cumsum([len(table) for table in learned.values])[:-1]
        unit = 1.0 if self.scale else float(np.square(self.scaling_.scale).mean())
        law, laws = choosing.settle(
            np.split(z.numpy(), ends),
            self.context,
            self.horizon,
            order=self.order,
            radius=self.radius,
            ridge=None if self.ridge is None else self.ridge / unit,
            linear=self.linear,
        )
        self.order_, self.radius_ = laws.order, laws.radius
        self.ridge_ = laws.ridge * unit if self.ridge is None else self.ridge
        self.linear_ = 0 if law is None else law.lags
        return law, laws

    def _choices(self) -> dict[str, Any]:
        """What was given or chosen, by the names of the settings."""
        return {name: getattr(self, f"{name}_") for name in _CHOICES}

    @torch.no_grad()
    def _beginning(self, held: Tensor) -> float:
        """The loss of the network as it is on validation sequences."""
        losses = [len(part) * float(self._loss(part)["loss"]) for part in held.split(_BATCH)]
        return sum(losses) / len(held)

    def _new_network(self, law: LinearLaw | None = None) -> Network:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            network = Network(len(self.channels_), width=self.width, kernel=self.kernel, lags=self.linear_)
        if law is not None:
            network.start_at(*(torch.from_numpy(part) for part in (law.weights, law.offset, law.covariance)))
        return network

    def _loss(self, batch: Tensor) -> Mapping[str, Tensor]:
        """The terms of a batch's loss: (B, context + horizon, c) standardized -> scalars."""
        gaussian, _ = self.network_(batch[:, :-1], last=self.horizon)
        likelihood = gaussian.negative_log_likelihood(batch[:, self.context :]).mean()
        if self.game is None:
            return {"loss": likelihood}
        game = GAMES[self.game](self._witnessing.family, weight=self.weight)
        outcome = game(*self._witnessing.points(gaussian.mean, batch[:, :-1]))
        return {"loss": likelihood + outcome.penalty, "nll": likelihood, "penalty": outcome.penalty}

    @property
    def _witnessing(self) -> Witnessing:
        return Witnessing(
            scaling=self.scaling_,
            scale=self.scale,
            horizon=self.horizon,
            order=self.order_,
            radius=self.radius_,
            ridge=self.ridge_,
        )

    # -- use ---------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def forecast(self, context: Any) -> Forecast:
        """What comes after the context, by greedy generation: each mean becomes the next observation.

        Parameters
        ----------
        context : array_like
            (t, c), or (B, t, c) for several, with t >= the forecaster's context, of which the last values are used; or
            a file or a table with the channels' columns.
        """
        values = self._context(context)
        several = values.ndim == 3
        parts = [
            self.scaling_.moments(self.network_.generate(z, self.horizon))
            for z in self._pieces(values if several else values[None])
        ]
        mean, covariance = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Forecast(mean, covariance) if several else Forecast(mean[0], covariance[0])

    def explain(
        self, context: Any, future: Any = None, *, forced: bool = True, level: float = LEVEL
    ) -> ForecastExplanation:
        """The forecast after one context, and the autoregressive law that it follows at each step.

        Parameters
        ----------
        context : array_like
            (t, c) with t >= the forecaster's context, of which the last values are used; or a file or a table with the
            channels' columns.
        future : array_like
            (horizon, c) what really came, if known.
        forced : bool
            If it is known, predict and witness each step from the real values before it (teacher forcing) instead of
            the generated ones.
        level : float
            The confidence of the bound.
        """
        values = self._context(context)
        if values.ndim == 3:
            raise InputError("One context is explained at a time", got=f"{len(values)}", cure="explain each in a loop")
        actual = None
        if future is not None:
            actual = self._numbers(future, "future")
            if actual.shape != (self.horizon, len(self.channels_)):
                raise InputError(
                    f"`future` must have the shape (horizon, channels) = {(self.horizon, len(self.channels_))}",
                    got=f"{actual.shape}",
                    cure="pass what came right after the context",
                    parameter="future",
                )
        forced = forced and actual is not None
        seen = np.concatenate([values, actual]) if forced and actual is not None else values
        z = self.scaling_.standardize(seen[None])
        trace = self._witnessing.trace(self.network_, z, forced=forced)
        mean, covariance = self.scaling_.moments(trace.gaussian)
        theta = self._witnessing.parameters(trace.witnesses)
        lags = self.scaling_.values(trace.features)[0]
        calibration = self.calibrations_.get("forced" if forced else "generated")
        saturated = trace.witnesses.saturated().numpy()
        small = (trace.witnesses.hoods.sizes < FEWEST).numpy()
        bound = None
        if calibration is not None:
            found = self.in_units(calibration.bound(self._witnessing.absolute(trace.witnesses), level))
            bound = stated(np.where((saturated | small)[:, None], np.inf, found))
        calibrated = 0 if calibration is None else len(calibration)
        full = bool(saturated[~small].all()) and not small.all()
        return ForecastExplanation(
            channels=self.channels_,
            shift=self.scaling_.shift,
            scale=self.scaling_.scale,
            order=self.order_,
            radius=self.radius_,
            context=values,
            mean=mean[0],
            covariance=covariance[0],
            parameters=theta,
            witnessed=theta[:, 0] + np.einsum("hp,hpk->hk", lags, theta[:, 1:]),
            fit=self._witnessing.fit(trace.witnesses),
            actual=actual,
            forced=forced,
            level=check_level(level),
            bound=bound,
            calibrated=calibrated,
            why_not=None if bound is not None else unknown(level, calibrated, saturated=full),
            explained=self._witnessing.explained(trace.witnesses),
        )

    def law_of(self, data: Any) -> RecordingLaw:
        """One autoregressive law of the same order for recordings as a whole: of all one-step predictions along them.

        Pass it to `dataclasses.replace(explanation, overall=...)` to see it beside the local laws.
        """
        _checks.fitted(self)
        sequences = recordings(data, self.channels_).sequences(self.context + self.horizon, stride=self.horizon)
        chosen = np.unique(np.linspace(0, len(sequences) - 1, min(len(sequences), SEQUENCES)).round().astype(int))
        return law_along(self.network_, self._witnessing, self._pieces(sequences[chosen]))

    def calibrate(self, data: Any) -> Forecaster:
        """Learn from recordings that were not learned from how far laws can be trusted; see `pellucid.calibrate`.

        `fit` does so by itself with what it holds out.
        """
        found = {name: Calibration.of(self.held_out(data, forced=name == "forced")) for name in ("generated", "forced")}
        self.calibrations_ = found
        return self

    def held_out(self, data: Any, *, forced: bool = False, seed: int = 0) -> HeldOut:
        """What laws say of a position that they were not fitted to, in one neighborhood of every sequence."""
        _checks.fitted(self)
        sequences = recordings(data, self.channels_).sequences(self.context + self.horizon)
        return self._witnessing.held_out(self.network_, self._pieces(sequences), forced=forced, seed=seed)

    def evaluate(self, data: Any, *, forced: bool = False) -> ForecastScores:
        """Error and transparency over all sequences of recordings.

        Parameters
        ----------
        data : object
            As in `fit`.
        forced : bool
            Predict and witness along what really came (teacher forcing) instead of what was generated.
        """
        _checks.fitted(self)
        sequences = recordings(data, self.channels_).sequences(self.context + self.horizon)
        return measure(self.network_, self._witnessing, self._pieces(sequences), forced=forced)

    def deviations(self, data: Any) -> np.ndarray:
        """(S,) root mean squared error between predictor and witness along the forecast of every sequence, channels
        in their standard deviations.
        """
        _checks.fitted(self)
        sequences = recordings(data, self.channels_).sequences(self.context + self.horizon)
        parts = []
        for z in self._pieces(sequences):
            trace = self._witnessing.trace(self.network_, z[:, : self.context], forced=False)
            gaps = self._witnessing.gaps(trace.witnesses).square().mean(1)
            parts.append(gaps.reshape(len(z), self.horizon).mean(1).sqrt().numpy())
        return np.concatenate(parts)

    def in_units(self, distances: np.ndarray) -> np.ndarray:
        """Distances (..., c) between predictor and witness, as `held_out` measures them, in the units of the data."""
        return np.asarray(distances * self.scaling_.scale / self._witnessing.units.numpy())

    def _pieces(self, sequences: np.ndarray) -> Iterator[Tensor]:
        for start in range(0, len(sequences), _BATCH):
            yield self.scaling_.standardize(sequences[start : start + _BATCH])

    def _numbers(self, values: Any, name: str) -> np.ndarray:
        """Whatever a user has, as an array (t, c) or (B, t, c) of finite numbers of this forecaster's channels."""
        _checks.fitted(self)
        if isinstance(values, str | Path | Recordings) or hasattr(values, "columns"):
            source = recordings(values, self.channels_)
            if len(source) > 1:
                raise InputError(
                    f"{Parameter(name)} must be one recording",
                    got=f"{len(source)}",
                    cure="pass them one by one",
                    parameter=name,
                )
            values = source.values[0]
        try:
            array = array_of(values)
        except ValueError as error:
            raise InputError(
                f"{Parameter(name)} must be an array of numbers",
                got=f"{type(values).__name__}: {error}",
                parameter=name,
            ) from None
        if array.dtype.kind not in "fiu":
            raise InputError(
                f"{Parameter(name)} must hold real numbers",
                got=f"{array.dtype}",
                cure="convert it to floats",
                parameter=name,
            )
        if array.ndim not in (2, 3) or array.shape[-1] != len(self.channels_) or not len(array):
            raise InputError(
                f"{Parameter(name)} must have the shape (time, channels) or (batch, time, channels) with "
                f"the channels {', '.join(self.channels_)}",
                got=f"{array.shape}",
                cure="mind the order of dimensions",
                parameter=name,
            )
        bad = np.argwhere(~np.isfinite(array))
        if len(bad):
            raise InputError(
                f"{Parameter(name)} must have no missing or infinite values",
                got=f"{array[tuple(bad[0])]} in channel {self.channels_[bad[0][-1]]!r}, row {bad[0][-2] + 1}",
                cure="fill the gap",
                parameter=name,
            )
        return array.astype(np.float64)

    def _context(self, context: Any) -> np.ndarray:
        """(context, c) or (B, context, c): the last values of what was given."""
        values = self._numbers(context, "context")
        if values.shape[-2] < self.context:
            raise InputError(
                f"A context must have at least {self.context} rows",
                got=f"{values.shape[-2]}",
                cure=f"observe longer, or train a forecaster with a shorter {Parameter('context')}",
            )
        return values[..., values.shape[-2] - self.context :, :]

    # -- on disk -------------------------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Write the forecaster as a folder of plain files: `forecaster.json` and `network.safetensors`."""
        _checks.fitted(self)
        content = {
            "settings": self.settings(),
            "channels": list(self.channels_),
            **self.scaling_.to_dict(),
            "chosen": self._choices(),
            "history": self.history_,
            "kept": self.kept_,
            "calibrations": {name: calibration.to_dict() for name, calibration in self.calibrations_.items()},
        }
        storage.save(Path(folder), "forecaster", content, {"network": self.network_.state_dict()})

    @classmethod
    def load(cls, folder: str | Path) -> Forecaster:
        """Read what `save` wrote. Nothing in the folder can run code."""
        content, weights = storage.load(Path(folder), "forecaster", ("network",))
        with storage.as_saved(Path(folder)):
            # Models saved by earlier versions have the network of the paper, and no choices.
            model = cls(**{"linear": 0, **content["settings"]})
            chosen = content.get("chosen") or model.settings()
            model.order_, model.radius_, model.ridge_, model.linear_ = (chosen[name] for name in _CHOICES)
            model.channels_ = tuple(str(name) for name in content["channels"])
            model.scaling_ = Scaling.from_dict(content, len(model.channels_))
            model.history_ = content["history"]
            model.kept_ = int(content.get("kept", len(model.history_)))
            known = content.get("calibrations", {})  # models saved by earlier versions have none
            model.calibrations_ = {str(name): Calibration.from_dict(value) for name, value in known.items()}
            model.network_ = model._new_network()
            model.network_.load_state_dict(weights["network"])
        model.network_.eval()
        return model

    def settings(self) -> dict[str, Any]:
        """What was given when the forecaster was made, ready for JSON."""
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        if settings["channels"] is not None and not isinstance(settings["channels"], int):
            settings["channels"] = list(settings["channels"])
        return settings


def _places(source: Recordings, length: int, stride: int) -> list[int]:
    """The first rows of all sequences, in the table of all recordings one after the other."""
    begins = np.concatenate([[0], np.cumsum([len(table) for table in source.values])])
    return [int(begins[i]) + row for i, row in source.starts(length, stride=stride)]


def _digest(*parts: Tensor | None) -> str:
    """A fingerprint of the data, so that a run is not resumed on others."""
    digest = hashlib.sha256()
    for part in (part for part in parts if part is not None):
        digest.update(part.numpy().data)
    return digest.hexdigest()
