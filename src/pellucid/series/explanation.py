"""What a forecast follows: one autoregressive law per step, and how closely it is followed."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, final

import numpy as np
import torch

from pellucid.errors import InputError
from pellucid.explanations import Explanation
from pellucid.schemas import LARGEST, SMALLEST, Between, SchemaError, Size, as_written, checked
from pellucid.series import explanation_text
from pellucid.series.explanation_text import COLUMNS
from pellucid.series.overall import RecordingLaw
from pellucid.series.stability import instability_note, spectral_radius
from pellucid.series.steadiness import Steadiness
from pellucid.stored_arrays import array_of
from pellucid.trust import LEVEL, check_level
from pellucid.witnesses import lag_names
from pellucid.witnesses.linear import LinearWitness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ARRAYS = (
    "context", "mean", "covariance", "parameters", "witnessed", "held_out", "fit", "shift", "scale", "actual", "bound",
    "explained",
)  # fmt: skip


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ForecastExplanation(Explanation):
    """One forecast with its witnesses, in the units of the data; H steps, c channels.

    At step h the predictor says `mean[h]`; its witness there, fitted to the predictor over the steps within the
    radius, says `witnessed[h]`. Prints as a table; `explanation[h]` is the law of one step, to be read.
    """

    channels: tuple[str, ...]
    order: int
    radius: int
    context: np.ndarray = field(repr=False)
    """(t, c) what was observed."""
    mean: np.ndarray = field(repr=False)
    """(H, c) the predictor's forecast."""
    covariance: np.ndarray = field(repr=False)
    """(H, c, c) of each step given the values before it, real or forecast: that of one step, never accumulated."""
    parameters: np.ndarray = field(repr=False)
    """(H, 1 + order c, c): theta_0, then theta_1 for the present value of every channel, theta_2 for the one before."""
    witnessed: np.ndarray = field(repr=False)
    """(H, c) what each step's witness says at that step."""
    fit: np.ndarray = field(repr=False)
    """(H,) root mean squared error between witness and predictor over the channels and the steps within the radius,
    which the witness was fitted to."""
    held_out: np.ndarray | None = field(default=None, repr=False)
    """(H, c) what each step's law says at that step if it is fitted without all steps that share a value with it, see
    `HeldOutLaws`; NaN where no others are within the radius, None if not known."""
    shift: np.ndarray | None = field(default=None, repr=False)
    """(c,) the mean of each channel in the training data."""
    scale: np.ndarray | None = field(default=None, repr=False)
    """(c,) the standard deviation of each channel in the training data."""
    actual: np.ndarray | None = field(default=None, repr=False)
    """(H, c) what really came, if it is known."""
    level: float = LEVEL
    """The confidence of the bound."""
    bound: np.ndarray | None = field(default=None, repr=False)
    """(H, c) what |predictor - witness| does not exceed, with this confidence, at a further position of each step's
    neighborhood, which the witness was not fitted to; None if that is not known. See `pellucid.trust`."""
    calibrated: int = 0
    """The number of held-out sequences that the bound was learned from."""
    why_not: str | None = None
    """Why there is no bound, if there is none."""
    explained: np.ndarray | None = field(default=None, repr=False)
    """(c,) held-out variance explained: the share of the predictor's variance along the steps that laws account for at
    steps whose values they have not seen. 0 is no better than a constant; NaN where nothing varies."""
    forced: bool | None = None
    """Whether each step was predicted from the real values before it instead of the forecast so far; None if not known.
    """
    overall: RecordingLaw | None = field(default=None, repr=False)
    """The law of the recording as a whole, if it was asked for; see `Forecaster.law_of`."""
    steadiness: Steadiness | None = field(default=None, repr=False)
    """How much the law changes along the forecast; None if not known."""

    @property
    def held_out_deviation(self) -> np.ndarray | None:
        """(H,) root mean squared error over the channels between predictor and held-out law at each step, NaN where
        there is none; None if not known.
        """
        return None if self.held_out is None else np.asarray(np.sqrt(np.square(self.mean - self.held_out).mean(1)))

    @property
    def deviation(self) -> np.ndarray:
        """(H,) root mean squared error over the channels between predictor and witness at each step, which the witness
        was fitted to.
        """
        return np.asarray(np.sqrt(np.square(self.mean - self.witnessed).mean(1)))

    @property
    def variation(self) -> np.ndarray:
        """(H - 1,) total variation |theta_{h+1} - theta_h|_1 between consecutive witnesses, over all parameters."""
        return np.asarray(np.abs(np.diff(self.parameters, axis=0)).sum((1, 2)))

    @property
    def spectral_radius(self) -> np.ndarray:
        """(H,) of each step's law; above 1 it is unstable: its own forecast would run away."""
        return spectral_radius(self.parameters)

    @property
    def standardized(self) -> np.ndarray:
        """The parameters in units of each channel's standard deviation around its mean, comparable across channels.

        In the units of the data, where the training data's mean and deviation are not known.
        """
        if self.shift is None or self.scale is None:
            return self.parameters
        lag_shift, lag_scale = (np.tile(v, self.order) for v in (self.shift, self.scale))
        weights = self.parameters[:, 1:] * lag_scale[:, None] / self.scale
        offset = (self.parameters[:, 0] + lag_shift @ self.parameters[:, 1:] - self.shift) / self.scale
        return np.concatenate([offset[:, None], weights], axis=1)

    @property
    def names(self) -> list[str]:
        """Names of the parameters: "offset" for theta_0, then the lags."""
        return ["offset", *lag_names(self.channels, order=self.order)]

    def __len__(self) -> int:
        return len(self.mean)

    def __getitem__(self, step: int) -> LinearWitness:
        """The law of one step, from 0; print it to read it, call it with the lags to evaluate it."""
        steps = range(len(self))
        try:
            center = steps[operator.index(step)]
        except IndexError:
            raise IndexError(f"Steps run from 0 to {len(self) - 1}. Got {step}.") from None
        members = [other for other in steps if abs(other - center) <= self.radius]
        return LinearWitness(
            center=center,
            place=f"step {center + 1}{instability_note(float(self.spectral_radius[center]))}",
            size=len(members),
            rmse=float(self.fit[center]),
            digits=self.digits,
            feature_names=lag_names(self.channels, order=self.order),
            output_names=[f"{name}[t+1]" for name in self.channels],
            coefficients=torch.from_numpy(self.parameters[center, 1:]),
            intercept=torch.from_numpy(self.parameters[center, 0]),
        )

    @property
    def digits(self) -> int:
        """The significant digits that a law must be printed with: offsets cancel against the means of the channels."""
        if self.shift is None or self.scale is None:
            return 4
        return 4 + int(np.ceil(np.log10(max(1.0, float(np.abs(self.shift / self.scale).max())))))

    def channel(self, name: str | int | None) -> int:
        """The position of a channel.

        Parameters
        ----------
        name : str or int, optional
            Its name or position; by default the first.
        """
        if name is None:
            return 0
        if name in self.channels:
            return self.channels.index(str(name))
        try:
            return range(len(self.channels))[operator.index(name)]  # type: ignore[arg-type]
        except (TypeError, IndexError):
            raise InputError(
                f"The channel must be one of {', '.join(self.channels)}",
                got=f"{name!r}",
                cure="name one of them",
                parameter="channel",
            ) from None

    def table(self, channel: str | int | None = None, *, columns: int | None = COLUMNS) -> str:
        """A row per step: the forecast of one channel, what the witness says, and the witness's parameters.

        Parameters
        ----------
        channel : str or int, optional
            The channel, by name or position; by default the first.
        columns : int, optional
            The number of parameters to show, those that matter most; None shows all.
        """
        return explanation_text.table(self, self.channel(channel), columns=columns)

    def text(self, target: str | int | None = None) -> str:
        """What the steps are predicted from, and how one channel follows its laws.

        Parameters
        ----------
        target : str or int, optional
            The channel, by name or position; by default the first.
        """
        return explanation_text.text(self, target)

    def summary(self) -> str:
        """How closely the forecast follows its laws, channel by channel, and how much these change."""
        return explanation_text.summary(self)

    def trust(self) -> str:
        """How far the laws can be trusted near the forecast, in one sentence."""
        return explanation_text.trust(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        arrays = {name: None if (v := getattr(self, name)) is None else _plain(v) for name in _ARRAYS}
        held_out = self.held_out_deviation
        return {
            "channels": list(self.channels),
            "order": self.order,
            "radius": self.radius,
            "names": self.names,
            **arrays,
            "level": self.level,
            "calibrated": self.calibrated,
            "why_not": self.why_not,
            "forced": self.forced,
            "overall": None if self.overall is None else self.overall.to_dict(),
            "held_out_deviation": None if held_out is None else _plain(held_out),
            "deviation": self.deviation.tolist(),
            "steadiness": None if self.steadiness is None else self.steadiness.to_dict(),
            "variation": self.variation.tolist(),
            "spectral_radius": self.spectral_radius.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ForecastExplanation:
        """The explanation that `to_dict` was called on, also after a way through JSON."""
        with as_written("An explanation must be as it was written", where="one", cure="explain the forecast again"):
            return cls(**_fields_from(content))

    def rows(self) -> Iterator[list[Any]]:
        """A row per step and channel, after the names of the columns.

        Forecast, what really came (blank if not known), standard deviation of one step, the held-out deviation of the
        law (likewise), witness, its deviation, bound, spectral radius and parameters.
        """
        radii = self.spectral_radius.tolist()
        columns = [
            "forecast",
            "real",
            "one-step sd",
            "held-out deviation",
            "witness",
            "deviation where fitted",
            "bound",
        ]
        yield ["step", "channel", *columns, "spectral radius", *self.names]
        for h in range(len(self)):
            for k, name in enumerate(self.channels):
                forecast, witness = float(self.mean[h, k]), float(self.witnessed[h, k])
                unseen = "" if self.held_out is None else _cell(abs(forecast - self.held_out[h, k]))
                yield [
                    h + 1,
                    name,
                    forecast,
                    "" if self.actual is None else float(self.actual[h, k]),
                    float(self.covariance[h, k, k] ** 0.5),
                    unseen,
                    witness,
                    abs(forecast - witness),
                    "" if self.bound is None else _cell(self.bound[h, k]),
                    radii[h],
                    *self.parameters[h, :, k].tolist(),
                ]

    def to_html(self, path: str | Path, *, title: str | None = None) -> None:
        """Write it as one HTML file that needs nothing else: forecast, witness and coefficients of every channel.

        Parameters
        ----------
        path : str or Path
            The file to write.
        title : str, optional
            What was explained, for instance the name of a file; by default the channels.
        """
        from pellucid.series.explanation_page import write_one

        write_one(self, path, title=title)

    def plot(self, target: str | int | None = None, *, standardized: bool = True) -> Figure:
        """The forecast of a channel beside a heat map of its witnesses' parameters; see `plot_explanations`."""
        from pellucid.series.figures import plot_explanations

        return plot_explanations({"witness": self}, target, standardized=standardized)

    def _repr_html_(self) -> str:
        from pellucid.series.explanation_page import fragment

        return str(fragment(self))


def _plain(values: np.ndarray) -> Any:
    """Nested lists, ready for JSON: None in the place of NaN."""
    return np.where(np.isnan(values), np.array(None), values).tolist()


def _cell(value: float) -> float | str:
    """A number of a table; blank where it is not known."""
    return "" if np.isnan(value) else float(value)


def _fields_from(content: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an explanation from `to_dict`, checked against each other."""
    channels = checked(Annotated[tuple[str, ...], Between(1)], content["channels"], "channels")
    order = checked(Annotated[int, Between(1, 2**20)], content["order"], "order")
    c, context = len(channels), content["context"]
    mean = array_of(content["mean"], [None, c], "mean")
    steps = len(mean)
    shapes: dict[str, list[int | None]] = {
        "covariance": [steps, c, c],
        "parameters": [steps, 1 + order * c, c],
        "witnessed": [steps, c],
        "held_out": [steps, c],
        "fit": [steps],
        "shift": [c],
        "scale": [c],
        "actual": [steps, c],
        "bound": [steps, c],
        "explained": [c],
    }
    least = {"fit": 0.0, "bound": 0.0, "scale": SMALLEST}
    required = ("covariance", "parameters", "witnessed", "fit")
    arrays = {
        name: array_of(
            content[name],
            shape,
            name,
            low=least.get(name, -LARGEST),
            blanks=name in ("bound", "explained", "actual", "held_out"),
        )
        for name, shape in shapes.items()
        if name in required or content.get(name) is not None
    }
    if (arrays["covariance"].diagonal(axis1=1, axis2=2) < 0).any():
        raise SchemaError("covariance has negative variances")
    overall, steadiness = content.get("overall"), content.get("steadiness")
    return {
        "channels": channels,
        "order": order,
        "radius": checked(Size, content["radius"], "radius"),
        "context": array_of(context, [None, c], "context"),
        "mean": mean,
        **arrays,
        "level": check_level(content.get("level", LEVEL)),
        "calibrated": checked(Size, content.get("calibrated", 0), "calibrated"),
        "why_not": checked(str | None, content.get("why_not"), "why_not"),
        "forced": checked(bool | None, content.get("forced"), "forced"),
        "overall": None if overall is None else RecordingLaw.from_dict(overall, order=order, channels=c),
        "steadiness": None if steadiness is None else Steadiness.from_dict(steadiness),
    }
