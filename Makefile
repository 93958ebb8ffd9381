# The two commands: `make run` starts Duly on this machine, `make test` runs every test. Both do all set-up.
SHELL := /bin/bash
PYTHON_VENV := target/venv
DULY := target/debug/duly
# The binary. The small owner of one task, which lies beside it, is built by scripts/shim.
PROGRAMS := -p duly --bin duly
TEST_FEATURES := duly/faults,duly-store/conformance
# Tests with a cluster of their own are the same whatever store the other tests use.
OTHER_STORE := $(PYTHON_VENV)/bin/pytest -q --ignore-glob='*/test_cluster*' --ignore-glob='*/test_rolling_upgrade.py' tests/e2e

.PHONY: run test soak bench bench-browser lint fmt need need-tests need-peers console console-check unit e2e openapi clean

# What follows `bench` names suites; of these only `console` is something to make, too.
ifeq ($(firstword $(MAKECMDGOALS)),bench)
SUITES := $(wordlist 2,$(words $(MAKECMDGOALS)),$(MAKECMDGOALS))
.PHONY: $(SUITES)
$(filter-out console,$(SUITES)): bench ; @:
endif

## Start Duly on its embedded default; ends with a URL.
run: need
	scripts/console
	cargo build --profile quick $(PROGRAMS) --features duly/embed-console
	scripts/shim target/quick
	target/quick/duly up

## Every test: units, simulation, real processes, the API against its own description, the console in a browser.
test: need lint console-check unit e2e

## The web console, which the server embeds; `make run` does this, too.
console: need
	scripts/console

## Types, style, words and weight of the console, and its own tests.
console-check: need
	scripts/console check

## Clean formatting, clean clippy, one TLS stack, no machine's paths.
lint: need
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features $(TEST_FEATURES) -- -D warnings
	scripts/tidy

unit: need-tests
	cargo test --workspace --features $(TEST_FEATURES)

e2e: need-peers $(PYTHON_VENV)/ready
	scripts/console
	cargo build $(PROGRAMS) --features duly/faults
	scripts/shim target/debug
	DULY_BIN=$(CURDIR)/$(DULY) scripts/e2e

## The same with many more moments, seeds and minutes.
soak: need-peers $(PYTHON_VENV)/ready
	scripts/console
	cargo build --release $(PROGRAMS)
	scripts/shim target/release
	cargo test --release -p duly-sim --test soak -- --ignored --nocapture
	cargo test --release -p duly-engine --test engine anything -- --ignored
	DULY_PREVIOUS=$$(scripts/previous) DULY_BIN=$(CURDIR)/target/release/duly DULY_SOAK=1 $(PYTHON_VENV)/bin/pytest -q tests/e2e
	DULY_BIN=$(CURDIR)/target/release/duly DULY_TEST_STORE=postgres $(OTHER_STORE)
	DULY_BIN=$(CURDIR)/target/release/duly DULY_TEST_STORE=cluster $(OTHER_STORE)

## Speed beside bare floors in the same run; prints a table and writes JSON. `make bench reads idle` measures only these.
bench: need-tests $(if $(filter console,$(or $(SUITES),console)),bench-browser)
	cargo build --release $(PROGRAMS) -p duly-bench --bin duly-bench
	scripts/shim target/release
	target/release/duly-bench $(if $(SUITES),run $(SUITES),all) --duly target/release/duly --json target/bench.json

## The console, a browser for it and what drives that; its suite says what is missing, and is left out.
bench-browser: need-peers console $(PYTHON_VENV)/ready

## Write the API's description anew, from the code.
openapi:
	UPDATE_EXPECT=1 cargo test -q -p duly-server --lib openapi

fmt:
	cargo fmt --all

need:
	@scripts/need

## Also the database that the tests start for themselves.
need-tests:
	@scripts/need tests

## Also the tool chains of the XXL-JOB executors that the end-to-end tests run.
need-peers:
	@scripts/need peers

$(PYTHON_VENV)/ready: tests/e2e/requirements.txt
	python3 -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/pip install -q -r tests/e2e/requirements.txt
	touch $@

clean:
	cargo clean
