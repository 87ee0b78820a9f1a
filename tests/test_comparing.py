"""Families compared by what they say of members that they were not fitted to."""

import pytest
import torch

import pellucid as pl
from pellucid.comparing import CANDIDATES, compare_families


def problem(k=2):
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(80, 2, generator=generator, dtype=torch.float64)
    f = torch.stack([torch.sin(5 * x[:, 0]) + x[:, 1], x[:, 1] ** 2], 1)[:, :k]
    return x, f + 0.1 * torch.randn(80, k, generator=generator, dtype=torch.float64), pl.nearest(x, k=12)


def by_hand(family, x, f, hoods, chosen):
    """Both shares in plain loops over neighborhoods and folds; linear witnesses leave one out."""
    missed, alone, residual, spread = (torch.zeros(f.shape[1], dtype=torch.float64) for _ in range(4))
    for i in chosen.tolist():
        own = hoods.members_of(i)
        folds = 5 if isinstance(family, pl.TreeFamily) else len(own)
        for fold in range(folds):
            out = torch.arange(len(own)) % folds == fold
            rest = pl.from_lists([own[~out].tolist()], [int(own[0])], len(x))
            answers = family.best_response(x, f, rest).evaluate(torch.zeros(int(out.sum())).long(), x[own[out]])
            missed += (f[own[out]] - answers).square().sum(0)
        for j in range(len(own)):
            alone += (f[own[j]] - f[own[torch.arange(len(own)) != j]].mean(0)).square()
        fitted = family.best_response(x, f, pl.from_lists([own.tolist()], [int(own[0])], len(x)))
        residual += (f[own] - fitted.at_members()).square().sum(0)
        spread += (f[own] - f[own].mean(0)).square().sum(0)
    return float((1 - missed / alone).mean()), float((1 - residual / spread).mean())


@pytest.mark.slow
def test_shares_are_those_of_plain_loops():
    x, f, hoods = problem()
    families = {"constant": pl.ConstantFamily(), "linear": pl.LinearFamily(ridge=0.1), "tree": pl.TreeFamily(depth=2)}
    comparison = compare_families(f, x, hoods, families, seed=3)
    assert len(comparison.used) == len(comparison.others) == 40
    assert sorted([*comparison.used.tolist(), *comparison.others.tolist()]) == list(range(80))
    for score, family in zip(comparison.scores, families.values(), strict=True):
        assert (score.held_out, score.where_fitted) == pytest.approx(by_hand(family, x, f, hoods, comparison.used))
    assert comparison.scores[0].held_out == pytest.approx(0, abs=1e-12)  # a constant is what shares are measured by
    assert comparison.best == max(comparison.scores, key=lambda score: score.held_out)
    assert comparison.family is families[comparison.best.name]


def test_noise_is_left_to_the_constant_and_few_neighborhoods_choose_and_judge():
    generator = torch.Generator().manual_seed(1)
    x = torch.rand(200, 3, generator=generator, dtype=torch.float64)
    noise = torch.randn(200, generator=generator, dtype=torch.float64)
    comparison = compare_families(noise, x, pl.nearest(x, k=10))
    assert comparison.best.name == "constant"
    assert max(comparison.scores, key=lambda score: score.where_fitted).name != "constant"
    few = compare_families(noise, x, pl.nearest(x, k=10).select(range(19)))
    assert few.others is None
    assert len(few.used) == 19
    assert few.text().endswith("too few to set some aside")
    equal = compare_families(torch.ones(200), x, pl.nearest(x, k=10))
    assert equal.best.name == "constant"
    assert equal.best.to_dict()["held_out_variance_explained"] is None
    assert "undefined" in equal.text()


def test_what_cannot_be_compared_is_refused():
    x, f, hoods = problem()
    with pytest.raises(pl.InputError, match="`families` must be witness families by their names"):
        compare_families(f, x, hoods, {"linear": "linear"})
    with pytest.raises(pl.InputError, match="at least 3 members. Got smaller ones"):
        compare_families(f, x, pl.nearest(x, k=2))
    with pytest.raises(pl.InputError, match="must leave some neighborhoods"):
        compare_families(f, x, hoods, judges=range(80))
    assert list(CANDIDATES) == ["constant", "linear", "sparse linear", "tree", "shrunken tree"]
