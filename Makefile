# `make setup` is called by every other target and returns at once when .venv is up to date.
.PHONY: help setup lock demo test check format bench clean

BIN := .venv/bin
# Tests that count what the whole machine has are marked `alone` and wait for the other worker (tests/conftest.py).
WORKERS ?= 2
TESTS ?= tests
ARGS ?=

help:
	@echo "make setup    make .venv with everything the tests need"
	@echo "make demo     a Monte Carlo behind the fence, with its plot in out/demo"
	@echo "make test     the tests (TESTS=path, ARGS='-k name', WORKERS=n)"
	@echo "make check    lint, format, types, layers, gates"
	@echo "make format   rewrite the sources the way 'make check' wants them"
	@echo "make bench    the measurements behind the README's claims"
	@echo "make lock     write requirements.lock anew (ARGS=--upgrade takes newer versions)"

setup:
	@scripts/setup

lock:
	scripts/lock $(ARGS)

demo: setup
	@mkdir -p out/demo
	@$(BIN)/ringfence run examples/monte_carlo.py --artifacts out/demo \
	    --timeout 20 --memory 512m --cpus 1 --pids 32 --disk 50m $(ARGS)
	@echo "limits: 20 s, 512 MB, 1 CPU, 32 processes, 50 MB of disk, no network; the files it left:"
	@ls -l out/demo

test: setup
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup $(TESTS) $(ARGS)

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests $(wildcard bench/*.py)
	$(BIN)/python -m pytest -q tests/test_layers.py tests/test_gates.py

format: setup
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/ringfence bench sandbox $(ARGS)

clean:
	rm -rf .venv out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
