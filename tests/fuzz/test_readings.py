"""Records of how files were read that are not as they were written: data are read with them, or they are refused."""

from pathlib import Path

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


def test_mutated_readings(tmp_path, tally):
    domain = registry.domain_named("series")
    model = registry.load(SAVED / "series-run")

    def prepare(random, _):
        (tmp_path / "reading.json").write_bytes(mutated_json(WRITTEN, random))
        return tmp_path

    def use(folder):
        domain.read(SAVED / "recordings", runs.load_reading(domain, folder, {}), model)

    tally("readings", 30, 800).try_all(prepare, use).check()
