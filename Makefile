# What a newcomer types. Every target sets up what it needs, and does nothing when there is nothing to do.
#   make setup    the environment in .venv, which all others make too
#   make demo     the whole reproduction, small, in minutes: figures in demo/results/figures
#   make paper    the whole reproduction at the paper's scale
#   make report   one HTML page of the demo (make report OF=paper: of the paper)
#   make quick    the unit tests, in a minute
#   make test     lint and all tests
#   make faults   kill, fill, cut and break things; count what survives
#   make bench    how fast it is, against the peers
#   make publish  docs/reproduction, and the part of README.md on it, from results/
PYTHON ?= python3
VENV ?= .venv
BIN := $(CURDIR)/$(VENV)/bin
CORES ?= all

.PHONY: setup demo paper report test quick lint faults bench publish rulegraph clean help
.DEFAULT_GOAL := help

help:
	@sed -n '2,10s/^# *//p' Makefile

# One stamp a set of packages: set-up runs again only when what is to be installed changes.
$(VENV)/.workflow: pyproject.toml requirements.lock
	test -x "$(BIN)/python" || $(PYTHON) -m venv "$(VENV)"
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[workflow]"
	touch $@

$(VENV)/.dev: $(VENV)/.workflow
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[dev]"
	touch $@

setup: $(VENV)/.workflow

# The demo and the paper share one copy of MNIST.
demo paper: export CBO_DATA_DIR := $(or $(CBO_DATA_DIR),$(CURDIR)/data)

demo: $(VENV)/.workflow
	mkdir -p demo
	"$(BIN)/snakemake" --cores $(CORES) --directory demo --configfile workflow/demo.yaml --rerun-incomplete
	@echo "The figures are in demo/results/figures:" && ls demo/results/figures/*.png

paper: $(VENV)/.workflow
	"$(BIN)/snakemake" --cores $(CORES) --rerun-incomplete

# What the report is of, how Snakemake is told, and where it goes.
OF ?= demo
RUN_demo := --directory demo --configfile workflow/demo.yaml
REPORT_demo := $(CURDIR)/demo/report.html
REPORT_paper := $(CURDIR)/results/report.html

report: $(OF)
	"$(BIN)/snakemake" $(RUN_$(OF)) --report "$(REPORT_$(OF))"
	@echo "The report is in $(REPORT_$(OF))"

lint: $(VENV)/.dev
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/snakefmt" --check Snakefile workflow/rules
	"$(BIN)/snakemake" --lint
	"$(BIN)/lint-imports"

# The loop of a developer: one process, no network, no Snakemake, about a minute.
quick: $(VENV)/.dev
	"$(BIN)/python" -m pytest

test: lint
	"$(BIN)/python" -m pytest -n auto --dist loadfile src/cbo_pipeline tests

# Faults are counted as the tests do them; the table goes into docs/reliability.md.
faults: $(VENV)/.dev
	"$(BIN)/python" -m pytest -p tests.reliability --reliability docs/reliability.md tests/faults

bench:
	test -x .bench-venv/bin/python || $(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[workflow]" pot cbx==1.0.4
	.bench-venv/bin/python benchmarks/run.py $(ONLY)

publish: $(VENV)/.workflow
	"$(BIN)/cbo-pipeline" publish --output docs/reproduction --readme README.md

# The picture of the rules in README.md.
rulegraph: $(VENV)/.workflow
	"$(BIN)/python" docs/rulegraph.py

clean:
	rm -rf demo results/* .snakemake
