# Every recipe is plain commands to copy. `make help` lists the targets.
VENV := .venv
STAMP := $(VENV)/.stamp
BIN := $(VENV)/bin
PYTHON ?= python3.11

.DEFAULT_GOAL := help
.PHONY: help eval replay test test-slow check format lint types tests coverage lock clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

eval: $(STAMP) ## Evaluate the embedded RAG server on the example cases.
	$(BIN)/python -m pytest evals/

replay: $(STAMP) ## Replay the recorded cases without a network.
	$(BIN)/python -m pytest evals/ -k "recency or specificity" --record-mode=none --block-network

test: check ## Run what must hold before every commit, in minutes.

check: format lint types tests ## Format check, lint, strict types, quick tests.

format: $(STAMP)
	$(BIN)/ruff format --check .

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

PYTEST := $(BIN)/python -m pytest -n 3 --dist worksteal

tests: $(STAMP)
	$(PYTEST) -m "not slow"

test-slow: $(STAMP) ## Run the tests marked slow: simulations, workers, browsers, CI jobs.
	$(PYTEST) -m slow

# The plugin is loaded before pytest-cov could start, so coverage starts pytest.
coverage: $(STAMP) ## Say which lines the tests reach, one test after the other.
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report

lock: ## Lock the dependencies again (needs uv).
	uv lock
	$(EXPORT) --output-file .ci/requirements.txt

EXPORT := uv export --locked --no-emit-project --no-header --quiet

# Installs from locked hashes. An editable project has no hash, so it comes last and alone.
$(STAMP): pyproject.toml uv.lock .ci/requirements.txt
	@if command -v uv >/dev/null 2>&1; then \
		echo "installing with uv"; uv sync --locked --quiet --python $(PYTHON); \
	else \
		echo "installing with pip"; \
		$(PYTHON) -m venv $(VENV) && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .ci/requirements.txt && \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .; \
	fi
	@touch $@

clean: ## Remove the environment and every cache.
	rm -rf $(VENV) .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis evals/cache
