"""How steady laws are: planted ones that stay as they are, and one that changes."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid.series import Forecaster, recordings
from pellucid.series.network import Gaussian
from pellucid.series.steadiness import Steadiness, forecast_steadiness, law_changes
from pellucid.series.steadiness_words import steadiness_word

CONTEXT, HORIZON, ROWS, SWITCH = 10, 10, 410, 210


class TwoLaws(torch.nn.Module):
    """Follows one law where the last channel is low, and another where it is high, of which it always says 0."""

    def __init__(self, low, high):
        super().__init__()
        self.laws = (low, high)

    def forward(self, x, last=None, **_):
        before = torch.cat([x[:, :1], x[:, :-1]], dim=1)[..., 0]
        low, high = (a * x[..., 0] + b * before for a, b in self.laws)
        mean = torch.stack([torch.where(x[..., 1] > 0, high, low), torch.zeros_like(low)], dim=-1)[
            :, x.shape[1] - last :
        ]
        return Gaussian(mean, torch.eye(2).expand(*mean.shape[:2], 2, 2)), None


@pytest.fixture(scope="module")
def recording():
    """An autoregressive process of order 2, with another law from row SWITCH on, and a channel that tells."""
    rng = np.random.default_rng(0)
    x = np.zeros(ROWS)
    for t in range(2, ROWS):
        a, b = (1.2, -0.5) if t < SWITCH else (-0.4, 0.3)
        x[t] = a * x[t - 1] + b * x[t - 2] + rng.normal()
    return recordings(np.c_[x, np.arange(ROWS) >= SWITCH].astype(float), ["value", "regime"])


@pytest.fixture(scope="module")
def trained(recording):
    settings = {"context": CONTEXT, "horizon": HORIZON, "order": 2, "radius": 4, "ridge": 1e-3, "width": 4, "epochs": 1}
    return Forecaster(**settings).fit(recording, progress=False)


def following(trained, low, high):
    return trained.with_fitted(replace(trained.fitted_, network=TwoLaws(low, high), calibrations={}))


def test_a_law_that_stays_as_it_is_is_steady(trained, recording):
    steadiness = following(trained, (1.2, -0.5), (1.2, -0.5)).steadiness(recording)
    assert len(steadiness.changes) == (ROWS - CONTEXT) // HORIZON - 1
    assert np.nanmax(steadiness.changes) < 0.02
    assert steadiness.word == "steady"


def test_where_the_law_switches_its_change_is_largest(trained, recording):
    model = following(trained, (1.2, -0.5), (-0.4, 0.3))
    steadiness = model.steadiness(recording)
    switch = (SWITCH - CONTEXT) // HORIZON - 1
    assert int(np.nanargmax(steadiness.changes)) == switch
    assert steadiness.changes[switch] > 0.8
    assert np.nanmax(np.delete(steadiness.changes, switch)) < 0.02
    assert steadiness.places[switch] == f"after row {SWITCH}"
    assert steadiness.word == "steady"  # but for the one place
    text = steadiness.text("the recording")
    assert str(steadiness) == repr(steadiness) == text.replace(" along the recording", "")
    assert text.startswith(
        f"change of the law along the recording {steadiness.change:.2g} (steady), median of 39 pairs"
    )
    assert text.endswith(f"; largest {steadiness.changes[switch]:.2g} after row {SWITCH}")
    law = model.law_of(recording)
    assert law.sentence().endswith(text)
    np.testing.assert_array_equal(law.steadiness.changes, steadiness.changes)


def test_along_a_forecast_that_meets_the_switch_the_law_changes(trained, recording):
    values = recording.values[0]
    model = following(trained, (1.2, -0.5), (-0.4, 0.3))
    apart = model.explain(values[SWITCH - 15 : SWITCH - 5], values[SWITCH - 5 : SWITCH + 5])
    together = model.explain(values[SWITCH - 35 : SWITCH - 25], values[SWITCH - 25 : SWITCH - 15])
    assert apart.steadiness.change > 0.5
    assert apart.steadiness.word == "changing"
    assert apart.steadiness.places == ("between steps 1 and 10",)
    assert together.steadiness.change < 0.05
    line = f"change of the law along the forecast {apart.steadiness.change:.2g} (changing), between steps 1 and 10"
    assert line in apart.summary().splitlines()
    assert line[1:] in apart._repr_html_()
    content = json.loads(json.dumps(apart.to_dict()))
    assert content["steadiness"]["word"] == "changing"
    again = type(apart).from_dict(content)
    assert again.summary() == apart.summary()


def test_changes_are_their_definition():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(20, 3, generator=generator, dtype=torch.float64)
    f = torch.stack([x[:, 0] ** 2, x[:, 1] * x[:, 2]], dim=1)
    units = torch.tensor([0.5, 2.0], dtype=torch.float64)
    witnesses = pl.LinearFamily(ridge=0.1).best_response(x, f, pl.windows([20], radius=4))
    changes = forecast_steadiness(witnesses, 4, units).changes
    expected = []
    for i, k in [(i, i + 9) for i in range(11)]:
        change = moves = 0.0
        for own in (i, k):
            window = slice(max(0, own - 4), own + 5)
            says = [witnesses.theta[law, 0] + x[window] @ witnesses.theta[law, 1:] for law in (i, k)]
            change += ((says[0] - says[1]) / units).square().sum()
            moves += ((f[window] - f[window].mean(0)) / units).square().sum()
        expected.append(float((change / moves).sqrt()))
    np.testing.assert_allclose(changes, expected)


def test_where_nothing_moves_no_change_is_known():
    x = torch.arange(8.0, dtype=torch.float64)[:, None]
    witnesses = pl.LinearFamily(ridge=0.1).best_response(x, torch.ones(8, 1).double(), pl.windows([8], radius=1))
    changes = law_changes(witnesses, torch.tensor([0]), torch.tensor([4]), torch.ones(1))
    assert np.isnan(changes).all()
    steadiness = Steadiness(changes=changes, places=("here",))
    assert steadiness.change is steadiness.word is None
    assert steadiness.text("it") == ""
    assert str(steadiness) == "change of the law not known"
    again = Steadiness.from_dict(json.loads(json.dumps(steadiness.to_dict())))
    assert np.isnan(again.changes).all()


def test_a_recording_of_one_stretch_has_no_neighbors(trained, recording):
    short = recordings(recording.values[0][: CONTEXT + HORIZON], recording.channels)
    assert trained.steadiness(short).change is None
    assert "change of the law" not in trained.law_of(short).sentence()


def test_laws_of_different_recordings_are_no_neighbors(trained, recording):
    values = recording.values[0]
    parts = recordings([values[:60], values[60:120]], recording.channels)
    steadiness = trained.steadiness(parts)
    rows = (20, 30, 40, 50)
    assert steadiness.places == tuple(f"after row {row} of {label}" for label in parts.labels() for row in rows)


@pytest.mark.parametrize(
    ("change", "word"), [(0, "steady"), (0.0999, "steady"), (0.1, "drifting"), (0.4999, "drifting"), (0.5, "changing")]
)
def test_words(change, word):
    assert steadiness_word(change) == word
