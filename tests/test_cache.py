"""The cache on disk: what is kept is whole, found again, and never in the way."""

import numpy as np
import pytest

from pellucid import cache


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("pellucid.cache.cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_keys_depend_on_settings_and_content_and_on_nothing_else():
    assert cache.key_of({"a": 1, "b": 2}) == cache.key_of({"b": 2, "a": 1})
    assert cache.key_of("a", [b"bc", b"d"]) == cache.key_of("a", [b"b", b"cd"])
    keys = [cache.key_of({"a": 1}), cache.key_of({"a": 2}), cache.key_of("a"), cache.key_of("a", [b"b"])]
    assert len(set(keys)) == 4
    assert all(len(key) == 32 for key in keys)


def test_arrays_are_made_once(folder):
    made = []

    def make():
        made.append(1)
        return {"x": np.arange(3)}

    for settings in ({"seed": 0}, {"seed": 0}, {"seed": 1}):
        assert cache.cached_arrays("default", "kind/name", settings, make)["x"].tolist() == [0, 1, 2]
    assert len(made) == 2
    assert len([path for path in (folder / "kind").iterdir() if path.name.startswith("name-")]) == 2
    cache.cached_arrays("none", "kind/name", {"seed": 0}, make)
    assert len(made) == 3


def test_what_is_damaged_is_discarded_and_made_anew(folder):
    for content in (b"broken", b"", b"PK\x03\x04 no archive"):
        cache.cached_arrays("default", "name", {}, lambda: {"x": np.ones(2)})
        (file,) = folder.iterdir()
        file.write_bytes(content)
        with pytest.warns(UserWarning, match="name-.*npz could not be read and is made anew"):
            arrays = cache.cached_arrays("default", "name", {}, lambda: {"x": np.zeros(2)})
        assert arrays["x"].tolist() == [0, 0]
        assert cache.cached_arrays("default", "name", {}, None)["x"].tolist() == [0, 0]
        file.unlink()


def test_half_a_file_or_folder_is_never_left(folder):
    def stop(making, name):
        with making as draft:
            (draft / name).write_text("half of it") if name else draft.write_text("half of it")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop(cache.new_file(folder / "a"), "")
    with pytest.raises(KeyboardInterrupt):
        stop(cache.new_folder(folder / "b", "last"), "first")
    assert list(folder.iterdir()) == []
    with cache.new_file(folder / "a") as draft:
        draft.write_text("all of it")
    with cache.new_folder(folder / "b", "last") as draft:
        (draft / "last").write_text("all of it")
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b"]
    assert (folder / "a").read_text() == (folder / "b" / "last").read_text() == "all of it"


def test_the_folder_of_a_faster_process_stays(folder):
    def build(place, meanwhile):
        with cache.new_folder(place, "last") as draft:
            (draft / "last").write_text("slow")
            place.mkdir()
            (place / meanwhile).write_text("fast")

    build(folder / "b", "last")
    assert (folder / "b" / "last").read_text() == "fast"
    with pytest.raises(OSError, match="not empty"):  # a folder of something else
        build(folder / "c", "other")
    assert sorted(path.name for path in folder.iterdir()) == ["b", "c"]
