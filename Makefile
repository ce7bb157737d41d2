# `make setup` is called by every other target and returns at once when .venv is up to date.
.PHONY: help setup lock demo test check format bench clean

BIN := .venv/bin
# Which tests stay together says tests/sharing.py.
# Tests that count what the whole machine has are marked `alone` and wait for the other worker (tests/conftest.py).
WORKERS ?= 2
TESTS ?= tests
ARGS ?=

help:
	@echo "make setup    make .venv with everything the tests need"
	@echo "make demo     an idea in words becomes a strategy that ran; its tear sheet is in out/demo"
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
	@RINGFENCE_HOME=out/demo/home $(BIN)/ringfence research \
	    "Buy GOOG when RSI drops below 35, sell when it rises above 65" \
	    --data sample:GOOG --report out/demo/rsi.html $(ARGS)
	@echo "the tear sheet, to open in any browser: out/demo/rsi.html"

test: setup
	@scripts/install-test-packages
	PATH="$$PATH:$$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1)" \
	    $(BIN)/python -m pytest -n $(WORKERS) $(TESTS) $(ARGS)

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
	$(BIN)/ringfence bench backtest $(ARGS)

clean:
	rm -rf .venv out build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
