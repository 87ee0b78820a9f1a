import csv
import inspect
import json

import pytest

from pellucid.explanations import Explanation
from pellucid.molecules import MoleculeExplanation
from pellucid.series import ForecastExplanation


class Toy(Explanation):
    """The least that an explanation must say for itself."""

    def __init__(self, values):
        self.values = values

    def text(self, target=None):
        return f"{target}: {self.values}"

    def to_dict(self):
        return {"values": self.values}

    @classmethod
    def from_dict(cls, content):
        return cls(content["values"])

    def rows(self):
        yield ["place", "value"]
        yield from ([i, value] for i, value in enumerate(self.values))

    def to_html(self, path, *, title=None):
        raise NotImplementedError

    def plot(self, target=None):
        from matplotlib.figure import Figure

        return Figure(figsize=(1, 1))


def test_words_files_and_pictures_follow_from_what_an_explanation_says(tmp_path):
    toy = Toy([1.5, 2.0])
    assert str(toy) == repr(toy) == "None: [1.5, 2.0]"
    toy.to_json(tmp_path / "x.json")
    assert Toy.from_dict(json.loads((tmp_path / "x.json").read_text())).values == toy.values
    toy.to_csv(tmp_path / "x.csv")
    with (tmp_path / "x.csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == [["place", "value"], ["0", "1.5"], ["1", "2.0"]]
    assert "<svg" in toy._repr_svg_()


@pytest.mark.parametrize("kind", [MoleculeExplanation, ForecastExplanation])
def test_every_explanation_can_be_called_in_the_same_way(kind):
    for name in sorted(Explanation.__abstractmethods__):
        common = inspect.signature(getattr(Explanation, name)).parameters
        own = inspect.signature(getattr(kind, name)).parameters
        assert list(own)[: len(common)] == list(common), name
        assert all(own[p].default is not inspect.Parameter.empty for p in list(own)[len(common) :]), name
        for parameter in common.values():
            assert (own[parameter.name].kind, own[parameter.name].default) == (parameter.kind, parameter.default)


def test_what_says_too_little_is_no_explanation():
    with pytest.raises(TypeError, match="abstract"):
        type("Silent", (Explanation,), {"to_dict": lambda self: {}})()
