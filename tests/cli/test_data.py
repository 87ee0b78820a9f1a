import gzip
import hashlib
import threading
import zipfile
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from cli.runner import exit_code
from typer.testing import CliRunner

from pellucid import InputError
from pellucid.cli import command_line
from pellucid.molecules import datasets, moses, tox21
from pellucid.series import bearing, load_bearing

LABELS = ",".join(datasets.TOX21_TARGETS)
# As published: labels first, a name, SMILES last, and line ends of Windows.
TOX21 = f"{LABELS},mol_id,smiles\r\n0,,1{',0' * 9},TOX1,CCO\r\n1{',' * 11},TOX2,c1ccccc1\r\n"
# As others pass it on.
REORDERED = f"smiles,{LABELS}\nCCO,0.0,,1.0{',0.0' * 9}\nc1ccccc1,1.0{',' * 11}\n"


def packed(text):
    """The same bytes in every process: without the time, which would make names of tests differ."""
    return gzip.compress(text.encode(), mtime=0)


@pytest.fixture
def server():
    """Serves `server.files` by path; `server.cut` promises more than it sends."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = self.server.files.get(self.path)
            self.server.asked.append(self.path)
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Length", str(len(body or b"") + self.server.cut))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.cut, server.asked = {}, 0, []
        server.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("PELLUCID_DATA", raising=False)
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture
def small_tox21(server, cache, monkeypatch):
    store = partial(datasets.unpack_tox21, checksum=datasets.tox21_checksum(REORDERED))
    small = replace(datasets.TOX21, address=f"{server.address}/tox21.csv.gz", store=store)
    monkeypatch.setattr(datasets, "TOX21", small)
    server.files["/tox21.csv.gz"] = packed(TOX21)
    return small


def run(*arguments):
    return CliRunner().invoke(command_line(), ["data", *arguments])


def left_in(cache):
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_tox21_is_downloaded_once_and_read(small_tox21, server, cache):
    first, second = run("get", "tox21"), run("get", "tox21")
    assert first.stdout == f"Downloaded: {cache / 'molecules/tox21.csv'}\n"
    assert first.stderr == f"Downloading {server.address}/tox21.csv.gz\n"
    assert second.stdout == f"Already here: {cache / 'molecules/tox21.csv'}\n"
    assert server.asked == ["/tox21.csv.gz"]
    table = tox21()
    assert table.smiles == ("CCO", "c1ccccc1")
    assert table.targets == datasets.TOX21_TARGETS
    assert table.y[0, [0, 2]].tolist() == [0, 1]
    assert np.isnan(table.y).sum() == 1 + 11
    assert left_in(cache) == ["molecules/tox21.csv"]


def test_the_function_downloads_by_itself(small_tox21, cache):
    assert len(tox21()) == 2
    assert left_in(cache) == ["molecules/tox21.csv"]


def test_servers_that_unpack_are_understood(small_tox21, server):
    server.files["/tox21.csv.gz"] = TOX21.encode()
    assert len(tox21()) == 2


@pytest.mark.parametrize(
    ("body", "cut", "message"),
    [
        (None, 0, "the server answered 404 Client Error: Not Found. Try again"),
        (packed(TOX21.replace("CCO", "CCN")), 0, "another checksum than the published one"),
        (packed(TOX21)[:-20], 0, "what came cannot be read"),
        (b"<html>Please log in</html>", 0, "what came cannot be read .it has no column smiles"),
        (packed(TOX21)[:40], 100, "the connection broke off"),
    ],
)
def test_downloads_that_fail_leave_nothing_and_are_explained(small_tox21, server, cache, body, cut, message):
    server.files["/tox21.csv.gz"], server.cut = body, cut
    with pytest.raises(InputError, match=message) as caught:
        tox21()
    assert f"download it by hand and unpack it as {cache / 'molecules/tox21.csv'}" in str(caught.value)
    assert left_in(cache) == []
    # The next try succeeds.
    server.files["/tox21.csv.gz"], server.cut = packed(TOX21), 0
    assert len(tox21()) == 2


def test_without_a_network_one_is_told_what_to_do(small_tox21, cache, monkeypatch):
    monkeypatch.setattr(datasets, "TOX21", replace(small_tox21, address="http://127.0.0.1:9/tox21.csv.gz"))
    with pytest.raises(InputError, match="http://127.0.0.1:9/tox21.csv.gz could not be downloaded: there is no conn"):
        tox21()


def test_a_stop_in_the_middle_leaves_nothing(small_tox21, cache, monkeypatch):
    def stop(download, draft):
        draft.write_text("half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(datasets, "TOX21", replace(small_tox21, store=stop))
    with pytest.raises(KeyboardInterrupt):
        tox21()
    assert left_in(cache) == []


def test_the_checksum_of_tox21_is_that_of_our_copy(real_data, tmp_path):
    datasets.TOX21.store(real_data / "molecules" / "tox21.csv", tmp_path / "copy")
    assert (tmp_path / "copy").read_text() == (real_data / "molecules" / "tox21.csv").read_text()


def test_the_checksum_of_moses_is_that_of_the_same_molecules(real_data):
    # The published file names the part in a second column.
    lines = gzip.decompress((real_data / "molecules" / "moses_test.csv.gz").read_bytes()).decode().splitlines()
    text = "SMILES,SPLIT\n" + "".join(f"{line},test\n" for line in lines[1:])
    assert hashlib.sha256(text.encode()).hexdigest() == datasets.MOSES["test"].sha256


def test_both_files_of_moses_are_downloaded_and_packed(server, cache, monkeypatch):
    bodies = {part: f"SMILES,SPLIT\n{text},{part}\n".encode() for part, text in {"train": "CCO", "test": "CCN"}.items()}
    server.files = {f"/{part}.csv": body for part, body in bodies.items()}
    small = {
        part: replace(
            datasets.MOSES[part], address=f"{server.address}/{part}.csv", sha256=hashlib.sha256(body).hexdigest()
        )
        for part, body in bodies.items()
    }
    monkeypatch.setattr(datasets, "MOSES", small)
    result = run("get", "moses")
    assert result.exit_code == 0
    assert left_in(cache) == ["molecules/moses_test.csv.gz", "molecules/moses_train.csv.gz"]
    assert gzip.decompress(moses("test").read_bytes()) == bodies["test"]
    moses("test").unlink()
    server.files["/test.csv"] = bodies["test"].replace(b"CCN", b"CCC")
    with pytest.raises(InputError, match="another checksum than the published one. Try again, or download it by hand"):
        moses("test")
    assert left_in(cache) == ["molecules/moses_train.csv.gz"]
    with pytest.raises(InputError, match='must be "train" or "test". Got \'all\''):
        moses("all")


def test_the_bearing_archive_is_downloaded_and_the_rest_explained(server, cache, monkeypatch, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("IMS.7z", "packed")
    server.files["/a.zip"] = (tmp_path / "a.zip").read_bytes()
    monkeypatch.setattr(bearing, "BEARING", replace(bearing.BEARING, address=f"{server.address}/a.zip"))
    first, second = run("get", "bearing"), run("get", "bearing")
    assert left_in(cache) == ["bearing/4.Bearings.zip"]
    assert "run: pellucid data get bearing --from 2nd_test" in first.stdout
    assert first.stdout.replace("Downloaded", "Already here") == second.stdout
    (cache / "bearing/4.Bearings.zip").unlink()
    server.files["/a.zip"] = b"something else"
    assert "it is no .zip archive" in run("get", "bearing").stderr


@pytest.mark.parametrize("given", ["2nd_test", "."])
def test_an_unpacked_folder_is_compared_and_packed(cache, monkeypatch, tmp_path, given):
    samples = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    monkeypatch.setattr(bearing, "SHAPE", (2, 3, 4))
    monkeypatch.setattr(bearing, "SHA256", hashlib.sha256(samples.data).hexdigest())
    (tmp_path / "2nd_test").mkdir()
    for name, table in zip("ab", samples / 1000, strict=True):
        np.savetxt(tmp_path / "2nd_test" / name, table, fmt="%.3f", delimiter="\t")
    result = run("get", "bearing", "--from", str(tmp_path / given))
    assert result.stdout == f"Packed: {cache / bearing.BEARING_PACKED}\n"
    np.testing.assert_allclose(np.stack(load_bearing().values), samples / 1000, atol=1e-7)
    assert run("get", "bearing").stdout == f"Already here: {cache / bearing.BEARING_PACKED}\n"
    (tmp_path / "2nd_test" / "b").write_text("1\t2\t3\t4\n" * 3)
    again = run("get", "bearing", "--from", str(tmp_path / given))
    assert again.exit_code == 1
    assert "must be those published" in again.stderr


def test_the_list_says_where_everything_is(cache, tmp_path, monkeypatch):
    monkeypatch.setenv("PELLUCID_DATA", str(tmp_path / "own [bold]data"))
    (tmp_path / "own [bold]data" / "molecules").mkdir(parents=True)
    (tmp_path / "own [bold]data" / "molecules" / "tox21.csv").touch()
    lines = run("list").stdout.splitlines()
    entries = {first.split()[0]: second.strip() for first, second in zip(lines[::2], lines[1::2], strict=True)}
    assert list(entries) == ["nav17", "tox21", "moses", "eeg", "bearing"]
    assert entries["tox21"] == str(tmp_path / "own [bold]data" / "molecules" / "tox21.csv")
    assert entries["moses"] == "not here; pellucid data get moses"
    assert len(np.fromfile(entries["eeg"])) == 4 * 800


@pytest.mark.usefixtures("cache")
def test_exit_codes(tmp_path, monkeypatch, capsys):
    def code(*words):
        return exit_code(monkeypatch, "data", "get", *words)

    assert code("bearing", "--from", tmp_path / "nowhere") == 1
    printed = capsys.readouterr().err
    assert "must be a folder. Got" in printed
    assert "Traceback" not in printed
    assert code("tox22") == 2
    assert "Invalid value for NAME: must be tox21, moses or bearing. Got 'tox22'." in capsys.readouterr().err
    assert code("moses", "--from", tmp_path) == 2
    assert "is not for moses" in capsys.readouterr().err
