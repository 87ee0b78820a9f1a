"""Time stamps against the standard library's dates."""

from datetime import date, datetime, time, timedelta, timezone

import numpy as np
import pyarrow
import pytest

from pellucid.series.stamps import stamps_of, times_of
from pellucid.tables import is_date

MOMENTS = [datetime(2024, 2, 28, 22, 15) + timedelta(minutes=37 * i) for i in range(200)]
SECONDS = np.array([(moment - MOMENTS[0]).total_seconds() for moment in MOMENTS])


def seconds(cells):
    return times_of([stamps_of(pyarrow.array(cells))])


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y/%m/%d %H:%M:%S.%f", "%d.%m.%Y %H:%M",
        "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%y %I:%M %p", "%d-%b-%Y %H:%M:%S", "%d %B %Y %H:%M",
        "%Y.%m.%d.%H.%M.%S", "%Y%m%dT%H%M%S", "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S+02:00",
    ],
)  # fmt: skip
def test_text_in_the_usual_forms(form):
    cells = [moment.strftime(form) for moment in MOMENTS]
    assert is_date(cells[0])
    np.testing.assert_allclose(seconds(cells), SECONDS, atol=1e-6)


def test_clocks_alone_go_on_after_midnight():
    np.testing.assert_array_equal(seconds([moment.strftime("%H:%M") for moment in MOMENTS]), SECONDS)
    np.testing.assert_array_equal(seconds([moment.strftime("%H.%M.%S") for moment in MOMENTS]), SECONDS)
    np.testing.assert_array_equal(seconds(["23:59:59.5", "00:00:00.25"]), [0, 0.75])


def test_a_date_and_a_clock_are_one_time():
    # A day and a half is missing: the clock alone would not tell.
    some = [moment for moment in MOMENTS if not 60 < (moment - MOMENTS[0]).total_seconds() / 600 < 270]
    dates, clocks = ([moment.strftime(form) for moment in some] for form in ("%d/%m/%Y", "%H:%M:%S"))
    both = times_of([stamps_of(pyarrow.array(column)) for column in (dates, clocks)])
    np.testing.assert_array_equal(both, [(moment - some[0]).total_seconds() for moment in some])


def test_offsets_from_greenwich_count():
    zones = [timezone(timedelta(hours=h)) for h in (1, 2, -5)]
    cells = [datetime(2024, 3, 31, 12, tzinfo=zone) for zone in zones]
    expected = [(cell - cells[0]).total_seconds() for cell in cells]
    np.testing.assert_array_equal(seconds([cell.isoformat() for cell in cells]), expected)


def test_values_of_arrow_and_blanks():
    np.testing.assert_array_equal(seconds(MOMENTS), SECONDS)
    np.testing.assert_array_equal(seconds([date(2024, 2, 28), date(2024, 3, 1)]), [0, 2 * 86_400])
    np.testing.assert_array_equal(seconds([time(23), time(0, 30)]), [0, 5400])
    np.testing.assert_array_equal(seconds([timedelta(seconds=5), None, timedelta(seconds=7)]), [0, np.nan, 2])
    np.testing.assert_array_equal(seconds([None, "2024-05-01 10:00", "", None, "2024-05-01 10:01"][:2]), [np.nan, 0])
    # Nanoseconds are not lost beside the years since 1970.
    fine = pyarrow.array(np.array([0, 50, 125], dtype="M8[ns]") + np.datetime64("2024-05-01", "ns").astype("m8[ns]"))
    np.testing.assert_allclose(stamps_of(fine).seconds, [0, 50e-9, 125e-9], rtol=1e-12)


@pytest.mark.parametrize("cells", [["left", "right"], ["1.5", "2.5"], ["32/13/2024"], ["25:99"], ["1 2 3"], [None]])
def test_other_text_is_no_time(cells):
    assert stamps_of(pyarrow.array(cells, type=pyarrow.string())) is None
