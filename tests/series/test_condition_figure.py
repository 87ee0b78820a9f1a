"""The picture of a condition."""

import numpy as np
import pytest
from series.followed import rougher

from pellucid.errors import InputError

pytestmark = pytest.mark.slow


def test_the_picture_marks_the_first_alarm(follow, tmp_path):
    condition = follow(rougher)
    figure = condition.plot(["bearing 2"], ["rms", "law"])
    top, bottom = figure.axes
    texts = [text.get_text().strip() for text in bottom.texts]
    first = next(a.first for a in condition.alarms if (a.channel, a.indicator) == ("bearing 2", "law"))
    assert texts == [str(first + 1)]
    assert not list(top.texts)
    (line,) = (line for line in bottom.lines if len(line.get_xdata()) == 65)
    np.testing.assert_allclose(line.get_ydata(), condition.distances[:, -1, 1])
    figure.savefig(tmp_path / "a.png")
    figure.savefig(tmp_path / "a.svg")
    for axis in condition.plot().axes:
        low, high = axis.get_ylim()
        ticks = [tick for tick in axis.get_yticks() if low <= tick <= high]
        assert len(ticks) > 1
        texts = [axis.yaxis.get_major_formatter()(tick, 0) for tick in ticks]
        assert [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts] == ticks
        assert not any("-" in text for text in texts)
    assert len(condition.plot().axes) == 7 * 3
    with pytest.raises(InputError, match="Every channel must be one of bearing 1, bearing 2, .* Got nothing."):
        condition.plot(["nothing"])
    with pytest.raises(InputError, match="Every indicator must be one of rms, sd, .* Got peak"):
        condition.plot(indicators=["peak"])
