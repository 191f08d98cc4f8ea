# Two commands do everything: `make demo` runs the whole chain, `make test` runs the tests.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
DEMO ?= demo
WORKERS ?= 2

.PHONY: demo test lint docs lock clean fleet fleet-stop

demo: $(VENV)/run.stamp  ## environment, install, generated collection, index, fair runs, scores, report
	$(BIN)/evenrank demo $(DEMO)

test: $(VENV)/dev.stamp  ## the whole test suite
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup

lint: $(VENV)/dev.stamp  ## style, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/dev.stamp  ## the documentation as a web site under site/
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going -b html docs site

fleet: $(VENV)/dev.stamp  ## OpenSearch (three nodes), Spark (two workers) and PostgreSQL on loopback
	$(BIN)/python -m tools.fleet start

fleet-stop:  ## stop them
	$(BIN)/python -m tools.fleet stop

lock:  ## renew the lock files (needs uv)
	./requirements/renew

clean:
	rm -rf $(VENV) $(DEMO) site build dist

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/run.stamp: pyproject.toml requirements/run.lock | $(BIN)/python
	$(PIP) --require-hashes -r requirements/run.lock
	$(PIP) --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/dev.stamp: $(VENV)/run.stamp requirements/dev.lock
	$(PIP) --require-hashes -r requirements/dev.lock
	touch $@
