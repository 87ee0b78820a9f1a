"""The law of a recording as a whole."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from pellucid.series import Forecaster, ForecastExplanation, recordings, simulate_rig
from pellucid.series.network import Gaussian

THETA = np.array([[0.3, -0.1], [0.8, 0.1], [-0.2, 0.5], [-0.3, 0.0], [0.1, -0.2]])  # offset, lags 1, lags 2
CONTEXT, HORIZON = 8, 12


class Linear(torch.nn.Module):
    """A network that follows one law, in standardized values, plus `bend` times a square."""

    def __init__(self, bend=0.0):
        super().__init__()
        self.bend = bend

    def forward(self, x, last=None, **_):
        mean = x.new_tensor(THETA[0]) + torch.cat([x[:, 1:], x[:, :-1]], dim=-1) @ x.new_tensor(THETA[1:])
        mean = torch.cat([x[:, :1], mean], dim=1)[:, x.shape[1] - last :]
        mean = mean + self.bend * mean.square()
        return Gaussian(mean, torch.eye(2).expand(*mean.shape[:2], 2, 2)), None


@pytest.fixture(scope="module")
def model():
    rig = simulate_rig(rows=1200, bearings=2, seed=0)
    settings = {"context": CONTEXT, "horizon": HORIZON, "radius": 6, "order": 2, "width": 4, "epochs": 1, "ridge": 1e-6}
    return Forecaster(**settings).fit(rig, progress=False), rig


def following(model, bend=0.0):
    """The same forecaster with a network that follows a law."""
    return model.with_fitted(replace(model.fitted_, network=Linear(bend), calibrations={}))


def test_the_law_that_a_network_follows_is_recovered(model):
    fitted, rig = model
    law = following(fitted).law_of(rig)
    z = (rig.values[0] - fitted.scaling_.shift) / fitted.scaling_.scale
    truth = fitted.scaling_.shift + fitted.scaling_.scale * (THETA[0] + np.c_[z[1:-1], z[:-2]] @ THETA[1:])
    raw = np.c_[np.ones(len(z) - 2), rig.values[0][1:-1], rig.values[0][:-2]]
    np.testing.assert_allclose(raw @ law.parameters, truth, rtol=1e-3, atol=1e-4 * fitted.scaling_.scale.max())
    np.testing.assert_allclose(law.explained, 1, atol=1e-4)
    np.testing.assert_allclose(law.local, 1, atol=1e-3)
    assert law.positions % HORIZON == 0


def test_the_share_held_out_is_that_of_least_squares_on_other_parts(model):
    fitted, rig = model
    bent = following(fitted, bend=0.5)
    few = recordings(rig.values[0][: CONTEXT + 40 * HORIZON], rig.channels)
    law = bent.law_of(few)
    z = ((few.values[0] - fitted.scaling_.shift) / fitted.scaling_.scale).astype(np.float32)
    times = np.arange(CONTEXT - 1, CONTEXT - 1 + 40 * HORIZON)
    x = np.c_[np.ones(len(times)), z[times], z[times - 1]]
    f = x[:, 1:] @ THETA[1:] + THETA[0]
    f = f + 0.5 * f**2
    fold = np.repeat(np.arange(40) * 5 // 40, HORIZON)
    missed = total = 0.0
    for k in range(5):
        theta = np.linalg.lstsq(x[fold != k], f[fold != k], rcond=None)[0]
        missed += np.square(f - x @ theta)[fold == k].sum(0)
        total += np.square(f - f[fold != k].mean(0))[fold == k].sum(0)
    np.testing.assert_allclose(law.explained, 1 - missed / total, atol=1e-3)
    overall = np.linalg.lstsq(x, f, rcond=None)[0]
    assert law.shares()[0] < 0.999
    scale = fitted.scaling_.scale
    np.testing.assert_allclose(law.parameters[1:3] / scale * scale[:, None], overall[1:3], atol=1e-3)


def test_of_one_sequence_nothing_is_held_out(model):
    fitted, rig = model
    law = fitted.law_of(recordings(rig.values[0][: CONTEXT + HORIZON], rig.channels))
    assert law.shares() == (None, None)
    assert law.sentence().endswith("of the whole recording: not known by this law, not known by local laws")


@pytest.mark.parametrize(("overall", "local", "enough"), [(0.9, 0.7, True), (0.7, 0.7, True), (0.7, 0.9, False)])
def test_where_local_laws_explain_no_more_one_is_enough(model, tmp_path, overall, local, enough):
    fitted, rig = model
    law = replace(fitted.law_of(rig), explained=np.full(2, overall), local=np.full(2, local))
    shares = f"whole recording: {100 * overall:.0f} % by this law, {100 * local:.0f} % by local laws"
    words = "one law for the whole recording is enough: a forecast has too few steps to determine local coefficients"
    assert shares in law.sentence()
    assert (f"; {words}; change of the law along the recording " in law.sentence()) == enough
    explanation = replace(fitted.explain(rig.values[0][:CONTEXT]), overall=law)
    explanation.to_html(tmp_path / "x.html")
    for text in (str(explanation), (tmp_path / "x.html").read_text()):
        assert (words[1:] in text) == enough


def test_it_stands_beside_the_local_laws(model, tmp_path):
    fitted, rig = model
    explanation = replace(fitted.explain(rig.values[0][:CONTEXT]), overall=fitted.law_of(rig))
    table = explanation.table("bearing 2").splitlines()
    (line,) = [line for line in table if line.split()[0] == "all"]
    assert line.split()[1:] == [f"{value:.3g}" for value in explanation.overall.parameters[:, 1]]
    assert table[-1] == f"all: {explanation.overall.sentence()}"
    again = ForecastExplanation.from_dict(explanation.to_dict())
    np.testing.assert_array_equal(again.overall.parameters, explanation.overall.parameters)
    assert again.overall.sentence() == explanation.overall.sentence()
    explanation.to_html(tmp_path / "x.html")
    page = (tmp_path / "x.html").read_text()
    assert page.count("Law of the recording as a whole") == 2
    assert "held-out variance explained over one-step predictions of the whole recording: by this law" in page
    fitted.explain(rig.values[0][:CONTEXT]).to_html(tmp_path / "y.html")
    assert "Law of the recording as a whole" not in (tmp_path / "y.html").read_text()
