# Two commands do everything: `make demo` runs the whole chain, `make test` runs the tests.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
DEMO ?= demo
WORKERS ?= 2

.PHONY: demo test test-long fuzz fuzz-guided kills flood soak campaign-load matrix pages sbom release audit lint docs lock clean fleet fleet-stop

demo: $(VENV)/run.stamp  ## environment, install, generated collection, index, fair runs, scores, report
	$(BIN)/evenrank demo $(DEMO)

test: $(VENV)/dev.stamp  ## the whole test suite
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadgroup --no-loadscope-reorder

fuzz: $(VENV)/dev.stamp  ## 100,000 changed inputs for every reader (about half an hour)
	EVENRANK_FUZZ=$(or $(INPUTS),100000) $(BIN)/python -m pytest -q --timeout=0 tests/robustness/test_fuzz.py

fuzz-guided: $(VENV)/dev.stamp  ## every reader for SECONDS (60), guided by coverage; what reaches new code joins the corpus
	$(BIN)/python -m tests.robustness.guided --seconds $(or $(SECONDS),60) --keep

kills: $(VENV)/dev.stamp  ## every writing command killed at every system call that names or syncs a file
	EVENRANK_KILLS=0 $(BIN)/python -m pytest -q --timeout=0 -m "long or not long" tests/robustness/test_kills.py

flood: $(VENV)/dev.stamp  ## 200 connections with the most expensive requests for MINUTES (5); times of everybody else
	$(BIN)/python -m tests.robustness.flood --minutes $(or $(MINUTES),5)

soak: $(VENV)/dev.stamp  ## 50 editors, 50 assessors and 50 slow clients for MINUTES (2); new data every REFRESH (0: never)
	$(BIN)/python -m tests.robustness.soak --minutes $(or $(MINUTES),2) --refresh $(or $(REFRESH),0) --figure build/soak.svg

campaign-load: $(VENV)/dev.stamp  ## 50 assessors and 5 organisers judging while the server is killed
	$(BIN)/python -m tests.robustness.campaign_load

matrix:  ## the tests on every Python at hand, with the oldest and the newest dependencies
	$(PYTHON) tools/test_matrix.py

test-long: fuzz fuzz-guided kills matrix pages  ## everything that takes too long for every change
	$(BIN)/python -m pytest -q -m long
	EVENRANK_TEST_STORE=postgresql $(BIN)/python -m pytest -q tests/app
	$(MAKE) flood
	$(MAKE) campaign-load
	$(MAKE) soak MINUTES=60 REFRESH=5

pages:  ## every example of README and docs in a clean clone, after `make demo` there (about ten minutes)
	$(PYTHON) tools/check_pages.py

sbom: $(VENV)/run.stamp  ## what is installed, as CycloneDX JSON
	@$(BIN)/python tools/sbom.py

release: $(VENV)/dev.stamp  ## wheel, source archive, checksums and bill of materials under dist/, checked and tried; nothing is uploaded
	$(BIN)/python tools/release.py

audit: $(VENV)/dev.stamp  ## ages and known vulnerabilities of the locked dependencies (needs the network; pip-audit for the second)
	$(BIN)/python tools/audit.py

lint: $(VENV)/dev.stamp  ## style, types, direction of imports, dangerous calls
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml src

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
