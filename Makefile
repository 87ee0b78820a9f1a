# The two commands are `make demo` and `make test`; each first creates .venv and installs the package into it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check format bench docs clean

demo: .venv/installed
	$(BIN)/pellucid demo

test: check
	$(BIN)/pytest -n 2

check: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/installed
	$(BIN)/python -m benchmarks.run
	$(BIN)/python -m benchmarks.nearest
	$(BIN)/python -m benchmarks.molecules

docs: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf .venv build out site .mypy_cache .ruff_cache .pytest_cache .hypothesis
