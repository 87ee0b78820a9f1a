"""Laws at steps whose values they have not seen, by their definition."""

import numpy as np
import pytest
import torch
from series.small_forecasters import RIG

import pellucid as pl
from pellucid.series.held_out_laws import HeldOutLaws, least_others


def laws_of(order, radius, lengths, *, channels=2, ridge=0.01, f=None):
    generator = torch.Generator().manual_seed(1)
    series = [torch.randn(n + order - 1, channels, generator=generator, dtype=torch.float64).cumsum(0) for n in lengths]
    x = torch.cat([pl.lagged(part, order=order) for part in series])
    f = torch.cos(x[:, :channels]) if f is None else f
    family = pl.LinearFamily(
        ridge=ridge, buffer=order, least_others=least_others(order, radius, max(lengths), channels)
    )
    return family.best_response(x, f, pl.windows(lengths, radius=radius))


@pytest.mark.parametrize(("order", "channels", "radius"), [(1, 1, 3), (2, 2, 7), (1, 3, 5)])
def test_deviation_and_share_are_those_of_fits_without_what_shares_a_value(order, channels, radius):
    witnesses = laws_of(order, radius, [16, 12], channels=channels)
    x, f = witnesses.x.numpy(), witnesses.f.numpy()
    missed, total, gaps = np.zeros(channels), np.zeros(channels), np.full((28, channels), np.nan)
    for begin, end in ((0, 16), (16, 28)):
        for center in range(begin, end):
            window = range(max(begin, center - radius), min(end, center + radius + 1))
            for t in window:
                # Row s holds the values s - order + 1 .. s + 1.
                values = set(range(t - order + 1, t + 2))
                rest = [s for s in window if not values & set(range(s - order + 1, s + 2))]
                if len(rest) < 1 + order * channels:
                    continue
                mean, level = x[rest].mean(0), f[rest].mean(0)
                gram = (x[rest] - mean).T @ (x[rest] - mean) + 0.01 * np.eye(x.shape[1])
                law = np.linalg.solve(gram, (x[rest] - mean).T @ (f[rest] - level))
                gap = f[t] - level - (x[t] - mean) @ law
                missed += gap**2
                total += (f[t] - level) ** 2
                if t == center:
                    gaps[t] = gap
    laws = HeldOutLaws.of(witnesses)
    np.testing.assert_allclose(laws.at_centers().numpy(), gaps, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(laws.explained(), 1 - missed / total, rtol=1e-6)
    assert np.isfinite(gaps).any()


def test_what_is_said_of_a_step_does_not_depend_on_predictions_that_share_a_value():
    witnesses = laws_of(2, 8, [17])
    entries = (witnesses.hoods.rows == 8).nonzero().flatten()  # the window of all steps
    entry = entries[8]
    before = witnesses.held_out_values()[entry]
    for step, same in ((5, False), (6, True), (7, True), (8, True), (9, True), (10, True), (11, False)):
        f = witnesses.f.clone()
        f[step] += 1
        again = laws_of(2, 8, [17], f=f).held_out_values()[entry]
        assert torch.allclose(again, before) == same


def test_laws_that_too_few_steps_determine_are_not_asked():
    """There are five coefficients, and a block has up to five steps."""
    laws = HeldOutLaws.of(laws_of(2, 5, [11]))
    known = [laws.known[laws.hoods.rows == i].tolist() for i in range(11)]
    assert all(known[5])
    assert not any(known[0])  # 6 steps, of which at least 3 share a value
    assert known[2] == [True, *[False] * 6, True]  # 8 steps: 5 are left at the ends
    assert laws.at_centers()[0].isnan().all()
    assert laws.at_centers()[5].isfinite().all()
    # Where no window leaves as many, laws stand on their ridge.
    few = HeldOutLaws.of(laws_of(2, 2, [6], ridge=1.0))
    assert few.known.any()
    assert few.known.tolist() == [
        int(((few.hoods.members_of(i) - t).abs() > 2).sum()) > 0
        for i, t in zip(few.hoods.rows.tolist(), few.hoods.members.tolist(), strict=True)
    ]
    assert np.isfinite(few.explained()).all()
    # And where there is no step left at all, nothing is known, without a warning.
    none = HeldOutLaws.of(laws_of(2, 1, [6]))
    assert not none.known.any()
    assert np.isnan(none.explained()).all()


def test_explanations_and_scores_have_held_out_numbers(trusted):
    values = RIG.values[0]
    explanation = trusted.explain(values[:12], values[12:18])
    fitter = trusted.witness_fitter
    batch = fitter.witness(trusted.network_, trusted.scaling_.standardize(values[None, :18]), forced=True)
    laws = fitter.held_out_laws(batch.witnesses)
    gaps = laws.at_centers().numpy() * trusted.scaling_.scale
    np.testing.assert_allclose(explanation.mean - explanation.held_out, gaps, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(explanation.held_out_deviation, np.sqrt(np.square(gaps).mean(1)), rtol=1e-5)
    np.testing.assert_allclose(explanation.explained, laws.explained())
    scores = trusted.evaluate([values[:18]], forced=True)
    assert scores.held_out_deviation == pytest.approx(np.sqrt(np.nanmean(np.square(gaps))), rel=1e-5)
    assert scores.held_out_variance_explained == pytest.approx(laws.explained().mean())
    relative = np.square(gaps / trusted.scaling_.scale)
    moves = (explanation.mean / trusted.scaling_.scale).var(axis=0).mean()
    assert scores.relative_held_out_deviation == pytest.approx(np.sqrt(np.nanmean(relative) / moves), rel=1e-5)
    assert scores.law_change == pytest.approx(explanation.steadiness.change, rel=1e-5)


def test_deviations_of_sequences_are_held_out_or_where_fitted(trusted):
    values = RIG.values[0][:36]
    for held_out in (True, False):
        expected = []
        for row in (0, 18):
            explanation = trusted.explain(values[row : row + 12])
            law = explanation.held_out if held_out else explanation.witnessed
            expected.append(np.sqrt(np.nanmean(np.square((explanation.mean - law) / trusted.scaling_.scale))))
        np.testing.assert_allclose(trusted.deviations([values], held_out=held_out), expected, rtol=1e-4)
