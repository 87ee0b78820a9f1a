# The commands are `make demo`, `make quick` and `make test`; each first creates .venv and installs the package into it.
PYTHON ?= python3
BIN := .venv/bin

# Bytecode is a cache like those of mypy and numba; without it pytest translates every test again, each time.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick test fuzz check style docstrings types layers format bench docs site map notebooks wheel clean

demo: .venv/installed
	$(BIN)/pellucid demo --force

# Before each commit; fast once mypy, numba and pytest have filled their caches.
quick: .venv/installed
	$(MAKE) -j2 check
	$(BIN)/pytest -n 2 -q -m "not slow and not browser and not docs and not paper"

# Everything, in random order: `--randomly-seed=...` with the seed that is printed repeats it, `-p no:randomly` is by name.
test: .venv/installed
	$(MAKE) -j2 check
	$(BIN)/pytest -n 2 --dist worksteal

# Files that lie, kills at every moment, full disks, hostile names, coverage of bounds: a few of each are in `make test`.
fuzz: .venv/installed
	$(BIN)/pytest -n 2 --dist worksteal tests/fuzz tests/test_trust_coverage.py --fuzz-size large

check: docstrings types style layers

docstrings: .venv/installed
	$(BIN)/numpydoc lint $$(find src -name '*.py')

types: .venv/installed
	$(BIN)/mypy

style: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

layers: .venv/installed
	$(BIN)/lint-imports

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.nearest
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.devices
	$(BIN)/python -m benchmarks.molecules
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.tables
	$(BIN)/python -m benchmarks.faithfulness

docs: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

site: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The picture of the modules and what they import.
map: .venv/installed
	$(BIN)/python docs/house.py

# Notebooks are written as scripts; they are kept with their outputs.
notebooks: .venv/installed
	$(BIN)/jupytext --update --to ipynb --update-metadata '{"jupytext": null}' docs/examples/*.py
	PYTHONWARNINGS=ignore $(BIN)/jupyter nbconvert --to notebook --inplace --execute \
		--ExecutePreprocessor.record_timing=False docs/examples/*.ipynb

# The wheel must work without the clone: installed into an empty environment, away from the sources.
wheel:
	rm -rf build
	$(PYTHON) -m venv build/venv
	build/venv/bin/pip wheel -q --disable-pip-version-check --no-deps -w build/dist .
	build/venv/bin/pip install -q --disable-pip-version-check -c constraints.txt "$$(ls $(CURDIR)/build/dist/*.whl)[molecules,plot]"
	cd build/venv && bin/pellucid --help && bin/pellucid demo --size smoke --quiet && bin/python -c "import pellucid.series"

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build out site .mypy_cache .ruff_cache .pytest_cache .hypothesis
