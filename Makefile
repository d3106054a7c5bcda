# Everything runs in .venv, made with uv where it is installed and with plain pip elsewhere.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
# pip compiles what it installs; without that, each process would do it again where Python may not write beside the code.
INSTALL := VIRTUAL_ENV=$(VENV) uv pip install --quiet --compile-bytecode
else
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
endif
DEMO ?= demo-out

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint docs site bench test-lowest clean

help:  ## Show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## /\1\t/' | expand -t 14

setup: $(VENV)/.installed  ## Make .venv and install the package in it, editable, with what development needs

$(VENV)/.installed: pyproject.toml
ifdef UV
	uv venv --allow-existing --python $(PYTHON) $(VENV)
else
	$(PYTHON) -m venv $(VENV)
endif
	$(INSTALL) --editable '.[dev]'
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
	$(BIN)/sqlfluff lint sql/staging sql/intermediate sql/marts

docs: setup  ## Write the pages that are generated, and the lock of public columns
	$(BIN)/python -m pipeline.catalog.dictionary

# A page lies in the site where it lies in the repository, so links work in both.
site: setup  ## Build the documentation site in site/
	$(INSTALL) --editable '.[site]'
	rm -rf build/pages
	mkdir -p build/pages/examples
	cp -R README.md CONTRIBUTING.md CHANGELOG.md docs build/pages
	cp examples/*.* build/pages/examples
	$(BIN)/zensical build --clean --strict

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
	rm -rf $(VENV) .venv-lowest $(DEMO) dist build site .pytest_cache .mypy_cache .ruff_cache .hypothesis
