import csv
import inspect
import json

import pytest

from pellucid.explanations import Explanation
from pellucid.molecules import ContributionExplanation, TreeExplanation
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


@pytest.mark.parametrize("kind", [TreeExplanation, ContributionExplanation, ForecastExplanation])
def test_every_explanation_can_be_called_in_the_same_way(kind):
    methods = [name for name in vars(Explanation) if not name.startswith("_")]
    assert {"text", "to_dict", "rows", "to_html", "plot", "to_json", "to_csv"} <= set(methods)
    for name in methods:
        common = inspect.signature(getattr(Explanation, name)).parameters
        actual = inspect.signature(getattr(kind, name)).parameters
        assert list(actual)[: len(common)] == list(common), name
        assert all(actual[p].default is not inspect.Parameter.empty for p in list(actual)[len(common) :]), name
        for parameter in common.values():
            assert (actual[parameter.name].kind, actual[parameter.name].default) == (parameter.kind, parameter.default)


def test_an_explanation_without_a_text_is_refused():
    with pytest.raises(TypeError, match="abstract method '?text"):
        type("Silent", (Explanation,), {})()
