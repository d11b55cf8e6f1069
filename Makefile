# What a newcomer types. Every target sets up what it needs, and does nothing when there is nothing to do.
#   make figures   all figures, verdicts and the page from the published results, without training: published/index.html
#   make demo      the whole reproduction, small, in minutes: demo/results/index.html
#   make paper     the whole reproduction at the paper's scale: results/index.html
#   make certain   ... with many seeds, on which the published verdicts are based
#   make readings  ... with the other readings of the paper
#   make horizon   ... with MNIST over thousands of epochs (some seventeen core hours)
#   make report    Snakemake's report of the demo (make report OF=paper: of the paper)
#   make verify    do the results in results/ still fit the code and the config?
#   make publish   docs/reproduction, and the part of README.md on it, from results/ (ADD=yes: added to what is there; AGAIN=yes: from that alone; REPEATED=yes: only what it took to make it again)
#   make article   docs/article, the short article on the published results (as PDF where Chromium is installed)
#   make setup     the environment in .venv, which all others make too
#   make quick     the unit tests, in a minute
#   make test      lint, and the tests of all that the pipeline does, a hundred runs under fire among them
#   make test-faults  the tests of all that may happen to it: kill, fill, cut and break things
#   make faults    the same, counted: what was done, and what survived
#   make soak      a thousand runs on a throwaway Slurm while everything fails; needs root (some fifty minutes)
#   make bench     how fast it is, against the peers
#   make clean     delete demo/ and published/ (RESULTS=yes: results/ too)
PYTHON ?= python3
VENV ?= .venv
BIN := $(CURDIR)/$(VENV)/bin
CORES ?= all
# Hundreds of short processes load the same modules: without the files that Python keeps, each would compile them again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup figures demo paper certain readings horizon report verify publish article quick test test-faults lint faults soak bench rulegraph clean help
.DEFAULT_GOAL := help

help:
	@sed -n '2,18s/^# *//p' Makefile

# One stamp for each set of packages: set-up runs again only when what is to be installed changes, or when the folder was
# moved, since the programs of an environment name the folder in which it was made.
ifneq ($(shell cat "$(VENV)/.place" 2> /dev/null),$(CURDIR))
.PHONY: $(VENV)/.workflow
endif
# Python compiles a module when it first imports it. To compile all now, as pip would, takes nearly a minute.
PIP := "$(BIN)/python" -m pip install --quiet --no-compile --disable-pip-version-check -c requirements.lock

$(VENV)/.workflow: pyproject.toml requirements.lock
	@if [ -e "$(VENV)" ] && [ "$$(cat "$(VENV)/.place" 2> /dev/null)" != "$(CURDIR)" ]; then \
	    echo "The environment in $(VENV) was made in another place or was not finished: making it again."; rm -rf "$(VENV)"; fi
	@test -x "$(BIN)/python" || $(PYTHON) -m venv "$(VENV)"
	@echo "Installing the packages of requirements.lock into $(VENV): torch, snakemake, numba, xarray and others, about 1 GB"
	@echo "(more where pip chooses a torch with CUDA). This takes one to three minutes and prints nothing meanwhile ..."
	@$(PIP) -e ".[workflow]"
	@echo "$(CURDIR)" > "$(VENV)/.place"
	@touch $@

$(VENV)/.dev: $(VENV)/.workflow
	@echo "Installing what the tests need: pytest, ruff, scikit-learn and others, about 150 MB ..."
	@$(PIP) -e ".[dev]"
	@# Warnings are errors in the tests, and some modules of others warn while they are compiled.
	@"$(BIN)/python" -W ignore -m compileall -q -j 0 "$(VENV)/lib" > /dev/null || true
	@touch $@

setup: $(VENV)/.workflow

SNAKEMAKE := "$(BIN)/snakemake" --cores $(CORES) --rerun-incomplete
# All of them share one copy of MNIST.
demo paper certain readings horizon: export CBO_DATA_DIR := $(or $(CBO_DATA_DIR),$(CURDIR)/data)

figures: $(VENV)/.workflow
	"$(BIN)/cbo-pipeline" redraw docs/reproduction --output published
	@echo "Open published/index.html"

demo: $(VENV)/.workflow
	mkdir -p demo
	$(SNAKEMAKE) --directory demo --configfile workflow/demo.yaml
	@echo "Open demo/results/index.html; the figures are in demo/results/figures"

# Hundreds of runs of the paper take less time than a process takes to start: ten of a curve share one.
SHARED := --config runs_per_job=10

paper: $(VENV)/.workflow
	$(SNAKEMAKE) $(SHARED)

certain: $(VENV)/.workflow
	$(SNAKEMAKE) $(SHARED) --configfile workflow/many_seeds.yaml

readings: $(VENV)/.workflow
	$(SNAKEMAKE) readings $(SHARED) --configfile workflow/many_seeds.yaml

horizon: $(VENV)/.workflow
	$(SNAKEMAKE) $(SHARED) --configfile workflow/many_seeds.yaml workflow/horizon.yaml

# What the report is of, how Snakemake is told, and where it goes.
OF ?= demo
ifeq ($(filter demo paper,$(OF)),)
    $(error OF=$(OF): a report is made of demo or of paper)
endif
RUN_demo := --directory demo --configfile workflow/demo.yaml
REPORT_demo := $(CURDIR)/demo/report.html
REPORT_paper := $(CURDIR)/results/report.html

report: $(OF)
	"$(BIN)/snakemake" $(RUN_$(OF)) --report "$(REPORT_$(OF))"
	@echo "The report is in $(REPORT_$(OF))"

verify: $(VENV)/.workflow
	"$(BIN)/cbo-pipeline" verify results

lint: $(VENV)/.dev
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/snakefmt" --check Snakefile workflow/Snakefile workflow/rules
	"$(BIN)/snakemake" --lint
	"$(BIN)/lint-imports"

# The loop of a developer: no network, no Snakemake, no processes but pytest's own. Plain `pytest` does the same in one.
quick: $(VENV)/.dev
	"$(BIN)/python" -m pytest -n 2 --dist loadfile

# Tests of clusters wait more than they work: two processes more than there are cores.
WORKERS := $(shell echo $$(($$(nproc 2>/dev/null || echo 2) + 2)))
PYTEST := "$(BIN)/python" -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder
SOAK_TEST := tests/faults/test_soak.py

# The unit tests come first: what is wrong in small is soon told, and the kernels that they compile are there for all others.
test: lint quick
	$(PYTEST) tests/workflow $(SOAK_TEST)

test-faults: $(VENV)/.dev
	$(PYTEST) tests/faults --ignore $(SOAK_TEST)

# Faults are counted as the tests do them; the table goes into docs/reliability.md.
faults: $(VENV)/.dev
	$(PYTEST) -p tests.reliability --reliability docs/reliability.md tests/faults tests/workflow/test_shared_jobs.py

# The same under load: SOAK="--runs 100 --faults 20 --seed 7" for less, or for one that was seen before.
soak: $(VENV)/.dev
	PYTHONPATH="$(CURDIR)/src:$(CURDIR)/tests" "$(BIN)/python" -m soak --write docs/reliability.md $(SOAK)

bench:
	test -x .bench-venv/bin/python || $(PYTHON) -m venv .bench-venv
	.bench-venv/bin/python -m pip install --quiet --disable-pip-version-check -c requirements.lock -e ".[workflow]" cbx==1.0.4
	.bench-venv/bin/python benchmarks/run.py $(ONLY)

# With ADD=yes what results/ holds joins what was published before; with AGAIN=yes pages and figures are made again from that.
# With REPEATED=yes results/ holds published results that were made again: what that took is added, and nothing else.
publish: $(VENV)/.workflow
	"$(BIN)/cbo-pipeline" publish --output docs/reproduction --readme README.md $(if $(ADD),--add) $(if $(AGAIN),--again) $(if $(REPEATED),--repeated)

# The browser that prints, looked for when the article is made.
PRINTER = $(shell "$(BIN)/python" -c "from cbo_pipeline.pages.article.pdf import browser; print(browser() or '')")

article: $(VENV)/.workflow
	mkdir -p docs/article
	"$(BIN)/cbo-pipeline" article --results docs/reproduction --output docs/article/article.html \
	    --markdown docs/article/article.md $(if $(PRINTER),--pdf docs/article/article.pdf)
	@$(if $(PRINTER),:,echo "No PDF was made: no Chromium or Chrome is installed.")

# The picture of the rules in README.md.
rulegraph: $(VENV)/.workflow
	"$(BIN)/python" docs/rulegraph.py

# Results may be days of computing: they are kept unless RESULTS=yes is said.
clean:
	rm -rf demo published$(if $(filter yes,$(RESULTS)), results/* .snakemake)
