# The two commands of the README, and the steps that they stand on.
#   make run    the bandit study at a size that takes about a minute
#   make test   formatting, lint, types, layers and all tests
# Both make .venv with the exact versions of requirements.lock first, once.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,report

.PHONY: run test check install lock clean
.DEFAULT_GOAL := install

run: install
	$(BIN)/hyperaction bandits --sizes 5 10 --trials 16 --iterations 400 --out results/bandits

test: check
	$(BIN)/pytest -n 2 --dist loadfile -q

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml requirements.lock setup.py $(wildcard src/hyperaction/maximise/native/*.cc src/hyperaction/maximise/native/*.h)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Hyperaction needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock setuptools jaxlib
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock \
		--no-build-isolation --editable '.[$(EXTRAS)]'
	@touch $@

# Exact versions of everything any extra needs. Needs uv.
lock:
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--no-emit-index-url --no-annotate --no-header --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
