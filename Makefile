# Everything runs in .venv, made with uv where it is installed and with plain pip elsewhere.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
DEMO ?= demo-out

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint docs bench test-lowest clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

setup: $(VENV)/.installed  ## Make .venv and install the package in it, editable, with what development needs

$(VENV)/.installed: pyproject.toml
ifdef UV
	uv venv --allow-existing --python $(PYTHON) $(VENV)
	VIRTUAL_ENV=$(VENV) uv pip install --quiet --editable '.[dev]'
else
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
endif
	@touch $@

demo: setup  ## Make two small traces and compare them
	$(BIN)/python fixtures/make_fixtures.py demo $(DEMO)
	$(BIN)/tracemill compare $(DEMO)/base.pt.trace.json.gz $(DEMO)/new.pt.trace.json -w $(DEMO)/warehouse -o $(DEMO)

# Tests of one file, which share what is costly to make, stay with one process as long as there is enough for all.
test: setup  ## Run all tests
	$(BIN)/python -m pytest -n auto --dist worksteal

lint: setup  ## Check style, types and SQL
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/sqlfluff lint --processes 0 sql/staging sql/intermediate sql/marts

docs: setup  ## Write the pages that are generated, and the lock of public columns
	$(BIN)/python -m pipeline.catalog.dictionary

bench: setup  ## Measure every stage on generated traces of 100 MB and 1 GB
	$(BIN)/python benchmarks/bench.py

# The other tests exercise DuckDB alone, whose lowest version is close to the newest.
test-lowest:  ## Run the tests of readers and renderers with the lowest dependencies that pyproject.toml allows
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	VIRTUAL_ENV=.venv-lowest .venv-lowest/bin/uv pip install --quiet --resolution lowest-direct --editable '.[dev]'
	.venv-lowest/bin/python -m pytest -n auto --dist worksteal -k "not given_traces" $(addprefix tests/,$(addsuffix .py,\
		cases/test_cases cases/test_generated extract/trace/test_bulk extract/trace/test_event_array extract/trace/test_kineto\
		render/page/test_html render/workbook/test_sheetrows render/workbook/test_xlsx test_cli test_readme\
		warehouse/test_memory_limit))

clean:  ## Remove what the targets above have made
	rm -rf $(VENV) .venv-lowest $(DEMO) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis
