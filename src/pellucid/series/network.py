"""The predictor: convolution, LSTM and two dense layers, a linear path beside them, a Gaussian at every position."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias, final

import torch
from torch import Tensor, nn
from torch.nn import functional

State: TypeAlias = tuple[Tensor, tuple[Tensor, Tensor] | None]
"""What must be remembered to go on: the last values that convolution and linear path read, and the LSTM's state."""


class Gaussian(NamedTuple):
    """Distributions of the next value: N(mean, factor factor')."""

    mean: Tensor
    """(..., c)."""
    factor: Tensor
    """(..., c, c) lower triangular with a positive diagonal: the Cholesky factor of the covariance."""

    def negative_log_likelihood(self, value: Tensor) -> Tensor:
        """-log p(value), (...): one number per position, over all channels jointly."""
        gap = (value - self.mean)[..., None]
        white: Tensor = torch.linalg.solve_triangular(self.factor, gap, upper=False)[..., 0]
        log_determinant: Tensor = self.factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return 0.5 * white.square().sum(-1) + log_determinant + 0.5 * value.shape[-1] * math.log(2 * math.pi)


@final
class Network(nn.Module):
    """p(x_{i+1} | x_1..x_i) = N(mu_i, L_i L_i') for every position i of a multi-channel sequence.

    The outputs at position i depend on x_1..x_i only. They are c + c(c+1)/2 numbers: the mean, and a lower
    triangular matrix whose diagonal passes through a softplus. With a linear path the mean is

        mu_i = A [x_i, ..., x_{i-lags+1}] + b + recurrent part,

    so that a network with a law (`start_at`) begins as that law and has only the rest to learn. A is the law plus what
    is learned divided by sqrt(lags c): this many weights, each moved by the optimiser's step, would otherwise carry
    the network away from the law faster than it learns anything.

    Parameters
    ----------
    channels : int
        The number c of channels.
    width : int
        Width of all hidden layers.
    kernel : int
        Number of positions that the causal convolution sees.
    lags : int
        Number of values that the linear path reads, the present one included; 0 is no linear path, as in the paper.
    mixed : bool
        Whether the LSTM multiplies in bfloat16 while it is trained. Everything else, and all that is computed after
        training, is in the precision of the weights.
    """

    lower: Tensor
    law: Tensor

    def __init__(self, channels: int, *, width: int = 128, kernel: int = 9, lags: int = 0, mixed: bool = False) -> None:
        super().__init__()
        self.channels, self.kernel, self.lags, self.mixed = channels, kernel, lags, mixed
        self.convolution = nn.Conv1d(channels, width, kernel)
        self.recurrence = nn.LSTM(width, width, batch_first=True)
        self.hidden = nn.Linear(width, width)
        self.output = nn.Linear(width, channels + channels * (channels + 1) // 2)
        if lags:
            self.linear = nn.Linear(lags * channels, channels)
            nn.init.zeros_(self.linear.weight)
            self.register_buffer("law", torch.zeros_like(self.linear.weight))
        self.register_buffer("lower", torch.tril_indices(channels, channels), persistent=False)

    @torch.no_grad()
    def start_at(self, weights: Tensor, offset: Tensor, covariance: Tensor) -> None:
        """Begin as a linear law with Gaussian errors: the recurrent part is 0 at first.

        Parameters
        ----------
        weights : Tensor
            (lags c, c) from the present values of all channels, then those before, to the next ones.
        offset : Tensor
            (c,).
        covariance : Tensor
            (c, c) of the errors.
        """
        self.law.copy_(weights.T)
        self.linear.weight.zero_()
        self.linear.bias.copy_(offset)
        factor = torch.linalg.cholesky(covariance)
        row, column = self.lower
        entries = factor[row, column]
        inverse = torch.log(torch.expm1(entries.clamp(min=1e-6)))  # of the softplus
        self.output.weight.zero_()
        self.output.bias.zero_()
        self.output.bias[self.channels :] = torch.where(row == column, inverse, entries).to(self.output.bias)

    def forward(self, x: Tensor, *, last: int | None = None, state: State | None = None) -> tuple[Gaussian, State]:
        """Distributions of the next value after each position.

        Parameters
        ----------
        x : Tensor
            (B, T, c) observations.
        last : int, optional
            The number of last positions to return; by default all of them.
        state : State, optional
            The state that the call on the preceding observations returned.
        """
        # Zeros stand for what came before the sequence.
        before = max(self.kernel, self.lags) - 1
        past, memory = state if state is not None else (x.new_zeros(len(x), before, self.channels), None)
        x = torch.cat([past, x], dim=1)
        # As one product, (B, T, width): a convolution of few channels spends its time on moving numbers.
        windows = x[:, before - self.kernel + 1 :].unfold(1, self.kernel, 1).flatten(2)
        features = functional.relu(
            functional.linear(windows, self.convolution.weight.flatten(1), self.convolution.bias)
        )
        with torch.autocast(x.device.type, torch.bfloat16, enabled=self.mixed and self.training):
            features, memory = self.recurrence(features, memory)
        if last is not None:
            features = features[:, -last:]
        features = features.to(x.dtype)
        outputs = self.output(functional.relu(self.hidden(features)))
        mean, entries = outputs.split([self.channels, outputs.shape[-1] - self.channels], dim=-1)
        if self.lags:
            mean = mean + self._linear(x, mean.shape[1])
        return self._gaussian(mean, entries), (x[:, x.shape[1] - before :], memory)

    def _linear(self, x: Tensor, positions: int) -> Tensor:
        """(B, positions, c) the linear path at the last positions of x (B, T, c)."""
        weight = self.law + self.linear.weight / self.law.shape[1] ** 0.5
        kernel = weight.reshape(self.channels, self.lags, self.channels).flip(1)  # lags in order of time
        values = x[:, x.shape[1] - positions - self.lags + 1 :]
        return functional.conv1d(values.mT, kernel.mT, self.linear.bias).mT

    def _gaussian(self, mean: Tensor, entries: Tensor) -> Gaussian:
        """Means (B, T, c), and c(c+1)/2 entries of each factor."""
        row, column = self.lower
        factor = entries.new_zeros(*mean.shape, self.channels)
        factor[..., row, column] = torch.where(row == column, functional.softplus(entries), entries)
        return Gaussian(mean, factor)

    def generate(self, context: Tensor, horizon: int) -> Gaussian:
        """Greedy autoregressive generation: each mean becomes the next observation.

        Returns
        -------
        Gaussian
            The distributions of the `horizon` values after `context` (B, t, c), each given the context and the means
            before it.
        """
        gaussian, state = self(context, last=1)
        steps = [gaussian]
        for _ in range(horizon - 1):
            gaussian, state = self(gaussian.mean, state=state)
            steps.append(gaussian)
        return Gaussian(*(torch.cat(parts, dim=1) for parts in zip(*steps, strict=True)))
