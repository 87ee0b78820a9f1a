import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import torch
from houses import houses
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pellucid import InputError, PellucidWarning
from pellucid.tabular import TransparentClassifier, TransparentRegressor
from pellucid.tabular.fitting import LabeledRows, TableFit
from pellucid.tabular.frames import frame_of
from pellucid.tabular.model import TableModel

FAST = {"epochs": 3, "width": 8, "ensemble": 2, "witness": "linear", "random_state": 0}


@pytest.mark.slow
def test_the_table_is_learned(regressor, classifier, table):
    x, price = table
    assert regressor.score(x, price) > 0.95
    kind = np.where(price > 140, "dear", np.where(price > 70, "fair", "cheap"))
    assert classifier.score(x, kind) > 0.85
    assert classifier.classes_.tolist() == ["cheap", "dear", "fair"]
    assert np.allclose(classifier.predict_proba(x).sum(1), 1)
    assert np.allclose(classifier.predict_calibrated(x).sum(1), 1)


@pytest.mark.slow
def test_clones_and_pickles_predict_alike(regressor, table):
    x, price = table
    again = pickle.loads(pickle.dumps(regressor))  # noqa: S301 - its own pickle
    np.testing.assert_array_equal(again.predict(x), regressor.predict(x))
    small = TransparentRegressor(**FAST)
    first = small.fit(x, price).predict(x)
    np.testing.assert_array_equal(clone(small).fit(x, price).predict(x), first)


@pytest.mark.slow
def test_saved_and_loaded_it_predicts_and_explains_alike(classifier, table, tmp_path):
    x = table[0][:5]
    classifier.save(tmp_path / "model")
    assert not any(path.suffix in (".pkl", ".pt") for path in (tmp_path / "model").iterdir())
    loaded = TransparentClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(x), classifier.predict_proba(x))
    assert str(loaded.explain(x)[0]) == str(classifier.explain(x)[0])
    assert loaded.get_params()["epochs"] == classifier.epochs
    with pytest.raises(InputError, match="A TransparentRegressor must be of a regression. Got a classification"):
        TransparentRegressor.load(tmp_path / "model")


@pytest.mark.slow
def test_a_network_of_ones_own_is_trained_saved_and_loaded(table, tmp_path):
    x, price = table

    def line(inputs, outputs):
        return torch.nn.Linear(inputs, outputs)

    model = TransparentRegressor(network=line, **FAST).fit(x, price)
    assert isinstance(model.model_.network_, torch.nn.Linear)
    model.save(tmp_path / "own")
    with pytest.raises(InputError, match="a network of your own, which is code and was not saved"):
        TransparentRegressor.load(tmp_path / "own")
    again = TransparentRegressor.load(tmp_path / "own", network=line)
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    with pytest.raises(InputError, match=r"`network` must make a module from \(rows, 7\) to \(rows, 1\). Got \(2, 3\)"):
        TransparentRegressor(network=lambda inputs, _: torch.nn.Linear(inputs, 3), **FAST).fit(x, price)


@pytest.mark.slow
def test_pandas_polars_and_arrays_give_the_same_model(table):
    pl = pytest.importorskip("polars")
    x, price = table
    x = x[["rooms", "age"]]
    first = TransparentRegressor(**FAST).fit(x, price).predict(x)
    same = pl.DataFrame({name: x[name].to_list() for name in x.columns})
    np.testing.assert_array_equal(TransparentRegressor(**FAST).fit(same, price.to_list()).predict(same), first)
    np.testing.assert_array_equal(TransparentRegressor(**FAST).fit(x.to_numpy(), price).predict(x.to_numpy()), first)


@pytest.mark.slow
def test_it_works_in_pipelines_searches_and_cross_validation(table):
    x, price = table[0][:80], table[1][:80]
    model = TransparentRegressor(**{**FAST, "epochs": 1})
    pipeline = make_pipeline(FunctionTransformer(), model).fit(x, price)
    assert pipeline.predict(x).shape == (80,)
    assert cross_val_score(model, x, price, cv=2).shape == (2,)
    search = GridSearchCV(model, {"weight": [0.0, 1.0]}, cv=2).fit(x, price)
    assert search.best_params_["weight"] in (0.0, 1.0)


@pytest.mark.slow
def test_weights_move_the_fit(table):
    x, price = table
    twice = pd.concat([x, x]), np.concatenate([price, price + 500])
    weight = np.repeat([1.0, 0.0], len(x))
    model = TransparentRegressor(**{**FAST, "epochs": 20}).fit(*twice, sample_weight=weight, validation=(x, price))
    assert abs(model.predict(x).mean() - price.mean()) < 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TransparentRegressor, TransparentClassifier])
def test_rows_of_weight_0_are_not_there(table, kind):
    x, price = table
    y = price if kind is TransparentRegressor else np.where(price > np.median(price), "dear", "cheap")
    other = price[::-1] - 500 if kind is TransparentRegressor else np.repeat("free", len(y))
    twice = pd.concat([x, x]), np.concatenate([other, y])
    weighted = kind(**{**FAST, "epochs": 3}).fit(*twice, sample_weight=np.repeat([0.0, 2.0], len(x)))
    alone = kind(**{**FAST, "epochs": 3}).fit(x, y)
    np.testing.assert_array_equal(weighted.predict(x), alone.predict(x))
    ours, theirs = (model.explain(x[:3]) for model in (weighted, alone))
    np.testing.assert_array_equal(ours.law, theirs.law)
    np.testing.assert_array_equal(ours.intervals, theirs.intervals)


@pytest.mark.slow
def test_the_rows_to_stop_by_have_weights_as_well(table):
    x, price = table
    learned, held_out = (LabeledRows(frame_of(x), price, weights) for weights in (None, np.linspace(0.1, 1.9, len(x))))
    fit = TableFit(TableModel(epochs=1), learned, held_out, target="price")
    fit.network.eval()
    with torch.no_grad():
        loss = float(fit.loss(next(iter(fit.validation))[0])["loss"])
        errors = (fit.network(fit.held_out_x)[..., 0] - fit.held_out_y[:, None]).square().mean(1).numpy()
    assert loss == pytest.approx(np.average(errors, weights=held_out.weights), rel=1e-5)


@pytest.mark.slow
def test_unseen_levels_blanks_and_bad_tables(regressor, table):
    x = table[0][:4].copy()
    x["colour"] = ["turquoise", None, "red", "blue"]
    x.loc[x.index[1], "rooms"] = np.nan
    predictions = regressor.predict(x)
    assert np.isfinite(predictions).all()
    red, blue, green = (regressor.predict(x[:1].assign(colour=level))[0] for level in ("red", "blue", "green"))
    assert min(red, blue, green) < predictions[0] < max(red, blue, green)
    with pytest.raises(ValueError, match="feature names"):
        regressor.predict(x.rename(columns={"rooms": "room"}))


@pytest.mark.slow
def test_intervals_hold_the_measured_values(regressor):
    x, price = houses(400, seed=5)
    low, high = regressor.predict_interval(x, level=0.8).T
    share = ((low <= price) & (price <= high)).mean()
    assert 0.65 < share <= 1.0


def test_verbose_fits_print_what_was_decided(table, capsys):
    x, price = table
    model = TransparentRegressor(**{**FAST, "epochs": 1}, verbose=True).fit(x, price)
    printed = capsys.readouterr().out
    assert "number: identifier, left out; it numbers the rows" in printed
    assert [column.name for column in model.columns_] == list(x.columns)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"game": "chess"}, '`game` of TableModel must be "symmetric", "asymmetric", "uniform" or None'),
        ({"witness": "cubic"}, '`witness` of TableModel must be "linear", "sparse", "tree" or "auto"'),
        ({"sampler": "nowhere"}, '`sampler` of TableModel must be "mixed", "between" or "around"'),
        ({"validation": 1.5}, r"`validation` must be a share in \[0, 1\)"),
        ({"play": "banked", "game": "asymmetric"}, "Only the symmetric game can be played with a bank"),
    ],
)
def test_bad_settings_are_refused(setting, message, table):
    with pytest.raises(InputError, match=message):
        TransparentRegressor(**{**FAST, **setting}).fit(*table)


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting", [{"play": "banked"}, {"game": "asymmetric"}, {"game": "uniform"}, {"witness": "tree"}, {"embedding": 4}]
)
def test_other_ways_to_play_give_models(setting, table):
    x, price = table
    model = TransparentRegressor(**{**FAST, **setting}).fit(x, price)
    assert np.isfinite(model.predict(x)).all()
    assert all(np.isfinite(epoch["penalty"]) for epoch in model.history_)


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on_as_if_it_was_not(table, tmp_path, monkeypatch):
    from pellucid.tabular.fitting import TableFit

    x, price = table
    whole = TransparentRegressor(**FAST).fit(x, price)
    loss, calls = TableFit.loss, []

    def interrupted(self, batch):
        calls.append(1)
        if len(calls) == 14:
            raise KeyboardInterrupt
        return loss(self, batch)

    monkeypatch.setattr(TableFit, "loss", interrupted)
    with pytest.raises(KeyboardInterrupt):
        TransparentRegressor(**FAST).fit(x, price, folder=tmp_path / "run")
    resumed = TransparentRegressor(**FAST).fit(x, price, folder=tmp_path / "run", resume=True)
    np.testing.assert_array_equal(resumed.predict(x), whole.predict(x))


@pytest.mark.slow
def test_the_game_makes_laws_hold_better():
    rng = np.random.default_rng(0)
    x = pd.DataFrame({"a": rng.uniform(-1, 1, 300), "b": rng.uniform(-1, 1, 300)})
    y = np.sin(8 * x.a) + 0.3 * rng.normal(size=300)
    shared = {**FAST, "epochs": 60, "learning_rate": 0.02, "width": 32, "dropout": 0.0, "weight_decay": 0.0}
    deep, game = (TransparentRegressor(**shared, game=g, weight=100.0).fit(x, y) for g in (None, "symmetric"))
    new = pd.DataFrame({"a": rng.uniform(-1, 1, 100), "b": rng.uniform(-1, 1, 100)})
    deviations = [model.explain(new).held_out_deviation.mean() for model in (deep, game)]
    assert deviations[1] < 0.6 * deviations[0]


def test_a_column_that_gives_the_answer_away_is_warned_of_before_training():
    x = pd.DataFrame({"age": np.arange(60.0) % 7, "copy": 3.0 * np.arange(60)})
    with pytest.warns(PellucidWarning, match="The column 'copy' gives the answer away: leave it out, unless"):
        TransparentRegressor(**FAST | {"epochs": 1}).fit(x, np.arange(60.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error", PellucidWarning)
        TransparentRegressor(**FAST | {"epochs": 1}).fit(x[["age"]], np.arange(60.0))
