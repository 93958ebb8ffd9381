# The two commands: `make run` starts Duly on this machine, `make test` runs every test. Both do all set-up.
SHELL := /bin/bash
PYTHON_VENV := target/venv
DULY := target/debug/duly
# The binary. The small owner of one task, which lies beside it, is built by scripts/shim.
PROGRAMS := -p duly --bin duly
TEST_FEATURES := duly/faults,duly-store/conformance

.PHONY: run test soak bench lint fmt need need-tests need-peers unit e2e openapi clean

## Start Duly on its embedded default; ends with a URL.
run: need
	cargo build --profile quick $(PROGRAMS)
	scripts/shim target/quick
	target/quick/duly up

## Every test: units, simulation, real processes, the API against its own description.
test: need lint unit e2e

## Clean formatting, clean clippy, one TLS stack, no machine's paths.
lint: need
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features $(TEST_FEATURES) -- -D warnings
	scripts/tidy

unit: need-tests
	cargo test --workspace --features $(TEST_FEATURES)

e2e: need-peers $(PYTHON_VENV)/ready
	cargo build $(PROGRAMS) --features duly/faults
	scripts/shim target/debug
	DULY_BIN=$(CURDIR)/$(DULY) $(PYTHON_VENV)/bin/pytest -q tests/e2e

## The same with many more moments, seeds and minutes.
soak: need-peers $(PYTHON_VENV)/ready
	cargo build --release $(PROGRAMS)
	scripts/shim target/release
	cargo test --release -p duly-sim --test soak -- --ignored --nocapture
	cargo test --release -p duly-engine --test anything -- --ignored
	DULY_PREVIOUS=$$(scripts/previous) DULY_BIN=$(CURDIR)/target/release/duly DULY_SOAK=1 $(PYTHON_VENV)/bin/pytest -q tests/e2e
	DULY_BIN=$(CURDIR)/target/release/duly DULY_TEST_STORE=postgres $(PYTHON_VENV)/bin/pytest -q tests/e2e
	DULY_BIN=$(CURDIR)/target/release/duly DULY_TEST_STORE=cluster $(PYTHON_VENV)/bin/pytest -q tests/e2e

## Speed beside bare floors in the same run; prints a table and writes JSON.
bench: need-tests
	cargo build --release $(PROGRAMS) -p duly-bench --bin duly-bench
	scripts/shim target/release
	target/release/duly-bench all --duly target/release/duly --json target/bench.json

openapi:
	cargo run -q -p duly -- openapi > openapi/openapi.json

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
