# Every recipe is plain commands to copy. `make help` lists the targets.
VENV := .venv
STAMP := $(VENV)/.stamp
BIN := $(VENV)/bin
PYTHON ?= python3.11
# Without compiled modules, each of the hundreds of sessions that the tests start takes twice as long.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help eval replay test test-slow test-frameworks test-versions test-plugins mutants instructions dist audit check format lint types tests coverage docs pictures \
	lock clean

help: ## List the targets.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

eval: $(STAMP) ## Evaluate the embedded RAG server on the example cases.
	$(BIN)/python -m pytest evals/

replay: $(STAMP) ## Replay the recorded cases without a network.
	$(BIN)/python -m pytest evals/ -k "recency or specificity" --record-mode=none --block-network

# Types are checked beside the tests.
test: ## Run what must hold before every commit, in minutes.
	@$(MAKE) $(if $(findstring jobserver,$(MAKEFLAGS)),,-j2) --no-print-directory check

check: format lint types tests ## Format check, lint, strict types, quick tests.

format: $(STAMP)
	$(BIN)/ruff format --check .

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/lint-imports

types: $(STAMP)
	$(BIN)/mypy

PYTEST := $(BIN)/python -m pytest --dist worksteal

tests: $(STAMP)
	$(PYTEST) -n 3 -m "not slow"

test-slow: $(STAMP) ## Run the tests marked slow: simulations, workers, browsers, CI jobs.
	$(PYTEST) -n 4 -m slow  # many of them wait

# In an environment of its own: these bring many packages, which are not locked.
FRAMEWORKS := .venv-frameworks
FRAMEWORK_PACKAGES := "langchain-core<2" "llama-index-core<0.15" "haystack-ai<4" \
	"nbclient<1" "ipykernel<8" "pandas<4" "polars<2" "hayhooks<3" "langserve[server]<1" "fastmcp<5"

test-frameworks: $(FRAMEWORKS)/.stamp ## Test with frameworks, servers, a notebook and data frames (installs them).
	HAYSTACK_TELEMETRY_ENABLED=False RAGEVAL_REQUIRE_FRAMEWORKS=1 \
		$(FRAMEWORKS)/bin/python -m pytest -q -m "slow or not slow" tests/target/test_adapters.py \
		tests/target/test_client_real_servers.py tests/docs/test_notebook.py \
		tests/docs/test_docs_python_api.py tests/api/test_run_frames.py

$(FRAMEWORKS)/.stamp: pyproject.toml Makefile
	rm -rf $(FRAMEWORKS)
	@if command -v uv >/dev/null 2>&1; then \
		uv venv --quiet --python $(PYTHON) $(FRAMEWORKS) && \
		uv pip install --quiet --python $(FRAMEWORKS)/bin/python -e . hypothesis $(FRAMEWORK_PACKAGES); \
	else \
		$(PYTHON) -m venv $(FRAMEWORKS) && \
		$(FRAMEWORKS)/bin/python -m pip install --quiet --disable-pip-version-check -e . hypothesis $(FRAMEWORK_PACKAGES); \
	fi
	@touch $@

# With other versions than the locked ones, such as RESOLUTION=lowest-direct or VERSIONS="pytest==8.3.*".
# What other tools print, and the documentation, is tested with the locked ones alone.
RESOLUTION ?= highest
VERSIONS ?=

test-versions: ## Run the quick tests with the newest, the lowest or chosen dependencies (needs uv).
	uv venv --quiet --clear --python $(PYTHON) .venv-versions
	uv pip install --quiet --python .venv-versions --resolution $(RESOLUTION) -e . $(VERSIONS)
	uv pip install --quiet --python .venv-versions --group dev
	$$(ls .venv-versions/bin/python .venv-versions/Scripts/python.exe 2>/dev/null) -m pytest -n 3 \
		--dist worksteal -m "not slow" --ignore=tests/docs

PLUGINS := pytest-asyncio pytest-randomly pytest-rerunfailures pytest-timeout pytest-cov pytest-sugar pytest-html \
	pytest-order pytest-repeat pytest-bdd allure-pytest

test-plugins: ## Test beside the plug-ins that people have (needs uv).
	uv venv --quiet --clear --python $(PYTHON) .venv-versions
	uv pip install --quiet --python .venv-versions -e . --group dev $(PLUGINS)
	.venv-versions/bin/python -m pytest -m slow tests/plugin/test_neighbours.py \
		-p no:asyncio -p no:randomly -p no:sugar

dist: ## Build sdist and wheel with an SBOM, and run both in bare environments (needs uv).
	rm -rf dist
	uv build --quiet --out-dir dist
	for built in dist/*.whl dist/*.tar.gz; do \
		uv venv --quiet --clear --python $(PYTHON) dist/bare && \
		uv pip install --quiet --python dist/bare/bin/python "$$built" && \
		mkdir -p dist/project && (cd dist/project && ../bare/bin/rageval init >/dev/null && \
			../bare/bin/python -m pytest -q evals) || exit 1; \
		rm -rf dist/project; \
	done
	uvx --quiet --from "cyclonedx-bom<8" cyclonedx-py environment --output-file dist/sbom.json dist/bare/bin/python
	sed -i.bak 's#file://[^"]*/##' dist/sbom.json && rm dist/sbom.json.bak
	rm -rf dist/bare

audit: $(STAMP) ## Check security rules, and look up known vulnerabilities of the locked dependencies (needs uv).
	$(BIN)/ruff check .
	uvx --quiet "pip-audit<3" --disable-pip --require-hashes -r .ci/requirements.txt

mutants: $(STAMP) ## Change functions in small ways, and say which changes their tests do not notice.
	nice $(BIN)/python -m benchmarks.mutants

instructions: $(STAMP) ## Count what one more case costs in instructions, and compare it with its limit (needs valgrind).
	RAGEVAL_COUNT_INSTRUCTIONS=1 $(BIN)/python -m pytest -q -m slow tests/benchmarks/test_instructions.py

# The plugin is loaded before pytest-cov could start, so coverage starts pytest.
coverage: $(STAMP) ## Say which lines the tests reach, one test after the other.
	$(BIN)/coverage run -m pytest
	$(BIN)/coverage report

# The sources are copied, so that pages made from the code are not among those written by hand.
docs: $(STAMP) ## Build the documentation as a site in build/docs; a warning is an error.
	$(BIN)/python -m docs.site build/docs-sources
	$(BIN)/python -m sphinx -W --keep-going -q -E -b html build/docs-sources build/docs

pictures: $(STAMP) ## Take the pictures of the docs again (needs chromium).
	$(BIN)/python -m tests.docs.pictures

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
	rm -rf $(VENV) .venv-* .coverage build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis evals/cache
