import numpy as np
import pandas as pd
import pytest
from houses import SMALL, houses

from pellucid.tabular import LawMap, TransparentRegressor
from pellucid.tabular.deciding import decide
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.frames import frame_of
from pellucid.tabular.law_map import mean_where_known

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def explanations():
    x, price = houses(500, seed=3)
    return TransparentRegressor(witness="linear", **SMALL).fit(x, price).explain(x)


def test_regions_are_the_rows_with_their_planted_law(explanations):
    law_map = LawMap.of(explanations)
    # Rooms are worth twice as much in the city: the first thing that tells laws apart.
    assert len(law_map.regions) >= 2
    assert all("city" in region.rule for region in law_map.regions)
    assert sum(region.count for region in law_map.regions) == 500
    worth: dict[bool, list[float]] = {True: [], False: []}
    for region in law_map.regions:
        (slope,) = (term.split()[0] for term in region.law.split(", ") if term.endswith(" per rooms"))
        worth["city is not yes" in region.rule].append(float(slope))
    assert min(worth[False]) > max(worth[True]) + 8
    # At least as much of the differences as the split by city alone.
    vectors = explanations.coefficients[:, :, 0]
    names = [column.name for column in explanations.model.encoding_.used]
    groups = [vectors[explanations.codes[:, names.index("city")] == code] for code in (0, 1)]
    within = sum(np.square(group - group.mean(0)).sum() for group in groups)
    assert law_map.shared >= 1 - within / np.square(vectors - vectors.mean(0)).sum() - 1e-9


def test_swarms_show_the_contributions(explanations):
    law_map = LawMap.of(explanations)
    (swarm,) = (swarm for swarm in law_map.swarms if swarm.column == "rooms")
    assert len(law_map.labels) == 400
    places = [int(label.split()[1]) - 1 for label in law_map.labels]
    column = [c.name for c in explanations.model.encoding_.used].index("rooms")
    np.testing.assert_allclose(swarm.contributions, explanations.contributions[places, column, 0])
    values = np.array(swarm.values, dtype=float)
    assert np.corrcoef(np.argsort(np.argsort(values)), swarm.positions)[0, 1] > 0.99


def test_a_map_survives_json(explanations):
    law_map = LawMap.of(explanations)
    again = LawMap.from_dict(law_map.to_dict())
    assert again.to_dict() == law_map.to_dict()
    assert str(again) == str(law_map)


def test_the_law_of_a_region_counts_levels_where_they_occur():
    frame = frame_of(
        pd.DataFrame({"area": np.sin(np.arange(30)), "colour": list("rgbrrg") * 5, "city": [True, False] * 15})
    )
    encoding = Encoding.of(decide(frame), frame)
    assert list(encoding.feature_names) == ["area", "(colour = r)", "(colour = g)", "(colour = b)", "(city = yes)"]
    laws = np.array(
        [
            [1.0, -2.0, 3.0, 0.0, 0.0],  # no b nearby, and one kind of place
            [3.0, -4.0, 0.0, 6.0, 5.0],
            [2.0, 0.0, 7.0, 8.0, 0.0],  # nothing to compare with
        ]
    )
    scale = encoding.scale
    means = mean_where_known(laws * scale, encoding) / scale
    np.testing.assert_allclose(means, [2.0, 0.0, 5.0, 10.0, 5.0])


def test_what_hardly_any_law_knows_is_no_term_of_a_region():
    x, price = houses(200)
    x.loc[7, "rooms"] = np.nan
    x.loc[:60, "age"] = np.nan
    model = TransparentRegressor(witness="linear", epochs=3, width=8, ensemble=2, random_state=0).fit(x, price)
    explanations = model.explain(x)
    law = ", ".join(region.law for region in LawMap.of(explanations).regions)
    blank = explanations.model.encoding_.feature_names.index("(rooms is blank)")
    assert 0 < np.count_nonzero(explanations.coefficients[:, blank, 0]) < 10
    assert "(rooms is blank)" not in law
    assert "per rooms" in law
