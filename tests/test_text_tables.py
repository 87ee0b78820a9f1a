"""Tables for terminals."""

from pellucid.text_tables import aligned


def test_the_first_column_is_to_the_left_and_others_to_the_right():
    assert aligned(["model", "error", "x"], [["GAME", "0.5", "-1"], ["DEEP and wide", "12.25", "3"]]).splitlines() == [
        "model          error   x",
        "------------------------",
        "GAME             0.5  -1",
        "DEEP and wide  12.25   3",
    ]


def test_a_table_may_have_no_rows_or_one_column():
    assert aligned(["a", "bc"], []) == "a  bc\n-----"
    assert aligned(["a"], [["bcd"]]) == "a  \n---\nbcd"
