import json
from textwrap import dedent

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

import pellucid as pl
from pellucid import metrics
from pellucid.comparing import compare_families


def test_it_judges_scikit_learn_models_from_their_predictions():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(300, 3))
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
    hoods = pl.nearest(x, k=20)
    straight = pl.audit(LinearRegression().fit(x, y).predict(x), x, hoods, pl.LinearFamily())
    forest = pl.audit(RandomForestRegressor(20, random_state=0).fit(x, y).predict(x), x, hoods, pl.LinearFamily())
    assert straight.deviations.max() < 1e-20
    assert straight.explained == pytest.approx(1.0)
    assert float(straight.local_auc.nanmean()) == pytest.approx(1.0, abs=1e-3)
    assert forest.deviations.mean() > 1e-3
    assert 0.2 < forest.explained < 0.99
    assert float(forest.global_auc) < float(straight.global_auc)


def test_every_number_follows_its_definition(generator):
    x = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    f = torch.randn(40, 2, generator=generator, dtype=torch.float64)
    hoods = pl.nearest(x, k=9)
    family = pl.TreeFamily(depth=2)
    report = pl.audit(f, x, hoods, family, deviation=pl.absolute_error)
    witnesses = family.best_response(x, f, hoods)
    torch.testing.assert_close(report.deviations, witnesses.deviations(pl.absolute_error))
    torch.testing.assert_close(report.local_auc, metrics.local_generalized_auc(f, witnesses.at_members(), hoods))
    torch.testing.assert_close(report.global_auc, metrics.generalized_auc(f, witnesses.at_centers()))
    assert report.rmse == pytest.approx(metrics.deviation_rmse(f, witnesses))
    residual = total = 0.0
    for i in range(40):
        own = hoods.members_of(i)
        residual += (f[own] - witnesses[i](x[own])).square().sum()
        total += (f[own] - f[own].mean(0)).square().sum()
    assert report.explained == pytest.approx(1 - float(residual / total))
    assert report.quantiles()[0.5] == pytest.approx(report.deviations.quantile(0.5).item())
    left_out = family.held_out_values(x, f, hoods)
    expected = hoods.sum_members((f[hoods.members] - left_out).abs().sum(1)) / 9
    torch.testing.assert_close(report.held_out_deviations, expected)
    assert report.quantiles(held_out=True)[0.5] == pytest.approx(expected.quantile(0.5).item())
    assert report.to_dict()["held_out_deviation"] == pytest.approx(expected.mean().item())
    assert report.worst(3) == report.deviations.argsort(descending=True)[:3].tolist()
    assert json.loads(json.dumps(report.to_dict()))["neighborhoods"] == 40


def test_it_prints_as_a_table():
    x = torch.arange(8, dtype=torch.float64)[:, None]
    f = torch.tensor([0.0, 1, 0, 1, 0, 1, 0, 1], dtype=torch.float64)
    report = pl.audit(f, x, pl.windows([8], radius=7), pl.ConstantFamily())
    expected = """\
        held-out variance explained             0.0 %
        variance explained where fitted         0.0 %
        neighborhoods                               8
        members, median (largest)               8 (8)
        held-out deviation, mean               0.3265
        held-out deviation, 5% quantile        0.3265
        held-out deviation, 25% quantile       0.3265
        held-out deviation, 50% quantile       0.3265
        held-out deviation, 75% quantile       0.3265
        held-out deviation, 95% quantile       0.3265
        held-out deviation, 100% quantile      0.3265
        deviation where fitted, mean             0.25
        rmse at the centers                       0.5
        bound near a center, 90 %           not known
        generalized AUC, local                 0.0000
        generalized AUC, global                0.0000
        """ + report.caution()
    assert str(report) == dedent(expected)
    assert report.caution().startswith("held-out variance explained is 0.0 %: at members that it was not fitted to")


def test_bounds_follow_from_the_deviations_of_each_neighborhood():
    x = torch.rand(120, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    f = torch.stack([torch.sin(5 * x[:, 0]), 10 * x[:, 1] ** 2], 1)
    hoods = pl.nearest(x, k=8)
    report = pl.audit(f, x, hoods, pl.LinearFamily())
    for i in (0, 60):
        own = hoods.members_of(i)
        deviation = (f[own] - report.witnesses[i](x[own])).abs().mean(0)
        np.testing.assert_allclose(report.bound(0.8)[i], report.calibration.bound(deviation, 0.8))
    medians = np.median(report.bound(0.8), axis=0)
    assert report.to_dict(0.8)["bound"] == pytest.approx(medians)
    for k, name in enumerate(("f0", "f1")):  # outputs of different units are never pooled
        (line,) = (
            line for line in report.text(0.8).splitlines() if line.startswith(f"bound near a center, 80 %: {name}")
        )
        assert line.split()[-1] == f"{medians[k]:.4f}"
    spread = f.std(0, correction=0).numpy()
    np.testing.assert_allclose(report.relative(), (report.distances / spread).mean(1))
    assert np.isnan(report.bound(0.999)).all()
    assert report.witness(60, 0.8).bound == pytest.approx(report.bound(0.8)[60])
    assert report[60].to_dict()["level"] == 0.9
    both = ", ".join(f"{value:.3g}" for value in report.bound(0.8)[60])
    last = f"  with 80 % confidence within {both} of it at a further point nearby"
    assert str(report.witness(60, 0.8)).splitlines()[-1] == last
    assert "with 99.9 % confidence is not known: 120 held-out neighborhoods are too few" in str(
        report.witness(60, 0.999)
    )


def test_a_neighborhood_of_two_has_no_bound():
    hoods = pl.from_lists([range(10 * i, 10 * i + 10) for i in range(12)] + [[0, 1]])
    f = torch.arange(120) + torch.rand(120, generator=torch.Generator().manual_seed(0))
    report = pl.audit(f, torch.zeros(120, 1), hoods, pl.ConstantFamily())
    assert np.isnan(report.bound()[-1])
    assert np.isfinite(report.bound()[:-1]).all()


def test_of_a_constant_predictor_there_is_nothing_to_explain():
    report = pl.audit(np.ones(5), np.zeros((5, 1)), pl.windows([5], radius=1), pl.ConstantFamily())
    assert np.isnan(report.explained)
    assert report.to_dict()["explained_where_fitted"] is None
    assert "held-out variance explained         undefined" in str(report)
    assert not report.caution()
    assert torch.isnan(report.local_auc).all()
    assert str(report).endswith("generalized AUC, global             undefined")
    assert json.loads(json.dumps(report.to_dict(), allow_nan=False))["auc_global"] is None


def test_it_wants_a_family():
    with pytest.raises(pl.PellucidError, match="`family` must be a witness family"):
        pl.audit(np.ones(5), np.zeros((5, 1)), pl.windows([5], radius=1), "linear")


class Table:
    """As pandas and polars have it."""

    columns = ("speed", "load")

    def __init__(self, values):
        self.values = values

    def to_numpy(self):
        self.values.flags.writeable = False
        return self.values


def test_tables_bring_their_names():
    values = np.random.default_rng(0).random((40, 2))
    x = Table(values)
    report = pl.audit(2 * values[:, 0] - values[:, 1], x, pl.nearest(x, k=8), pl.LinearFamily(), outputs=["wear"])
    assert str(report[0]).startswith("wear = ")
    assert "2 speed - 1 load" in str(report[0]) or "2 speed - load" in str(report[0])


def test_one_neighborhood_counted_often_calibrates_nothing():
    x = torch.arange(40.0)[:, None]
    report = pl.audit(x**2, x, pl.nearest(x, k=40), pl.LinearFamily())
    assert np.isnan(report.bound()).all()
    assert "every neighborhood holds all points, so that there is one witness" in report.why_not()
    assert np.isfinite(pl.audit(x**2, x, pl.nearest(x, k=8), pl.LinearFamily()).bound()).all()


def test_shares_far_below_zero_say_no_more_than_that():
    x = torch.tensor([[0.0], [1e-9], [2e-9], [1.0]], dtype=torch.float64).repeat(5, 1)
    f = torch.randn(20, 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    report = pl.audit(f, x, pl.from_lists([range(i, i + 3) for i in range(17)], n_points=20), pl.LinearFamily())
    assert "held-out variance explained        below -9999 %" in str(report)


@pytest.mark.slow
def test_auto_takes_the_family_that_holds_best_and_judges_it_by_the_others(tmp_path):
    x = torch.rand(150, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    f = torch.sin(4 * x[:, 0]) + x[:, 1]
    hoods = pl.nearest(x, k=15)
    report = pl.audit(f, x, hoods, "auto")
    comparison = compare_families(f, x, hoods)
    assert report.comparison.scores == comparison.scores
    assert comparison.best.name == "sparse linear"  # the third column says nothing
    assert report.family is comparison.family
    assert torch.equal(report.judges, comparison.others)
    assert report.to_dict()["families"] == [score.to_dict() for score in comparison.scores]
    assert "linear (chosen)" in report.text()
    assert comparison.text() in report.text()
    report.to_html(tmp_path / "audit.html")
    page = (tmp_path / "audit.html").read_text()
    assert "Which family holds best" in page
    assert f"{100 * comparison.best.held_out:.1f}" in page
    assert "families" not in pl.audit(f, x, hoods, pl.LinearFamily()).text()
    with pytest.raises(pl.InputError, match="such as LinearFamily\\(\\), or \"auto\". Got 'best'"):
        pl.audit(f, x, hoods, "best")


def test_judges_that_are_set_have_no_part_in_the_choice_of_a_family():
    x = torch.rand(60, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    hoods = pl.nearest(x, k=10)
    report = pl.audit(x[:, 0] ** 2, x, hoods, "auto", judges=range(40))
    assert report.judges.tolist() == list(range(40))
    assert report.comparison.used.tolist() == list(range(40, 60))
