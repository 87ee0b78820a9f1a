"""The registry: domains by name, and the model that a folder holds."""

import pytest
from toy import CurveDomain

import pellucid as pl
from pellucid import InputError, registry


def test_the_domains_of_pellucid_are_known_by_name():
    assert list(registry.domains())[:3] == ["molecules", "series", "autoencoder"]
    assert registry.domain_named("series").name == "series"
    with pytest.raises(InputError, match="one of the domains molecules, series, .*Got 'curves'; install the package"):
        registry.domain_named("curves")


def test_a_domain_that_is_registered_replaces_one_of_the_same_name(monkeypatch):
    monkeypatch.setattr(registry, "_registered", {})
    first, second = CurveDomain(), CurveDomain()
    assert registry.register(first) is first
    registry.register(second)
    assert registry.domain_named("curves") is second


class Entry:
    """An entry point of an installed package."""

    name, dist = "curves", None

    def __init__(self, made):
        self.made = made

    def load(self):
        return self.made


def test_a_broken_package_does_not_break_the_others(monkeypatch):
    def broken():
        raise ImportError("no module named curves")

    entries = [Entry(broken), Entry(dict), Entry(CurveDomain)]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    with pytest.warns(pl.PellucidWarning) as warnings:
        known = registry._installed.__wrapped__()
    assert list(known) == ["molecules", "series", "autoencoder", "table", "curves"]
    assert [str(warning.message) for warning in warnings] == [
        "The domain 'curves' is left out, as it cannot be loaded (ImportError: no module named curves); update or "
        "uninstall its package",
        "The domain 'curves' is left out, as it cannot be loaded (TypeError: a domain must derive from "
        "pellucid.domains.Domain, not be dict); update or uninstall its package",
    ]


def test_of_a_run_the_game_is_found_first(tmp_path):
    series = registry.domain_named("series")
    for name in ("deep", "game"):
        (tmp_path / name).mkdir()
    (tmp_path / "deep" / f"{series.file}.json").write_text("{}")
    assert registry.find_model(tmp_path) == (series, tmp_path / "deep")
    (tmp_path / "game" / f"{series.file}.json").write_text("{}")
    assert registry.find_model(tmp_path) == (series, tmp_path / "game")
    assert registry.find_model(tmp_path, "deep") == (series, tmp_path / "deep")
    assert registry.find_model(tmp_path / "deep") == (series, tmp_path / "deep")


def test_folders_without_a_model_are_refused(tmp_path):
    with pytest.raises(InputError, match=f"Got {tmp_path}, where there is none; correct the path"):
        registry.find_model(tmp_path)
    with pytest.raises(InputError, match="where there is nothing; correct the path"):
        registry.find_model(tmp_path / "absent")
    with pytest.raises(InputError, match="where there is none called game"):
        registry.find_model(tmp_path, "game")
    with pytest.raises(InputError, match='`which` must be "game" or "deep". Got \'best\''):
        registry.find_model(tmp_path, "best")
