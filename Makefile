# One place for every command a contributor types. `make` alone lists them.
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export VENV
# Commands that tests start would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

CODE := gateway rewriter journal spark_compaction tests bench
# One more than there are processors: much of the time a test waits for a server.
WORKERS ?= $(shell echo $$(( $$(nproc 2>/dev/null || echo 2) + 1 )))
ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help setup java postgres demo shell test test-stores test-all check lint types contracts tidy fmt bench docs docs-check thrift clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml requirements-dev.txt .ci/bootstrap
	@.ci/bootstrap

setup: $(READY) ## Make the virtual environment in .venv

java:
	@.ci/java

postgres:
	@.ci/postgres

demo: $(READY) java ## A year of real flights: load, change, look back
	@$(BIN)/palimpsest demo $(ARGS)

shell: $(READY) ## A SQL shell on the warehouse in ./warehouse
	@$(BIN)/palimpsest shell palimpsest:///warehouse

test: $(READY) java postgres ## The tests: the embedded store, one pass on each other store, the docs
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not stores" $(ARGS)

test-stores: $(READY) java postgres ## The rest of the tests on PostgreSQL and Hive
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "stores and not slow" $(ARGS)

test-all: $(READY) java postgres ## Every test, the slow ones too
	@$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal --timeout 3600 $(ARGS)

protocols: ## The messages of Flight SQL anew, from their .proto files
	@python3 -m venv build/protocols && build/protocols/bin/pip install -q "grpcio-tools==1.74.0"
	@cd gateway/servers/flight/wire && ../../../../build/protocols/bin/python -m grpc_tools.protoc \
		-I. --python_out=. --pyi_out=. flight.proto flight_sql.proto

check: lint types contracts tidy ## Lint, format, types, import contracts, architecture tests

lint: $(READY)
	@$(BIN)/ruff check $(wildcard $(CODE))
	@$(BIN)/ruff format --check $(wildcard $(CODE))

types: $(READY)
	@$(BIN)/mypy

contracts: $(READY)
	@$(BIN)/lint-imports

tidy: $(READY)
	@$(BIN)/python -m pytest -q -p no:randomly tests/architecture

fmt: $(READY) ## Format the code and fix what the linter can fix
	@$(BIN)/ruff check --fix $(wildcard $(CODE))
	@$(BIN)/ruff format $(wildcard $(CODE))

bench: $(READY) ## The benchmarks; results land in bench/results as JSON
	@$(BIN)/python -m bench.run $(ARGS)

docs: $(READY) ## Renew the pages that are made from the code
	@$(BIN)/python -m tests.architecture.cli_reference
	@$(BIN)/python -m tests.architecture.grammar_page

docs-check: $(READY) ## Links, error codes and every block of README and docs
	@$(BIN)/python -m pytest -q tests/docs tests/architecture/test_docs.py \
		tests/architecture/test_errors_documented.py

thrift: ## Write the structures of HiveServer2's protocol anew (needs thrift-compiler 0.17)
	@thrift --gen py -out $(or $(TMPDIR),/tmp) gateway/servers/hive/wire/hive_service.thrift
	@cp $(or $(TMPDIR),/tmp)/hive_service/ttypes.py gateway/servers/hive/wire/ttypes.py

clean: ## Remove the virtual environment and every cache
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
