# `make demo` and `make test` set up what they need; a second call reuses what is there.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
# Exact, so that a registry may serve its CPU build for it.
TORCH := 2.13.0

.PHONY: help demo test setup format lock clean

help: ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: $(READY) ## the whole loop on a small real model; ends in results/demo/report.html
	@echo "load average before: $$(cut -d' ' -f1-3 /proc/loadavg)"
	@start=$$(date +%s); $(VENV)/bin/snakemake --cores all && \
	echo "demo: $$(( $$(date +%s) - start )) s; load average after: $$(cut -d' ' -f1-3 /proc/loadavg)" && \
	echo "open results/demo/report.html"

test: $(READY) ## format and lint checks, then every test
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/snakefmt --check Snakefile rules
	$(VENV)/bin/snakemake --lint
	$(VENV)/bin/pytest -n 2 --dist loadgroup

setup: $(READY) ## only install

# The lock is the whole environment, dependencies of dependencies included.
$(READY): requirements.lock pyproject.toml envs/setup.sh
	PYTHON="$(PYTHON)" VENV="$(VENV)" bash envs/setup.sh
	@touch $@

format: $(READY) ## format everything
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/snakefmt Snakefile rules

lock: ## resolve pyproject.toml anew into requirements.lock
	rm -rf build/lock && $(PYTHON) -m venv build/lock
	build/lock/bin/pip install --quiet torch==$(TORCH) '.[all,dev]'
	build/lock/bin/pip freeze --exclude evalooop | sed 's/+cpu$$//' > requirements.lock

clean: ## remove results, not what was downloaded
	rm -rf results/*/ .snakemake build
