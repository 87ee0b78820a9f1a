"""Forecasts of multi-channel recordings, with the local autoregressive law that they follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np
import torch
from torch import Tensor

from pellucid.errors import InputError, Parameter
from pellucid.models import FittedAttribute, Model, new_with_seed
from pellucid.series._arguments import checked_channels, context_of, future_of, train_and_validation
from pellucid.series.explain_forecast import explain_forecast
from pellucid.series.explanation import ForecastExplanation
from pellucid.series.fitted import ChosenSettings, FittedForecaster
from pellucid.series.fitting import BATCH, ForecastFit, Preparation
from pellucid.series.network import Network
from pellucid.series.overall import SEQUENCES, NeighborPairs, RecordingLaw, fit_recording_law
from pellucid.series.scaling import Scaling
from pellucid.series.scores import ForecastScores, forecast_scores
from pellucid.series.sources import recordings, recordings_with_warnings
from pellucid.series.steadiness import Steadiness, recording_steadiness
from pellucid.series.subsequences import Subsequences
from pellucid.series.witness_fitter import WitnessFitter
from pellucid.training.hardware import Hardware
from pellucid.trust import LEVEL, Calibration, HeldOut

# More of these take more memory, or time, than there is.
_MAX_CONTEXT, _MAX_HORIZON = 1 << 20, 10_000


class Forecast(NamedTuple):
    """The distribution along a forecast: each value given the context and the means before it."""

    mean: np.ndarray
    """(..., horizon, c) the trajectory."""
    covariance: np.ndarray
    """(..., horizon, c, c) of each value, not accumulated along the trajectory."""


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Forecaster(Model[FittedForecaster]):
    """A neural forecaster that follows, along every forecast, a local autoregressive law.

    The predictor (see `Network`) gives x_{i+1} a Gaussian distribution after x_1..x_i. Its mean mu is
    witnessed, at each horizon position i, by an autoregressive model of the given order

        g_i(x_t, ..., x_{t-order+1}) = sum_k theta_{k+1} x_{t-k} + theta_0

    with full c x c matrices, fitted by ridge regression to mu at the horizon positions t within the radius of
    i. Training minimises

        mean over positions of -log p(x_{i+1} | x_1..x_i)  +  weight * mean over neighborhoods of D_i

    where both the log-density and the deviation (squared error) are sums over channels; the asymmetric game
    replaces D_i by the squared error at the center. `game=None` trains the same predictor without a game. With
    `held_out_game` the predictor pays at each position t for the law fitted without the positions s that share a value
    with it, |s - t| <= order, and where that leaves too few it pays nothing (see `HeldOutLaws`):

        D_i = 1/m_i sum_t |mu_t - sg(g_i-t(x_t, ...))|^2.

    Parameters
    ----------
    channels : int, str or sequence of str, optional
        Names of the channels to use, in order; or just their number; by default all that the data have.
    context, horizon : int
        Number of values that a forecast is made from, and that are forecast.
    order : int, optional
        Number of past values that a witness reads, the present one included; by default chosen in `fit`, like the next
        two, by leave-one-out.
    radius : int, optional
        Steps to either side over which a witness is fitted. There should be 1.5 steps for each of its order c + 1
        coefficients per channel: fewer are refused, unless the ridge is at least a tenth of each channel's variance.
    ridge : float, optional
        Ridge of the witnesses' least squares. A large one shrinks the witnesses, and the game then pays the predictor
        for moving less.
    game : {"symmetric", "asymmetric"}, optional
        The game that is played in training; None plays none.
    held_out_game : bool
        Play the game at positions that the law was not fitted to.
    weight : float
        Lambda, the weight of the game: 0 is no game, a large one makes the predictor follow its witnesses at the
        expense of its error.
    scale : bool
        Play the game in units of each channel's standard deviation, so that ridge and weight mean the same for all
        data (the default); or in the units of the data, as in the paper. What is reported is in the units of the data
        either way.
    width, kernel : int
        Width of the network's hidden layers, and positions that its convolution sees.
    linear : int, optional
        Number of past values that the network's linear path reads, with which it begins as the best linear law; by
        default chosen in `fit` by cross-validation, up to the context; 0 is a network without a linear path, as in the
        paper.
    mixed : bool
        Train the network's LSTM in bfloat16, where the processor multiplies such numbers faster: see `Network`.
    epochs, batch_size, learning_rate : int or float
        Passes over the data, sequences in a batch, and peak of the one-cycle learning rate, for Adam.
    stride : int, optional
        Rows from the start of one training sequence to that of the next; by default the horizon, so that every value
        is forecast once in an epoch. context + horizon makes them disjoint, as in the paper.
    patience : int
        Number of epochs without a better loss on the validation data after which the training stops.
    seed : int
        Seed of the initial weights, of the order of batches and of the choice of validation data.

    Attributes
    ----------
    channels_ : tuple of str
        Names of the channels.
    network_ : Network
        The trained predictor; it reads and gives channels of mean 0 and standard deviation 1.
    scaling_ : Scaling
        Mean and standard deviation of each channel in the training data.
    order_, radius_, ridge_, linear_ : int or float
        The settings, or what was chosen in their place.
    history_ : list of dict of str to float
        A record of losses for each epoch.
    kept_ : int
        The epoch whose network was kept, the best one on the validation data; 0 is the linear law that it began as.
    calibrations_ : dict of str to Calibration
        How far laws can be trusted along generated and along real values, from held-out data; see `calibrate`.

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
    held_out_game: bool = False
    weight: float = 1.0
    ridge: float | None = None
    scale: bool = True
    width: int = 128
    kernel: int = 9
    linear: int | None = None
    mixed: bool = False
    epochs: int = 20
    stride: int | None = None
    batch_size: int = 128
    learning_rate: float = 3e-3
    patience: int = 5

    file: ClassVar[str] = "forecaster"
    record_type = FittedForecaster

    channels_ = FittedAttribute[tuple[str, ...]]()
    network_ = FittedAttribute[Network]()
    scaling_ = FittedAttribute[Scaling]()
    order_ = FittedAttribute[int]("choices.order")
    radius_ = FittedAttribute[int]("choices.radius")
    ridge_ = FittedAttribute[float]("choices.ridge")
    linear_ = FittedAttribute[int]("choices.linear")
    kept_ = FittedAttribute[int]()
    calibrations_ = FittedAttribute[dict[str, Calibration]]()

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require_one_of(
            ("symmetric", "asymmetric", None),
            "game",
            cure="to play another game, train `series.Network` in a loop of your own",
        )
        if not isinstance(self.scale, bool):
            raise InputError(
                f"{Parameter('scale', of='Forecaster')} must be True or False", got=f"{self.scale!r}", parameter="scale"
            )
        self._require_type(bool, "held_out_game")
        self._require_type(bool, "mixed")
        self._check(checked_channels, "channels")
        self._require_whole(1, "context", most=_MAX_CONTEXT)
        self._require_size("width", "kernel")
        self._require_whole(2, "horizon", most=_MAX_HORIZON)
        self._require_whole(1, "order", "radius", "stride", optional=True)
        self._require_whole(0, "linear", optional=True)
        self._require_number(0, "weight")
        self._require_number(0, "ridge", optional=True)
        self._require_whole(max(self.order or 1, self.linear or 1), "context")

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
        devices: int = 1,
        nodes: int = 1,
        strategy: Literal["auto", "ddp"] = "auto",
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
        devices, nodes : int
            Processes on each machine, each with a core or a GPU of its own, and machines; see `Hardware`. The result is
            that of one process, up to rounding.
        strategy : {"auto", "ddp"}
            How processes average gradients; see `Hardware`.
        """
        hardware = Hardware(device=device, devices=devices, nodes=nodes, strategy=strategy)
        source = recordings_with_warnings(data, self.channels)
        source.require_variation()
        train, held_out = train_and_validation(source, validation, self.context + self.horizon, self.seed)
        return self._train(
            ForecastFit(self, train, held_out),
            held_out,
            folder=folder,
            resume=resume,
            progress=progress,
            hardware=hardware,
        )

    def settled(self, data: Any) -> tuple[Forecaster, list[str]]:
        """The same forecaster with order, radius, ridge and linear path set as `fit` would choose them for these data.

        Parameters
        ----------
        data : object
            As in `fit`.

        Returns
        -------
        (Forecaster, list of str)
            The untrained forecaster, and a sentence on each choice.
        """
        source = recordings(data, self.channels)
        source.require_variation()
        preparation = Preparation.of(self, source)
        chosen = [name for name in ("order", "radius", "ridge") if getattr(self, name) is None]
        sentences = [preparation.law_settings.describe(self.horizon, len(source.channels), chosen)] if chosen else []
        if preparation.law is not None:
            how = "chosen by cross-validation" if self.linear is None else "as set"
            sentences.append(f"network: begins as one linear law of the {preparation.law.reach} ({how})")
        return replace(self, **preparation.choices._asdict()), sentences

    def new_network(self, *, channels: Sequence[str], choices: ChosenSettings, **_: Any) -> Network:
        """An untrained network for these channels."""
        return new_with_seed(
            self.seed,
            lambda: Network(len(channels), width=self.width, kernel=self.kernel, lags=choices.linear, mixed=self.mixed),
        )

    def witness_fitter_for(self, scaling: Scaling, choices: ChosenSettings) -> WitnessFitter:
        """What fits witnesses along the horizon, before the network is trained."""
        return WitnessFitter(
            scaling=scaling,
            scale=self.scale,
            horizon=self.horizon,
            order=choices.order,
            radius=choices.radius,
            ridge=choices.ridge,
        )

    @property
    def witness_fitter(self) -> WitnessFitter:
        """What fits witnesses to the trained network along the horizon."""
        return self.witness_fitter_for(self.fitted_.scaling, self.fitted_.choices)

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
        values = context_of(context, self.channels_, self.context)
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
            Where the future is known, predict and witness each step from the real values before it (teacher forcing)
            instead of the generated ones.
        level : float
            The confidence of the bound.
        """
        values = context_of(context, self.channels_, self.context)
        if values.ndim == 3:
            raise InputError("One context is explained at a time", got=f"{len(values)}", cure="explain each in a loop")
        actual = future_of(future, self.channels_, self.horizon)
        return explain_forecast(self.fitted_, self.witness_fitter, values, actual, forced=forced, level=level)

    def law_of(self, data: Any) -> RecordingLaw:
        """One autoregressive law of the same order for recordings as a whole: of all one-step predictions along them.

        Pass it to `dataclasses.replace(explanation, overall=...)` to see it beside the local laws.
        """
        source, fitter = recordings(data, self.channels_), self.witness_fitter
        sequences = self._sequences(source, stride=self.horizon)
        chosen = np.unique(np.linspace(0, len(sequences) - 1, min(len(sequences), SEQUENCES)).round().astype(int))
        return fit_recording_law(self.network_, fitter, self._pieces(sequences[chosen]), self.steadiness(source))

    def steadiness(self, data: Any) -> Steadiness:
        """How much the local laws of one-step predictions change along recordings; see `Steadiness`.

        Compared are the laws in the middle of stretches as long as the horizon, from each stretch to the next.

        Parameters
        ----------
        data : object
            As in `fit`.
        """
        source = recordings(data, self.channels_)
        neighbors = NeighborPairs.of(source, self.context, self.horizon)
        if not neighbors.pairs:
            return Steadiness(changes=np.empty(0), places=())
        length = self.context + self.horizon
        sequences = np.stack([source.values[i][row : row + length] for i, row in neighbors.sequences])
        fitter = self.witness_fitter
        laws = fitter.central_laws(self.network_, self._pieces(sequences))
        return recording_steadiness(laws, fitter.units, neighbors.pairs)

    def calibrated(self, data: Any, *, progress: bool = False) -> FittedForecaster:
        """The record of the fit, with calibrations along generated and along real values."""
        kinds = {"generated": False, "forced": True}
        calibrations = {name: Calibration.of(self.held_out(data, forced=forced)) for name, forced in kinds.items()}
        return replace(self.fitted_, calibrations=calibrations)

    def held_out(self, data: Any, *, forced: bool = False, seed: int = 0) -> HeldOut:
        """What laws say of a position that they were not fitted to, in one neighborhood of every sequence.

        Parameters
        ----------
        data : object
            As in `fit`.
        forced : bool
            Predict and witness along what really came (teacher forcing) instead of what was generated.
        seed : int
            Seed of the positions.
        """
        pieces = self._pieces(self._sequences(data))
        return self.witness_fitter.held_out(self.network_, pieces, forced=forced, seed=seed)

    def evaluate(self, data: Any, *, forced: bool = False) -> ForecastScores:
        """Error and transparency over all sequences of recordings.

        Parameters
        ----------
        data : object
            As in `fit`.
        forced : bool
            Predict and witness along what really came (teacher forcing) instead of what was generated.
        """
        return forecast_scores(self.network_, self.witness_fitter, self._pieces(self._sequences(data)), forced=forced)

    def deviations(self, data: Any, *, held_out: bool = False) -> np.ndarray:
        """(S,) root mean squared error between predictor and witness along the forecast of every sequence.

        Channels are in units of their standard deviations.

        Parameters
        ----------
        data : object
            As in `fit`.
        held_out : bool
            Ask at each step the law that was fitted without the steps that share a value with it. NaN if the windows
            are too short for that.
        """
        parts, fitter = [], self.witness_fitter
        for z in self._pieces(self._sequences(data)):
            batch = fitter.witness(self.network_, z[:, : self.context], forced=False)
            gaps = fitter.held_out_gaps(batch.witnesses) if held_out else fitter.gaps(batch.witnesses)
            parts.append(gaps.square().mean(1).reshape(len(z), self.horizon).nanmean(1).sqrt().numpy())
        return np.concatenate(parts)

    def in_units(self, distances: np.ndarray) -> np.ndarray:
        """Distances (..., c) between predictor and witness, as `held_out` measures them, in the units of the data."""
        return self.witness_fitter.in_units(distances)

    def _sequences(self, data: Any, stride: int | None = None) -> Subsequences:
        """(S, context + horizon, c) of recordings, disjoint unless there is a stride; a part of them in memory."""
        return recordings(data, self.channels_).subsequences(self.context + self.horizon, stride=stride)

    def _pieces(self, sequences: np.ndarray | Subsequences) -> Iterator[Tensor]:
        for start in range(0, len(sequences), BATCH):
            yield self.scaling_.standardize(sequences[start : start + BATCH])
