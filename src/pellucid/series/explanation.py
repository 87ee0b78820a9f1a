"""What a forecast follows: one autoregressive law per step, and how closely it is followed."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from pellucid.errors import InputError
from pellucid.witnesses import lag_names
from pellucid.witnesses.linear import LinearWitness

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@final
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Explanation:
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
    """(H, c, c) of each step, given the means before it."""
    parameters: np.ndarray = field(repr=False)
    """(H, 1 + order c, c): theta_0, then theta_1 for the present value of every channel, theta_2 for the one before."""
    witnessed: np.ndarray = field(repr=False)
    """(H, c) what each step's witness says at that step."""
    fit: np.ndarray = field(repr=False)
    """(H,) root mean squared error between witness and predictor over the steps within the radius."""
    actual: np.ndarray | None = field(default=None, repr=False)
    """(H, c) what really came, where the steps were predicted from it (teacher forcing)."""

    @property
    def deviation(self) -> np.ndarray:
        """(H,) root mean squared error over the channels between predictor and witness at each step."""
        return np.asarray(np.sqrt(np.square(self.mean - self.witnessed).mean(1)))

    @property
    def variation(self) -> np.ndarray:
        """(H - 1,) total variation |theta_{h+1} - theta_h|_1 between consecutive witnesses, over all parameters."""
        return np.asarray(np.abs(np.diff(self.parameters, axis=0)).sum((1, 2)))

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
            step = steps[step]
        except IndexError:
            raise IndexError(f"Steps run from 0 to {len(self) - 1}. Got {step}.") from None
        size = len(range(max(0, step - self.radius), min(len(self), step + self.radius + 1)))
        return LinearWitness(
            center=step,
            size=size,
            rmse=float(self.fit[step]),
            feature_names=lag_names(self.channels, order=self.order),
            output_names=[f"{name}[t+1]" for name in self.channels],
            coefficients=torch.from_numpy(self.parameters[step, 1:]),
            intercept=torch.from_numpy(self.parameters[step, 0]),
        )

    def channel(self, name: str | int | None) -> int:
        """The place of a channel, given by name or place; by default the first."""
        if name is None:
            return 0
        if name in self.channels:
            return self.channels.index(str(name))
        if isinstance(name, int) and -len(self.channels) <= name < len(self.channels):
            return name % len(self.channels)
        raise InputError(f"The channel must be one of {', '.join(self.channels)}. Got {name!r}; name one of them.")

    def table(self, channel: str | int | None = None) -> str:
        """A row per step: the forecast of one channel, its deviation from the witness, and the witness."""
        k = self.channel(channel)
        head = ["step", "forecast", "sd", "witness", *self.names]
        deviations = np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2))
        rows = [
            [f"{h + 1}", *(f"{v:.4g}" for v in (self.mean[h, k], deviations[h, k], self.witnessed[h, k])),
             *(f"{v:.3f}" for v in self.parameters[h, :, k])]
            for h in range(len(self))
        ]  # fmt: skip
        widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
        return "\n".join(
            "  ".join(f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)) for row in [head, *rows]
        )

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return f"Channel {self.channels[0]!r} and the law that it follows:\n{self.table()}\n{self.summary()}"

    def summary(self) -> str:
        """In two lines how closely the forecast follows its laws, and how much these change."""
        swing = float(self.mean.std(axis=0).mean())
        followed = f"deviation {float(np.sqrt(np.square(self.deviation).mean())):.4g} (rms over all channels and steps"
        changed = f"variation {float(self.variation.mean()):.4g} (mean change of the parameters from step to step)"
        return f"{followed}; the forecast itself moves by {swing:.4g})" + (f"\n{changed}" if len(self) > 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and strings, ready for JSON."""
        arrays = ("context", "mean", "covariance", "parameters", "witnessed", "fit", "deviation", "variation", "actual")
        return {
            "channels": list(self.channels),
            "order": self.order,
            "radius": self.radius,
            "names": self.names,
            **{name: None if (v := getattr(self, name)) is None else v.tolist() for name in arrays},
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Explanation:
        """What `to_dict` gave, also after a way through JSON."""
        arrays: dict[str, Any] = {
            name: None if content[name] is None else np.array(content[name])
            for name in ("context", "mean", "covariance", "parameters", "witnessed", "fit", "actual")
        }
        return cls(
            channels=tuple(content["channels"]),
            order=content["order"],
            radius=content["radius"],
            **arrays,
        )

    def to_json(self, path: str | Path) -> None:
        """Write everything as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1) + "\n")

    def to_csv(self, path: str | Path | None = None) -> str:
        """A row per step and channel: forecast, standard deviation, witness, deviation and parameters."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["step", "channel", "forecast", "sd", "witness", "deviation", *self.names])
        for h in range(len(self)):
            for k, name in enumerate(self.channels):
                gap = abs(self.mean[h, k] - self.witnessed[h, k])
                numbers = [self.mean[h, k], self.covariance[h, k, k] ** 0.5, self.witnessed[h, k], gap]
                writer.writerow([h + 1, name, *(float(v) for v in [*numbers, *self.parameters[h, :, k]])])
        if path is not None:
            Path(path).write_text(text.getvalue())
        return text.getvalue()

    def plot(self, channel: str | int | None = None) -> Figure:
        """The forecast of a channel beside a heat map of its witnesses' parameters, step by step."""
        from pellucid.series.figures import plot_explanations

        return plot_explanations({"witness": self}, channel)
