"""Random neighborhoods, and plain restatements of definitions to compare with."""

import numpy as np
import torch

import pellucid as pl


def random_hoods(n, n_points, generator, largest=8):
    """Ragged, asymmetric neighborhoods; some points may be in none."""
    sizes = torch.randint(1, min(largest, n_points) + 1, (n,), generator=generator)
    members = [torch.randperm(n_points, generator=generator)[:m] for m in sizes.tolist()]
    centers = torch.randint(n_points, (n,), generator=generator)
    return pl.from_lists(members, centers, n_points)


def dense(hoods):
    """The matrix S (n x N) in float64."""
    matrix = torch.zeros(len(hoods), hoods.n_points, dtype=torch.float64)
    for i in range(len(hoods)):
        matrix[i, hoods.members_of(i)] = 1
    return matrix


def best_linear(x, f, ridge=0.0, intercept=True):
    """Coefficients (P, K) and intercept (K,) by NumPy, one neighborhood at a time."""
    x, f = np.asarray(x, dtype=float), np.asarray(f, dtype=float)
    x_mean, f_mean = (x.mean(0), f.mean(0)) if intercept else (np.zeros(x.shape[1]), np.zeros(f.shape[1]))
    x, f = x - x_mean, f - f_mean
    if ridge:
        theta = np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ f)
    else:
        theta = np.linalg.lstsq(x, f, rcond=None)[0]
    return theta, f_mean - x_mean @ theta


def drawn(count, seed, size=12):
    """Neighborhoods that are drawn alike: points around random centers, and a predictor that is no simple function."""
    generator = torch.Generator().manual_seed(seed)
    centers = torch.rand(count, 2, generator=generator)
    x = (centers[:, None] + 0.1 * torch.randn(count, size, 2, generator=generator)).flatten(0, 1)
    f = torch.stack([torch.sin(9 * x[:, 0]) * x[:, 1], torch.exp(2 * x[:, 0]) + torch.cos(7 * x[:, 1])], 1)
    members = [range(i * size, (i + 1) * size) for i in range(count)]
    return f, x, pl.from_lists(members, centers=[own[0] for own in members])
