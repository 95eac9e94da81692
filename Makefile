# Every target sets up its own environment in .venv; nothing else is needed but Python 3.11+.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Skip pip's check for a newer pip, and say only what matters.
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
CORES := $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)))" 2>/dev/null || echo 2)
# Generated workloads for each row of the comparison with the oracle; `test-nightly` takes more.
EXAMPLES ?= 100

.PHONY: demo test test-browser test-slurm test-nightly check bench docs clean
.DEFAULT_GOAL := demo

$(VENV)/pip:
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'sojourn needs Python 3.11 or newer')"
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp per set of extras, so that each target installs only what it needs.
$(VENV)/with-%: $(VENV)/pip pyproject.toml
	$(PIP) install --editable ".$(if $(filter-out base,$*),[$*])"
	@touch $@

demo: $(VENV)/with-base
	$(BIN)/sojourn demo --out demo

# Kernels are compiled once, before several processes would do it at the same time.
LOAD := from sojourn.engine import load_all_kernels
SLURMS := from sojourn.policy.slurm.controller import load_kernel
.PHONY: kernels
kernels: $(VENV)/with-test,docs
	$(BIN)/python -c "$(LOAD); load_all_kernels('named', 'domains')" & half=$$!; \
	$(BIN)/python -c "$(LOAD); load_all_kernels('counted', 'caps')" && \
	$(BIN)/python -c "$(SLURMS); load_kernel(); load_kernel(eventful=True)" && wait $$half

# What needs a real Slurm or a browser has targets of its own.
APART := --ignore tests/virtual --ignore tests/slurm --ignore tests/page/browser
test: kernels
	SOJOURN_EXAMPLES=$(EXAMPLES) $(BIN)/python -m pytest -n $(CORES) --dist worksteal -m "not nightly" \
		$(APART)

# A real Slurm with virtual nodes: installed where that is allowed; elsewhere the tests say what is
# missing. One process only: two clusters at a time would disturb each other's timing.
SLURM := slurmctld slurmd slurm-client gcc libc6-dev
APT := DEBIAN_FRONTEND=noninteractive timeout 240 apt-get -q -o Acquire::Retries=0 \
	-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20
test-slurm: $(VENV)/with-test,docs
	@PATH="$$PATH:/usr/sbin:/sbin"; \
	( for program in slurmctld slurmd sbatch cc; do command -v $$program || exit 1; done ) > /dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && { $(APT) update || true; } \
		&& $(APT) install -y --no-install-recommends $(SLURM); } \
		|| echo "Slurm is missing and cannot be installed here: its tests are skipped, and say why"
	$(BIN)/python -m pytest tests/virtual tests/slurm

# A browser to open reports in: installed where that is allowed; elsewhere the tests say so.
test-browser: $(VENV)/with-test,docs
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && $(APT) update && \
		$(APT) install -y --no-install-recommends chromium; } || \
		echo "chromium is missing and cannot be installed here: set SOJOURN_BROWSER"
	$(BIN)/python -m pytest tests/page/browser

test-nightly: kernels
	SOJOURN_EXAMPLES=10000 $(BIN)/python -m pytest -n $(CORES) --dist worksteal \
		$(APART)

check: $(VENV)/with-test,check,docs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/with-bench
	$(BIN)/python bench/run.py $(ARGS)

docs: $(VENV)/with-docs
	$(BIN)/sphinx-build -W -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf $(VENV) build dist docs/_build demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
