# Everything a newcomer needs: `make audit`, `make test`. Both make their own environment in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
MODEL ?= smollm2
ARGS ?=
WORKERS ?= 2
SELECT ?= -m "not slow"

.DEFAULT_GOAL := help
.PHONY: help audit test everything accept lint types tests format reference tutorials hooks harness lock bench newcomer machines wheel docs clean

help: ## show this list
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

audit: $(STAMP) ## audit a real language model on the built-in sentences (MODEL=…, ARGS=… to change)
	$(BIN)/equipoise audit $(MODEL) $(ARGS)

test: lint types tests ## check style and types, and run the tests, but the slow ones

everything: lint types ## check style and types, and run all tests with ten times the examples, as CI does
	$(MAKE) tests SELECT="--hypothesis-profile thorough"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

# One thread for each worker: two that share the cores would only wait for each other. Some tests kill real processes and
# servers: the tests that fail are run once more, one at a time (pytest-rerunfailures would cost 50 ms for every test).
# Modules are compiled once, not by every program that a test starts.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 $(BIN)/pytest $(SELECT)
tests: $(STAMP)
	$(PYTEST) -n $(WORKERS) --dist worksteal || { echo "Running the failed tests once more:"; $(PYTEST) --last-failed --last-failed-no-failures none; }

format: $(STAMP) ## format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

accept: $(STAMP) ## show how the kept texts have changed (what is printed, described and tabled), and keep them
	$(BIN)/python tests/parts/planted_headlines.py
	EQUIPOISE_ACCEPT=1 $(PYTEST) -q -s -k kept

reference: $(STAMP) ## write the reference pages anew from the code
	$(BIN)/python docs/generate.py

tutorials: $(STAMP) ## execute the notebooks of the tutorials again and keep what they show
	$(BIN)/python docs/notebooks.py

hooks: $(STAMP) ## run the quick checks before every commit
	$(BIN)/pre-commit install

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Equipoise needs Python 3.11 or newer, this is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $(STAMP)

lock: ## write requirements.lock anew from pyproject.toml (needs a fresh environment)
	rm -rf $(VENV)-lock && $(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet torch==2.13.0
	$(VENV)-lock/bin/python -m pip install --quiet hatchling==1.33.0 editables -e '.[all,dev,docs]'
	{ echo "# Written by 'make lock'."; $(VENV)-lock/bin/python -m pip freeze --exclude-editable | sed 's/+cpu$$//'; } > requirements.lock
	rm -rf $(VENV)-lock

harness: $(VENV)-harness/.installed ## install lm-evaluation-harness, inspect and an MLflow server, in an environment of their own

$(VENV)-harness/.installed: benchmarks/harness-requirements.txt
	$(PYTHON) -m venv $(VENV)-harness
	$(VENV)-harness/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/harness-requirements.txt
	@touch $@

bench: $(STAMP) harness ## measure scoring against lm-evaluation-harness, in an environment of its own (some 30 minutes)
	$(BIN)/python benchmarks/speed.py --harness $(VENV)-harness/bin/python $(ARGS)

newcomer: wheel ## a new user's path: the wheel alone in a fresh environment, from installing to the gate (some 5 minutes)
	$(BIN)/python tests/newcomer.py --wheel "$$(ls -t dist/*.whl | head -1)" --harness $(VENV)-harness/bin $(ARGS)

machines: $(STAMP) ## the quick tests as another user, in another language, time zone, order, and a folder with spaces
	$(BIN)/python tests/machines.py $(ARGS)

wheel: $(STAMP) ## build the wheel into dist/
	$(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation -w dist .

docs: $(STAMP) ## build the documentation into site/
	$(BIN)/mkdocs build --strict

clean: ## remove what was made here
	rm -rf $(VENV) $(VENV)-harness build dist site .mypy_cache .ruff_cache .pytest_cache
