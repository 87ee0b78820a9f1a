"""The registry: domains by name, and the model that a folder holds."""

import pytest
from toy import CurveDomain

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
