# `make demo` and `make test` need python3 (3.11 or newer), make and git; the rest is
# installed into $(VENV). Overridable: PYTHON, VENV, DEMO_ARGS, PYTEST_ARGS, BENCH_ARGS.

PYTHON ?= python3
VENV ?= .venv
DEMO_ARGS ?=
PYTEST_ARGS ?= -n auto
BENCH_ARGS ?=

BIN := $(VENV)/bin
# Python compiles the modules that are used, which are few of those installed.
PIP := $(BIN)/python -m pip install -q --no-compile --disable-pip-version-check
# Installed first and by number, so that no other requirement chooses the build of torch.
TORCH := torch==2.13.0

CORE := $(VENV)/.betanll-core
TEST := $(VENV)/.betanll-test
DOCS := $(VENV)/.betanll-docs

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-slow test-all docs bench lint format clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' $(firstword $(MAKEFILE_LIST)) \
	  | awk -F'|' '{ printf "%-17s %s\n", $$1, $$2 }'

demo: $(CORE) ## show the pitfall, the cure and a first model, with a report
	$(BIN)/betanll demo $(DEMO_ARGS)

test: lint ## lint, check types and run the quick tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

# Tests of killed and interrupted processes run alone: they start workers of their own.
test-slow: $(TEST) ## run the tests that `make test` leaves out
	$(BIN)/python -m pytest -m "slow and not cluster" $(PYTEST_ARGS)
	$(BIN)/python -m pytest -m cluster

test-all: test test-slow ## run every test

docs: $(DOCS) ## run the tutorials and build the documentation into docs/_build/html
	$(BIN)/python -m sphinx -q -W --keep-going -c docs -b html . docs/_build/html
	@echo "open docs/_build/html/docs/index.html"

bench: $(TEST) ## measure speed on this machine
	$(BIN)/betanll bench $(BENCH_ARGS)

lint: $(TEST) ## ruff and mypy, without changing a file
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(TEST) ## let ruff fix and format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## remove caches and build output; the environment stays
	rm -rf build dist docs/_build .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests paper docs -name __pycache__ -type d -prune -exec rm -rf {} +

# pip is the last thing that venv puts in place: if it is there, the rest is.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "betanll needs Python 3.11 or newer, but $(PYTHON) is" \
	    "$$($(PYTHON) --version 2>&1). Choose another: make PYTHON=/path/to/python3" >&2; \
	  exit 1; }
	$(PYTHON) -m venv $(VENV)

$(CORE): pyproject.toml | $(BIN)/pip
	$(PIP) -e .
	@touch $@

$(TEST): pyproject.toml paper/pyproject.toml | $(BIN)/pip
	$(PIP) $(TORCH)
	$(PIP) -e ".[dev,sweeps,parquet,torch]" -e "./paper[dynamics,depth]"
	@touch $(CORE) $@

# On top of the test environment: the pages import its extras as well.
$(DOCS): $(TEST)
	$(PIP) -e ".[docs]"
	@touch $@
