# Two commands on a fresh clone: `make demo` and `make test`. Both make the virtual environment.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A worker keeps tests that stand together, which share what is cached, and helps when it is done.
PARALLEL := --numprocesses=auto --dist=worksteal
BENCHMARKS = $(BIN)/python -m pytest benchmarks --override-ini testpaths=benchmarks
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
export PYTHONDONTWRITEBYTECODE := # what is compiled once is kept
LOWEST := .venv-lowest
# The tests that meet most of other packages: an engine, its parser, the ledger, the service, charts.
# Spark and DuckDB have no older version that is allowed; the laws of noise ask for NumPy alone.
MEETING := tests/service tests/tasks/servers tests/tasks/table tests/cli/test_cli.py tests/charts \
  tests/ledger tests/query tests/engines/duckdb tests/engines/sql

.PHONY: demo test thorough landing landed coverage audit lint format docs screenshots bench release requirements lowest clean

demo: $(VENV)/installed
	$(BIN)/noisycount demo

test: $(VENV)/developed
	$(BIN)/python -m pytest $(PARALLEL) -m "not thorough"

thorough: $(VENV)/developed
	$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile=thorough

# What must pass before a change lands: the fast tests, a quarter of the thorough tests of the rooms that the change
# can affect, and an eighth of the others (tests/landing.py). Benchmarks run with small sizes; no time is judged.
landing: $(VENV)/benched
	$(BIN)/python -m pytest $(PARALLEL) --hypothesis-profile=landing --landing
	$(BENCHMARKS) --small $(PARALLEL) --dist=loadfile

# Begin the next change: note the number of landings so far, and the commit that landed last.
landed:
	@echo "$$(( $$(cut -d' ' -f1 .ci/landed) + 1 )) $$(git rev-parse HEAD)" > .ci/landed

# To measure takes as long again as the tests themselves: the fast ones with all cases, and a case of each thorough one.
coverage: $(VENV)/developed
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest $(PARALLEL) --covering -m "not hypothesis"
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

# A process takes one audit after the other; what measures times waits until nothing else runs.
audit: AUDITS := $(BIN)/python -m pytest audits --override-ini testpaths=audits --numprocesses=auto \
  --dist=load --maxschedchunk=1
audit: coverage
	$(AUDITS) -k "not timing"
	$(AUDITS) -k timing

lint: $(VENV)/developed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/developed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(VENV)/documented
	rm -rf docs/_build
	$(BIN)/sphinx-build --builder html --fail-on-warning --keep-going --quiet docs docs/_build/html
	$(BIN)/python -m tests.website.links docs/_build/html
	$(BIN)/python -m tests.website.tour docs/_build/html

# The pictures of the pages in docs/pictures, which need Chromium; a test says when they have become old.
screenshots: $(VENV)/developed
	NOISYCOUNT_SCREENSHOTS=1 NOISYCOUNT_REQUIRES_CHROMIUM=1 $(BIN)/python -m pytest tests/test_walks.py

# Write the ratios to a file in benchmarks/results, and show which are over 1.3 times those of the last file.
bench: $(VENV)/benched
	$(BENCHMARKS) --keep

# The wheel holds the site.
release: $(VENV)/developed docs
	$(BIN)/python -m tests.release_trial dist

# The packages of the container, with their hashes.
requirements: $(VENV)/developed
	$(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.13 --generate-hashes --no-annotate \
	  --extra server --extra postgres --extra charts --custom-compile-command "make requirements" \
	  --output-file deploy/requirements.txt pyproject.toml > /dev/null

lowest: $(VENV)/developed
	$(BIN)/uv venv --quiet --clear --python 3.11 $(LOWEST)
	$(BIN)/uv pip compile --quiet --no-deps --resolution lowest-direct --all-extras \
	  --python-version 3.11 --output-file $(LOWEST)/lowest.txt pyproject.toml > /dev/null
	$(PIP) wheel --no-deps --wheel-dir $(LOWEST)/wheels pyspark # which pip made a wheel of before
	$(BIN)/uv pip install --quiet --python $(LOWEST) --constraint $(LOWEST)/lowest.txt \
	  --find-links $(LOWEST)/wheels --requirement pyproject.toml --all-extras --group dev --editable .
	$(LOWEST)/bin/python -m pytest $(PARALLEL) -m "not thorough" $(MEETING)

clean:
	rm -rf $(VENV) $(LOWEST) docs/_build dist noisycount-demo

# Python compiles what it imports. To compile all modules of all packages takes longer than to install them.
$(VENV)/%: export PIP_COMPILE := 0

$(VENV)/installed: pyproject.toml
	@echo "Making the virtual environment in $(VENV) (once; about a minute) ..."
	$(PYTHON) -m venv --without-pip $(VENV) # which takes a tenth of the time, if this Python has a pip to bring
	@$(PYTHON) -m pip --python $(VENV) --quiet install pip 2> /dev/null || $(PYTHON) -m venv $(VENV)
	$(PIP) install --editable ".[charts]"
	@touch $@

$(VENV)/developed: $(VENV)/installed
	$(PIP) install "pip>=25.1"
	$(PIP) install --group dev
	@touch $@

$(VENV)/documented: $(VENV)/developed
	$(PIP) install --group docs
	@touch $@

$(VENV)/benched: $(VENV)/developed
	$(PIP) install --group bench
	@touch $@
