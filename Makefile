# Everything runs in .venv, which is made when it is needed. `make` alone lists the targets.

PYTHON ?= python3
# Test processes at once. Four on two cores, because most tests wait for programs; more, and tests which kill processes
# would meet an overloaded machine. By file, so that what a file builds once is built once (groups of pytest-xdist 3.8
# have no effect with pytest 9.2).
JOBS ?= 4

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
RUST_SOURCES := Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml)
PYTHON_SOURCES := src tests docs examples benchmarks
APPLE := aarch64-apple-darwin

SHELL := /bin/sh
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.SUFFIXES:

# Where a user's pip installs to is not where .venv is. Indexes, proxies and certificates are the user's and stay.
unexport PIP_TARGET PIP_PREFIX PIP_ROOT PIP_CONSTRAINT PIP_REQUIREMENT PIP_EDITABLE PIP_PYTHON PIP_NO_DEPS PIP_DRY_RUN
unexport PIP_IGNORE_INSTALLED PIP_NO_BUILD_ISOLATION PIP_REQUIRE_HASHES PIP_ROOT_USER_ACTION PIP_SRC
unexport PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONSAFEPATH
export PIP_USER := 0

.PHONY: help setup demo test quick torture wheel check format clean

help: ## List the targets
	@echo "budwood: make TARGET"
	@sed -n 's/^\([a-z][a-z]*\):[^#]*## \(.*\)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
	  printf '  %-9s %s\n' "$$name" "$$text"; done

$(VENV)/.tools: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "budwood needs Python 3.11 or newer: make PYTHON=python3.12"; exit 1; }
	@command -v cargo >/dev/null || { echo "budwood needs Rust (cargo) to be built: see the Rust project's site"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install --quiet -c constraints.txt setuptools setuptools-rust
	@touch $@

# As pip compiles what it installs: where PYTHONDONTWRITEBYTECODE is set, every start would compile everything anew.
$(VENV)/.ready: $(VENV)/.tools pyproject.toml $(RUST_SOURCES)
	@echo "Building the Rust parts and installing budwood into $(VENV)"
	@$(PIP) install --quiet --no-build-isolation -c constraints.txt -e '.[dev]'
	@$(BIN)/python -m compileall -q src
	@touch $@

setup: $(VENV)/.ready ## Make .venv with budwood and all that developing it needs
	@echo "Ready: $(BIN)/budwood"

demo: $(VENV)/.ready ## Watch runs being killed and resumed, with nothing lost
	@$(BIN)/budwood demo
	@$(BIN)/python examples/overnight/overnight.py
	@$(BIN)/python examples/morning/morning.py
	@$(BIN)/python examples/beam/beam.py
	@$(BIN)/python examples/best_of/best_of.py
	@$(BIN)/python examples/mcts/mcts.py

# What a process compiled, the next may have, whatever the shell says of that: tests are hundreds of files.
test quick torture: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.ready ## Run all tests (8 to 15 minutes on two cores)
	cargo test --locked --workspace --exclude budwood-cards
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder

quick: $(VENV)/.ready ## Run the quick tests (under a minute, downloads nothing)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadfile -m "not slow and not crash and not postgres and not torture and not wheel"

torture: $(VENV)/.ready ## Run the fault tests at full length (long)
	$(BIN)/python -m pytest -n 2 --dist loadfile --timeout 7200 --torture -m torture

wheel: $(VENV)/.tools $(RUST_SOURCES) ## Build the wheel into dist/
	@rm -rf build/lib* build/bdist* dist/*.whl # setuptools would pack files that the sources no longer have
	@$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist .
	@ls -1 dist/*.whl

check: $(VENV)/.ready ## Check format, lint, types, layers and the Rust code
	$(BIN)/ruff format --check $(PYTHON_SOURCES)
	$(BIN)/ruff check $(PYTHON_SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports
	cargo fmt --all --check
	PYO3_PYTHON="$(CURDIR)/$(BIN)/python" cargo clippy --locked --workspace --all-targets -- -D warnings
	@if rustup target list --installed 2>/dev/null | grep -qx $(APPLE); then \
	  set -x; cargo check --locked --workspace --exclude budwood-cards --target $(APPLE); \
	else echo "Left out: cargo check for $(APPLE); add it with: rustup target add $(APPLE)"; fi

format: $(VENV)/.ready ## Format the Python and Rust code
	$(BIN)/ruff format $(PYTHON_SOURCES)
	$(BIN)/ruff check --fix-only --quiet $(PYTHON_SOURCES)
	cargo fmt --all

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) target build dist src/*.egg-info src/budwood/*.so .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(PYTHON_SOURCES) -name __pycache__ -type d -prune -exec rm -rf {} +
