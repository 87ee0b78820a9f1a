"""What all models share, shown on one of a few lines."""

import json
from dataclasses import FrozenInstanceError, dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch

import pellucid as pl
from pellucid import InputError
from pellucid.models import Fitted, FittedAttribute, Model, NotFittedError
from pellucid.storage import TEXTS, TextFile, optional, stored
from pellucid.training import Batches, Fit

X = torch.rand(60, 2, generator=torch.Generator().manual_seed(0))
Y = X @ torch.tensor([[1.0], [-2.0]])


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FittedTable(Fitted):
    columns: tuple[str, ...] = stored(TEXTS)
    remark: str = stored(TextFile("remark.txt", str.upper, str.lower))
    calibration: pl.Calibration | None = stored(optional(pl.Calibration))

    @classmethod
    def upgraded(cls, content):
        return {"calibration": None, **content}


class TableFit(Fit):
    def __init__(self, model, x, y, columns):
        self.x, self.y, self.columns = x, y, columns
        self.network = model.new_network(columns=columns)
        self.batches = Batches(lambda rows, _: rows, len(x), size=model.batch_size, seed=model.seed)

    def loss(self, rows):
        return {"loss": torch.nn.functional.mse_loss(self.network(self.x[rows]), self.y[rows])}

    def identity(self):
        return {"data": float(self.x.sum())}

    def result(self, history):
        return FittedTable(
            network=self.network, history=history, columns=self.columns, remark="plain", calibration=None
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class TableModel(Model[FittedTable]):
    k: int = 12
    epochs: int = 3
    batch_size: int = 10

    file: ClassVar[str] = "table_model"
    record_type = FittedTable

    columns_ = FittedAttribute[tuple[str, ...]]()
    calibration_ = FittedAttribute[pl.Calibration | None]()
    weight_ = FittedAttribute[torch.Tensor]("network.weight")

    def __post_init__(self):
        super().__post_init__()
        self._require_whole(3, "k")

    def fit(self, x, y, *, columns=("a", "b"), held_out=None, folder=None, resume=False):
        fit = TableFit(self, x, y, columns)
        return self._train(fit, held_out, folder=folder, resume=resume, progress=False, device="cpu")

    def new_network(self, *, columns, **_):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return torch.nn.Linear(len(columns), 1)

    def calibrated(self, data, *, progress=False):
        with torch.no_grad():
            f = self.fitted_.network(data)
        hoods = pl.nearest(data, k=self.k)
        return replace(self.fitted_, calibration=pl.calibrate(f, data, hoods, pl.ConstantFamily()))


def test_what_a_fit_gave_is_one_record_that_attributes_read():
    model = TableModel().fit(X, Y)
    assert model.columns_ == model.fitted_.columns == ("a", "b")
    assert model.history_ is model.fitted_.history
    assert torch.equal(model.weight_, model.fitted_.network.weight)
    assert len(model.history_) == 3
    assert model.calibration_ is None
    assert repr(model.fitted_) == "FittedTable(epochs=3)"


def test_an_untrained_model_has_no_such_attributes(tmp_path):
    model = TableModel()
    assert not hasattr(model, "columns_")
    for use in (
        lambda: model.columns_,
        lambda: model.fitted_,
        lambda: model.save(tmp_path),
        lambda: model.calibrate(X),
    ):
        with pytest.raises(
            NotFittedError, match="The TableModel must be trained first. Got an untrained one; call `fi"
        ):
            use()
    assert not list(tmp_path.iterdir())


def test_settings_never_change_and_a_copy_with_others_is_untrained():
    model = TableModel(k=np.int64(5), epochs=1).fit(X, Y)
    assert type(model.k) is int
    with pytest.raises(FrozenInstanceError):
        model.k = 7
    with pytest.raises(FrozenInstanceError):
        model.columns_ = ("c",)
    other = replace(model, k=7)
    assert (other.k, other.epochs) == (7, 1)
    assert not hasattr(other, "columns_")
    with pytest.raises(InputError, match="`k` must be a whole number >= 3. Got 2"):
        replace(model, k=2)


def test_models_are_equal_only_to_themselves():
    # They inherit the fields of their settings, and none of two with the same epochs is the other.
    assert TableModel() != TableModel(k=20)
    assert TableModel().settings() == {
        "epochs": 3, "batch_size": 10, "learning_rate": 1e-3, "patience": 10, "seed": 0, "k": 12,
    }  # fmt: skip


@pytest.mark.slow
def test_a_second_fit_forgets_the_first():
    model = TableModel().fit(X, Y, held_out=X)
    first = model.fitted_
    assert len(model.calibration_) > 0
    assert model.fit(X, -Y, columns=("c", "d")) is model
    assert model.columns_ == ("c", "d")
    assert model.calibration_ is None
    assert first.columns == ("a", "b")
    assert first.network is not model.fitted_.network


@pytest.mark.slow
@pytest.mark.parametrize("stage", [(TableFit, "loss"), (TableModel, "calibrated"), (TableFit, "result")])
def test_a_fit_that_does_not_come_to_its_end_leaves_the_one_before(stage, monkeypatch):
    model = TableModel().fit(X, Y, held_out=X)
    before, prediction = model.fitted_, model.fitted_.network(X)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(*stage, stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -Y, held_out=X)
    assert model.fitted_ is before
    assert torch.equal(model.fitted_.network(X), prediction)


def test_calibration_replaces_the_record_and_nothing_else():
    model = TableModel().fit(X, Y)
    before = model.fitted_
    assert model.calibrate(X) is model
    assert before.calibration is None
    assert model.calibration_ is not None
    assert model.fitted_.network is before.network


def test_a_model_with_another_record_leaves_the_first_alone():
    model = TableModel().fit(X, Y)
    other = model.with_fitted(replace(model.fitted_, columns=("u", "v")))
    assert (model.columns_, other.columns_) == (("a", "b"), ("u", "v"))
    assert other.settings() == model.settings()


def test_a_model_comes_back_from_disk(tmp_path):
    model = TableModel(k=9, seed=4).fit(X, Y, held_out=X)
    model.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"table_model.json", "network.safetensors", "remark.txt"}
    assert (tmp_path / "remark.txt").read_text() == "PLAIN"
    again = TableModel.load(tmp_path)
    assert again.settings() == model.settings()
    assert torch.equal(again.fitted_.network(X), model.fitted_.network(X))
    assert not again.fitted_.network.training
    assert (again.columns_, again.fitted_.remark, again.history_) == (("a", "b"), "plain", model.history_)
    np.testing.assert_array_equal(again.calibration_.bound([0.1]), model.calibration_.bound([0.1]))
    assert TableModel.from_settings(model.settings()).settings() == model.settings()


def test_what_an_earlier_version_wrote_is_upgraded(tmp_path):
    TableModel().fit(X, Y).save(tmp_path)
    content = json.loads((tmp_path / "table_model.json").read_text())
    del content["calibration"]
    (tmp_path / "table_model.json").write_text(json.dumps(content))
    assert TableModel.load(tmp_path).calibration_ is None


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("remark.txt", "A saved table_model is a folder with .* and remark.txt. Got .* without remark.txt"),
        ("network.safetensors", "without network.safetensors"),
        ("table_model.json", "without table_model.json"),
    ],
)
def test_an_incomplete_folder_is_refused(tmp_path, file, message):
    TableModel().fit(X, Y).save(tmp_path)
    (tmp_path / file).unlink()
    with pytest.raises(InputError, match=message):
        TableModel.load(tmp_path)


def test_an_interrupted_fit_goes_on_to_the_same_model(tmp_path, monkeypatch):
    whole = TableModel().fit(X, Y)
    calls, loss = [], TableFit.loss

    def interrupted(fit, rows):
        calls.append(1)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return loss(fit, rows)

    monkeypatch.setattr(TableFit, "loss", interrupted)
    model = TableModel()
    with pytest.raises(KeyboardInterrupt, match="Resume with"):
        model.fit(X, Y, folder=tmp_path)
    with pytest.raises(InputError, match="another `k`: 5 for 12"):
        TableModel(k=5).fit(X, Y, folder=tmp_path, resume=True)
    with pytest.raises(InputError, match="Got other data"):
        model.fit(2 * X, Y, folder=tmp_path, resume=True)
    model.fit(X, Y, folder=tmp_path, resume=True)
    assert len(calls) < 9 + 18  # not from the beginning
    assert torch.equal(model.weight_, whole.weight_)
    assert model.history_ == whole.history_
