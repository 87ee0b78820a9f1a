"""Records of how files were read that are not as they were written: data are read with them, or they are refused."""

from pathlib import Path

from fuzz.cases import Tally
from fuzz.mutations import mutated_json

from pellucid import registry, runs

SAVED = Path(__file__).parents[1] / "saved" / "v0.1"
WRITTEN = {
    "channels": ["left"],
    "drop": ["right"],
    "by": None,
    "pivot": None,
    "fill": "linear",
    "gaps": "split",
    "pattern": "*.csv",
    "decimal": ".",
    "header": True,
}


def test_mutated_readings(tmp_path, capsys):
    tally = Tally("readings", few=30)
    domain = registry.domain_named("series")
    model = registry.load(SAVED / "series-run")
    for random in tally:
        (tmp_path / "reading.json").write_bytes(mutated_json(WRITTEN, random))
        with tally.case(tmp_path / "log"):
            domain.read(SAVED / "recordings", runs.load_reading(domain, tmp_path, {}), model)
    with capsys.disabled():
        tally.check()
