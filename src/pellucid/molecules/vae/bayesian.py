"""A Bayesian choice of the molecules to value next, by botorch (Balandat et al. 2020): for goals that cost something.

A Gaussian process over the encodings of the molecules that were valued says of others how high their values may be.
Chosen is the batch whose expected improvement over the best value is largest (Ament et al. 2023), from molecules that
were decoded around the best one: what is valued is a molecule, and not a point that none may lie at.
"""

from __future__ import annotations

import numpy as np
import torch

from pellucid.errors import InputError, Parameter

# Iterations of the fit of the process' lengthscales: more change little.
_ITERATIONS = 30
_SAMPLES = 64


def require_botorch() -> None:
    """Refuse where there is no library to search with, before anything is computed."""
    try:
        import botorch  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(
            f"{Parameter('search', 'bayesian')} needs botorch, which must be installed",
            cure="pip install 'pellucid[search]'",
            parameter="search",
        ) from error


def most_promising(x: np.ndarray, y: np.ndarray, candidates: np.ndarray, count: int, *, seed: int) -> list[int]:
    """Indices of the candidates whose batch has the largest expected improvement, the best first.

    Parameters
    ----------
    x : ndarray
        (N, P) points that were valued.
    y : ndarray
        (N,) their values, the higher the better.
    candidates : ndarray
        (C, P) different points to choose from.
    count : int
        The number to choose.
    seed : int
        Seed of the samples that the expectation is estimated by.
    """
    from botorch.acquisition.logei import qLogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim.optimize import optimize_acqf_discrete
    from botorch.sampling.normal import SobolQMCNormalSampler
    from gpytorch.mlls import ExactMarginalLogLikelihood

    points, values = torch.from_numpy(x).double(), torch.from_numpy(y).double()[:, None]
    choices = torch.from_numpy(candidates).double()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        process = SingleTaskGP(points, values, input_transform=Normalize(x.shape[1]), outcome_transform=Standardize(1))
        fit_gpytorch_mll(
            ExactMarginalLogLikelihood(process.likelihood, process),
            optimizer_kwargs={"options": {"maxiter": _ITERATIONS}},
        )
        improvement = qLogExpectedImprovement(
            process, best_f=values.max(), sampler=SobolQMCNormalSampler(torch.Size([_SAMPLES]), seed=seed)
        )
        with torch.no_grad():
            chosen, _ = optimize_acqf_discrete(improvement, q=min(count, len(choices)), choices=choices, unique=True)
    return [int((choices == point).all(1).nonzero()[0, 0]) for point in chosen]
