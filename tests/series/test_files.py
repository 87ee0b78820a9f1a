from decimal import Decimal

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from pellucid import InputError
from pellucid.series import load_bearing, read, recordings
from pellucid.series._arrow import floats

VALUES = np.array([[1.5, -2.0], [3.25, 4.0], [0.125, 1e-3]])


def write(path, text):
    path.write_text(text)
    return path


@pytest.mark.parametrize("sign", [",", ";", "\t", "  "])
@pytest.mark.parametrize("head", [True, False])
def test_text_with_any_separator_with_and_without_names(tmp_path, sign, head):
    rows = [["left", "right"]] if head else []
    text = "\n".join(sign.join(map(str, row)) for row in [*rows, *VALUES.tolist()])
    result = read(write(tmp_path / "a.txt", text + "\n\n"))
    assert result.channels == (("left", "right") if head else ("channel 1", "channel 2"))
    np.testing.assert_array_equal(result.values[0], VALUES)
    assert result.sources == ("a.txt",)


def test_one_column_quotes_marks_and_other_line_ends(tmp_path):
    np.testing.assert_array_equal(read(write(tmp_path / "one.csv", "1\n2\n3\n")).values[0], [[1], [2], [3]])
    path = tmp_path / "windows.csv"
    path.write_bytes(b'\xef\xbb\xbf"a, b",c\r\n1,2\r\n3,4\r\n')
    assert read(path).channels == ("a, b", "c")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("bearing 1\n1\n2\n", ["bearing 1"]),
        ('"left wheel" "right wheel"\n1 2\n3 4\n', ["left wheel", "right wheel"]),
        ("x, y\n1, 2\n3, 4\n", ["x", "y"]),
        ("# left,right\n1,2\n3,4\n", ["left", "right"]),
        ("# left right\n1 2\n3 4\n", ["left", "right"]),
        ('"a; b",c\n1,2\n3,4\n', ["a; b", "c"]),
        ("x,y\r1,2\r3,4\r", ["x", "y"]),
        ("\n\nx,y\n1,2\n3,4", ["x", "y"]),
        ("  1  2\n  3  4\n", ["channel 1", "channel 2"]),
    ],
)
def test_names_as_people_and_programs_write_them(tmp_path, text, names):
    result = read(write(tmp_path / "a.txt", text))
    assert list(result.channels) == names
    assert len(result.values[0]) == 2


def test_other_encodings(tmp_path):
    (tmp_path / "a.csv").write_bytes("\u00b0C,x\n1,2\n3,4\n".encode("latin-1"))
    assert read(tmp_path / "a.csv").channels == ("\u00b0C", "x")


def test_a_line_of_names_may_be_declared(tmp_path):
    path = write(tmp_path / "a.csv", "0,1\n5,6\n7,8\n")
    assert read(path, header=True).channels == ("0", "1")
    np.testing.assert_array_equal(read(path, header=False).values[0], [[0, 1], [5, 6], [7, 8]])
    with pytest.raises(InputError, match='`decimal` must be "." or ",". Got \',,\''):
        read(path, decimal=",,")


def test_decimal_commas(tmp_path):
    path = write(tmp_path / "a.csv", "x;y\n1,5;2\n2,5;3\n")
    np.testing.assert_array_equal(read(path, decimal=",").values[0], [[1.5, 2], [2.5, 3]])


def test_parquet(tmp_path):
    parquet.write_table(pyarrow.table({"left": VALUES[:, 0], "count": [1, 2, 4]}), tmp_path / "a.parquet")
    result = read(tmp_path / "a.parquet")
    assert result.channels == ("left", "count")
    np.testing.assert_array_equal(result.values[0], np.stack([VALUES[:, 0], [1, 2, 4]], 1))


def test_numpy_files(tmp_path):
    np.save(tmp_path / "a.npy", VALUES)
    np.testing.assert_array_equal(read(tmp_path / "a.npy").values[0], VALUES)
    both = np.stack([VALUES, VALUES + 1])
    np.savez(tmp_path / "b.npz", x=both, names=["monday", "tuesday"], channels=["left", "right"])
    result = read(tmp_path / "b.npz", channels=["right"])
    assert result.sources == ("b.npz: monday", "b.npz: tuesday")
    assert result.channels == ("right",)
    np.testing.assert_array_equal(result.values[1], VALUES[:, 1:] + 1)


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name in ("b", "a"):
        write(tmp_path / name, f"{ord(name)}\t1\n2\t3\n")
    write(tmp_path / ".hidden", "no table")
    write(tmp_path / "notes.md", "no table either, it says")
    result = read(tmp_path, pattern="?")
    assert result.sources == ("a", "b")
    assert [table[0, 0] for table in result.values] == [97, 98]
    assert recordings(str(tmp_path / "a")).sources == ("a",)


def test_columns_are_chosen_in_any_order_and_times_are_none_of_them(tmp_path):
    path = write(tmp_path / "a.csv", "time,x,y\n9:00,1,2\n9:01,3,4\n")
    result = read(path, channels=["y", "x"])
    np.testing.assert_array_equal(result.values[0], [[2, 1], [4, 3]])
    assert read(path).channels == ("x", "y")
    assert read(path).ignored == (("time", "holds dates or times"),)
    with pytest.raises(InputError, match="Got '9:00' in a.csv, column 'time', row 2; correct it, or leave that column"):
        read(path, channels=["time", "x"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.csv must be a table of numbers. Got an empty file"),
        ("\0\1\2", "Got binary data"),
        ("x,y\n1,2\n3,\n", "missing values. Got an empty cell in a.csv, column 'y', row 3"),
        ("x,y\n1,2\n3,nan\n", "Got an empty cell in a.csv, column 'y', row 3"),
        ("1,2\n3,NA\n5,6\n", "Got an empty cell in a.csv, column 'channel 2', row 2"),
        ("x,y\n1,2\n3,oops\n", "must be a number. Got 'oops' in a.csv, column 'y', row 3"),
        ("x,y\n1,2\n3\n", "same number of cells in every row. Got 1 instead of 2 in row 3; fix that row."),
        ("x,y\n1,2\n\n3,4\n", "Got an empty cell in a.csv, column 'x', row 3"),
        ("x,y\n1,2\n3,inf\n", "Got inf in a.csv, column 'y', row 3"),
        ("\n\nx,y\n1,2\n3,oops\n", "Got 'oops' in a.csv, column 'y', row 5"),
        ("1,\n2,3\n4,5\n", "Got an empty cell in a.csv, column 'channel 2', row 1"),
        ("1,NA\n2,3\n4,5\n", "Got an empty cell in a.csv, column 'channel 2', row 1"),
        ("\t2\n2\t3\n", "Got an empty cell in a.csv, column 'channel 1', row 1"),
        ("1\t2\n3\t\n", "Got an empty cell in a.csv, column 'channel 2', row 2"),
        (",x,y\n0,1,2\n1,3,4\n", "must have a name. Got none for column 1; name it, or leave it out.*`index=False`"),
        ("0,1\n5,6\n7,8\n", "either names or numbers. Got 0, 1, which may be both.*`header=True`"),
        ("left,1\nright,2\n", "either names or numbers. Got both, left, 1.*`header=True` or `header=False`"),
        ("x,x\n1,2\n3,4\n", "different names. Got 'x' twice"),
        ("x;y\n1,5;2\n2,5;3\n", "Got '1,5' in a.csv, column 'x', row 2.*with `decimal=','`"),
        ("x,y\n", "a.csv must have rows of numbers. Got a line of names only"),
    ],
)
def test_bad_text_is_refused_with_file_column_and_row(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read(write(tmp_path / "a.csv", text))


def test_bad_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="which does not exist"):
        read(tmp_path / "nowhere")
    with pytest.raises(InputError, match="must hold files that match '\\*.csv'"):
        read(tmp_path, pattern="*.csv")
    write(tmp_path / "a.csv", "x,y\n1,2\n3,4\n")
    write(tmp_path / "b.csv", "x,z\n1,2\n3,4\n")
    with pytest.raises(InputError, match="the same columns. Got x, z in b.csv after x, y in a.csv"):
        read(tmp_path)
    with pytest.raises(InputError, match="If b.csv is no recording, leave it out with `pattern=`"):
        read(tmp_path, channels=["y"])
    write(tmp_path / "a.parquet", "no")
    with pytest.raises(InputError, match="a.parquet must be a Parquet file"):
        read(tmp_path / "a.parquet")
    np.savez(tmp_path / "c.npz", a=np.zeros((3, 2)), b=np.zeros((3, 2)))
    with pytest.raises(InputError, match="c.npz must hold an array `x`.*Got a float64 \\(3, 2\\), b"):
        read(tmp_path / "c.npz")
    np.save(tmp_path / "e.npy", np.zeros(3))
    with pytest.raises(InputError, match="Got x float64 \\(3,\\); save one as `x`, a single channel as \\(time, 1\\)"):
        read(tmp_path / "e.npy")
    (tmp_path / "f.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(InputError, match="f.npz must be a file of plain NumPy arrays"):
        read(tmp_path / "f.npz")
    np.savez(tmp_path / "d.npz", x=np.zeros((3, 2)), channels=["one"])
    with pytest.raises(InputError, match="must name the 2 channels of `x`. Got 1"):
        read(tmp_path / "d.npz")


def test_pickled_arrays_are_not_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([{"code": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="a.npy must be a file of plain NumPy arrays"):
        read(tmp_path / "a.npy")


@pytest.mark.slow
def test_files_as_published_agree_with_the_packed_data(real_data):
    sample = read(real_data / "bearing" / "2nd_test_sample")
    everything = load_bearing()
    assert len(everything) == 984
    assert len(sample) == 4
    for table, source in zip(sample.values, sample.sources, strict=True):
        packed = everything.values[everything.sources.index(source)]
        np.testing.assert_allclose(table, packed, atol=1e-7)


@pytest.mark.slow
def test_the_bearing_data_are_the_papers(real_data):
    # 984 files of 20,480 rows hold 204 disjoint sequences of 100 each.
    assert load_bearing().sequences(100).shape == (200_736, 100, 4)


def test_without_the_bearing_data_one_is_told_where_to_get_them(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_DATA", str(tmp_path))
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path / "cache")
    with pytest.raises(InputError, match="Got neither; download https.*unpack it.*`simulate_rig` needs no download"):
        load_bearing()


def test_other_bearing_data_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_DATA", str(tmp_path))
    (tmp_path / "bearing").mkdir()
    np.savez(tmp_path / "bearing" / "ims_set2_milli_i16.npz", x=np.zeros((1, 2, 4), np.int16), names=["a"])
    with pytest.raises(InputError, match="must be those published.*Got \\(1, 2, 4\\)"):
        load_bearing()


def test_a_damaged_folder_is_told_too(tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_DATA", str(tmp_path))
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path / "cache")
    (tmp_path / "bearing" / "2nd_test").mkdir(parents=True)
    write(tmp_path / "bearing" / "2nd_test" / "a", "0.1\t0.2\t0.3\t0.4\n" * 3)
    write(tmp_path / "bearing" / "2nd_test" / "b", "0.1\t0.2\t0.3\t0.4\n" * 2)
    with pytest.raises(InputError, match="must be those published.*Got \\(5, 4\\)"):
        load_bearing()


@pytest.mark.parametrize("cell", ["0x10", "5_6", "\uff11\uff12", "0X1f", "-0x10"])
def test_what_other_programs_would_read_as_a_number_is_none(tmp_path, cell):
    path = write(tmp_path / "a.csv", f"a,b\n{cell},1\n17,2\n")
    with pytest.raises(InputError, match=f"must be a number. Got '{cell}' in a.csv, column 'a', row 2; correct it"):
        read(path)
    np.testing.assert_array_equal(read(path, channels=["b"]).values[0], [[1], [2]])
    with pytest.raises(InputError, match=f"either names or numbers. Got both, {cell}, 2"):
        read(write(tmp_path / "b.csv", f"{cell},2\n3,4\n"))


def test_values_that_would_overflow_are_refused(tmp_path):
    with pytest.raises(
        InputError, match=r"no values beyond 1e\+30. Got -1e\+308 in a.csv, column 'b', row 2 .*another unit"
    ):
        read(write(tmp_path / "a.csv", "a,b\n1,2\n3,-1e308\n"))


@pytest.mark.parametrize(
    ("chunks", "kind"),
    [
        ([[1, 2**53 + 1], [], [-3]], pyarrow.int64()),
        ([[1, 2**64 - 1]], pyarrow.uint64()),
        ([[1, -128], [127]], pyarrow.int8()),
        ([[1.5, 0.1], [2.25]], pyarrow.float32()),
        ([[1.5, 0.1, -0.0], [1e300]], pyarrow.float64()),
        ([np.array([1.5, 0.1], dtype=np.float16)], pyarrow.float16()),
        ([[Decimal("1.25"), Decimal("-3.5")]], pyarrow.decimal128(20, 2)),
        ([], pyarrow.int64()),
    ],
    ids=lambda value: str(value) if isinstance(value, pyarrow.DataType) else "",
)
def test_columns_of_arrow_tables_are_numpys(chunks, kind):
    column = pyarrow.chunked_array([pyarrow.array(part, kind) for part in chunks], kind)
    np.testing.assert_array_equal(floats(column), np.asarray(column.to_numpy(), dtype=np.float64))
    assert floats(column[1:]).tolist() == floats(column)[1:].tolist()


def test_a_clock_of_any_language_is_one_recording(tmp_path):
    seconds = 40_000 + 0.25 * np.arange(3000)
    full = np.floor(seconds)
    clock = [full // 3600, full // 60 % 60, full % 60, (seconds - full) * 1000]
    signal = np.random.default_rng(0).normal(size=3000)
    head = "Stunde,Minute,Sekunde,ms,x"
    np.savetxt(tmp_path / "a.csv", np.c_[*clock, signal], fmt="%.6g", delimiter=",", header=head, comments="")
    source = read(tmp_path / "a.csv")
    assert (source.channels, len(source), source.notes) == (("x",), 1, ())


def test_gaps_are_seen_in_an_uneven_time_without_a_name(tmp_path):
    generator = np.random.default_rng(0)
    steps = generator.uniform(0.9, 1.1, 2000)
    steps[1200] = 50
    np.savetxt(tmp_path / "a.txt", np.c_[np.cumsum(steps), generator.normal(size=2000)], fmt="%.6g")
    source = read(tmp_path / "a.txt")
    assert source.channels == ("channel 2",)
    assert [len(part) for part in source.values] == [1200, 800]
    assert "rises with every row, like a time; keep with `channels=['channel 1', 'channel 2']`" in source.decisions()[0]
    assert len(read(tmp_path / "a.txt", channels=["channel 1", "channel 2"])) == 1
