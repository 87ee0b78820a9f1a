"""Verdicts: what a reader should know before looking at the numbers of a run, one sentence each."""

from __future__ import annotations

from collections.abc import Mapping

from pellucid.summaries import HELD_OUT, BaselineSummary, ModelSummary

# A test of fewer says little; a relative error above this is hardly better than the mean, and one below that clearly.
_FEW_TESTS = 30
_HARDLY, _CLEARLY = 0.98, 0.9
NEAR_ZERO = 0.05
"""A held-out variance explained below this is as good as none."""


def verdict(models: Mapping[str, ModelSummary], *, tested: int, transparency: str) -> list[str]:
    """What the numbers of DEEP and GAME mean.

    Parameters
    ----------
    models : mapping of str to ModelSummary
        The models with their scores; `relative_error` is divided by that of always predicting the mean, and so is
        `relative_error_one_step` of forecasts.
    tested : int
        The number of test items.
    transparency : str
        The key of the measure of transparency, of which less is better.
    """
    sentences = []
    scores = models["GAME" if "GAME" in models else "DEEP"].scores
    relative, ahead = scores.get("relative_error"), scores.get("relative_error_one_step")
    hardly = relative is not None and not relative < _HARDLY
    if hardly and ahead is not None and ahead < _CLEARLY:
        sentences.append(
            f"Over the whole horizon next to nothing can be forecast (relative error {relative:.3g}; always "
            f"forecasting the mean has 1). One step ahead it can (relative error {ahead:.3g}): choose a "
            "shorter horizon."
        )
    elif hardly:
        sentences.append(
            f"The network is hardly better than always predicting the mean (relative error {relative:.3g}): its "
            "explanations mean little. Train longer, with another learning rate, or on more data."
        )
    if "GAME" in models:
        deep, game = (models[name].scores.get(transparency) for name in ("DEEP", "GAME"))
        if deep is not None and game is not None and not game < deep:
            sentences.append("GAME is no more transparent than DEEP: raise its weight, or try several weights.")
    return [*sentences, *few_tests(tested)]


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
