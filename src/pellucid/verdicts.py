"""Verdicts: what a reader should know before looking at the numbers of a run, one sentence each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pellucid.numbers import percent
from pellucid.summaries import HELD_OUT, BaselineSummary, ModelSummary

# A test of fewer says little; a relative error above this is hardly better than the mean.
_FEW_TESTS = 30
_HARDLY = 0.98
# From this share on, held out, there is little that a game could add.
_WELL = 0.95
NEAR_ZERO = 0.05
"""A held-out variance explained below this is as good as none."""


def poor_error(scores: Mapping[str, Any]) -> str:
    """A sentence about a network whose relative error is hardly better than that of the mean."""
    return (
        f"The network is hardly better than always predicting the mean (relative error {scores['relative_error']:.3g}):"
        " its explanations mean little. Train longer, with another learning rate, or on more data."
    )


def verdict(
    models: Mapping[str, ModelSummary],
    *,
    tested: int,
    transparency: str,
    poor: Callable[[Mapping[str, Any]], str] = poor_error,
) -> list[str]:
    """What the numbers of DEEP and GAME mean.

    Parameters
    ----------
    models : mapping of str to ModelSummary
        The models with their scores; `relative_error` is divided by that of always predicting the mean.
    tested : int
        The number of test items.
    transparency : str
        The key of the measure of transparency, of which less is better.
    poor : callable
        Makes a sentence of the scores of a network that is hardly better than the mean.
    """
    sentences = []
    scores = models["GAME" if "GAME" in models else "DEEP"].scores
    relative = scores.get("relative_error")
    if relative is not None and not relative < _HARDLY:
        sentences.append(poor(scores))
    if "GAME" in models:
        deep, game = (models[name].scores.get(transparency) for name in ("DEEP", "GAME"))
        if deep is not None and game is not None and not game < deep:
            sentences.append(_no_more(models["DEEP"].scores.get(HELD_OUT)))
    return [*sentences, *few_tests(tested)]


def _no_more(deep: float | None) -> str:
    """A sentence on a game that has changed nothing; what to do depends on how well DEEP is explained."""
    if deep is None or not deep >= _WELL:
        return "GAME is no more transparent than DEEP: raise its weight, or try several weights."
    return (
        f"GAME is no more transparent than DEEP, of which witnesses explain {percent(deep, 0)} where they were not "
        "fitted: this may be all that a game can give, and the more accurate of the two is the one to use."
    )


def few_tests(tested: int) -> list[str]:
    """A sentence on a test of too few items."""
    if tested >= _FEW_TESTS:
        return []
    return [f"The test is small ({tested}): differences between the models may be chance."]


def unexplained(models: Mapping[str, ModelSummary | BaselineSummary], nothing: str, cure: str) -> list[str]:
    """A sentence for each model whose witnesses say nothing where they were not fitted.

    Parameters
    ----------
    models : mapping of str to ModelSummary
        The models with their scores.
    nothing : str
        What their witnesses do not explain, in words.
    cure : str
        What to try.
    """
    shares = {name: model.scores.get(HELD_OUT) for name, model in models.items()}
    return [
        f"{name}: {nothing} (held-out variance explained {share:.2g}), however small the deviation. Do not read them "
        f"as what the network does; {cure}."
        for name, share in shares.items()
        if share is not None and share < NEAR_ZERO
    ]
