# The two commands of the README, the trials of docs/reference/safety.md, and the steps that they stand on.
#   make run    HGQN learns HalfCheetah for about five minutes; where its curve and its film are
#   make test   formatting, lint, types, layers and all tests
#   make chaos  a thousand faults, by seed: what was tried and what survived
#   make docs   the site in site/; make docs-serve shows it as it changes
# All make .venv with the exact versions of requirements.lock first, once.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
EXTRAS := dev,docs,report,physical,mujoco,atari,jumanji,rddl,pettingzoo,dmc,ray,torch,tune,wandb,trackio,hub
# The peers that benchmarks measure against bring several GB, and are not held to exact versions.
LOCKED := dev docs physical mujoco report atari jumanji rddl pettingzoo dmc ray torch tune wandb trackio hub

.PHONY: run test chaos check docs docs-serve install wheel lock clean
.DEFAULT_GOAL := install

run: install
	rm -rf results/halfcheetah
	$(BIN)/hyperaction train HalfCheetahBulletEnv-v0 --agent hgqn --preset modern --steps 40000 \
		--phase-steps 5000 --evaluation-steps 2000 --out results/halfcheetah
	$(BIN)/hyperaction compare results/halfcheetah --out results/halfcheetah/curve.png
	$(BIN)/hyperaction video results/halfcheetah --out results/halfcheetah/film.mp4

test: check
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -q

chaos: install
	$(BIN)/python -m tests.chaos --trials 1000 --seed 0

# `--clean`: help and docstrings come from the sources, which are not pages.
docs: install
	$(BIN)/zensical build --clean --strict

docs-serve: install
	$(BIN)/zensical serve

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

install: $(VENV)/installed

$(VENV)/installed: pyproject.toml requirements.lock setup.py $(wildcard $(foreach dir,kernels kernels/conv,src/hyperaction/$(dir)/*.cc src/hyperaction/$(dir)/*.h))
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Hyperaction needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock setuptools jaxlib
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements.lock \
		--no-build-isolation --editable '.[$(EXTRAS)]'
	@$(BIN)/python -c 'import sys; sys.version_info >= (3, 12) and print("PyBullet has no wheels for this Python: its domains are left out and their tests skipped (use Python 3.11)")'
	@$(BIN)/python -c 'import sys; sys.version_info >= (3, 13) and print("dm-control has no wheels for this Python: dmc: is left out and its tests skipped (use Python 3.11 or 3.12)")'
	@touch $@

# One file with the kernels, for any Python on machines of this kind: no compiler is needed there.
wheel: install
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

# Exact versions of everything these extras need. Needs uv.
lock:
	uv pip compile pyproject.toml $(LOCKED:%=--extra %) --universal --python-version 3.11 --upgrade \
		--no-emit-index-url --no-annotate --no-header --quiet --output-file requirements.lock

clean:
	rm -rf $(VENV) build site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
