# One command for each thing you do here; `make` alone lists them.
# Needs Python 3.11 or newer and make. Everything else goes into .venv, pinned and checked by hash.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VENV := .venv
BIN := $(VENV)/bin

RUN := $(BIN)/everloop serve
BENCH := $(BIN)/python -m bench
MILLION := recall-all-1000000 recall-scope-1000000 recall-witness-1000000 recall-growth-1000000
DOCS := $(BIN)/python -m docs.generate
# `logical`: with psutil installed, `auto` would count physical cores only.
# A test that fails is run once more, and the summary names it: on a busy machine a wait can be too short.
PYTEST := $(BIN)/pytest -n logical --maxprocesses 8 --dist loadgroup --reruns 1
CORE := tests/test_settings.py tests/log/test_contract.py tests/memory/model tests/lessons/gate tests/thread/model
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" \
	$(if $(UPGRADE),--upgrade)

# Trust what the machine trusts: behind a company's proxy the built-in list of certificates is not enough.
export UV_SYSTEM_CERTS ?= 1

say = @printf '\033[1m→ %s\033[0m\n' $(1)

.PHONY: help setup web dev api run test newest browser check fix bench bench-recall bench-daily bench-peers soak cover docs dist kube lock clean

help:  ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s  %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.project  ## Make .venv with everything in it (the others call this)
	@echo ".venv is ready"

web: setup src/everloop/web/index.html  ## Build the web pages into the package, if they changed

dev: setup web/node_modules/.package-lock.json  ## The engine and the web pages with hot reload, in a home of their own (DEV="--pages 5174 …")
	$(call say,"the engine and the pages: open the link below")
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python web/dev.py $(DEV)

api: web/node_modules/.package-lock.json  ## Write the web pages' typed client again, from the engine's own description
	$(call say,"web/openapi.json and its types")
	@$(BIN)/python web/openapi.py
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm run --silent api

run: setup web  ## Serve your data home to a browser on this machine, and print the address
	$(call say,"$(RUN)")
	@$(RUN)

test: check web browser  ## Check, then run the tests
	$(call say,"tests")
	@$(PYTEST) --durations 10 --durations-min 0.5
	@$(MAKE) --no-print-directory newest

newest: setup  ## Run a core part of the tests under the newest Python on this machine, if it is newer than that of .venv
	@newest=; own="$$($(BIN)/python -c 'import sys; print(sys.version_info[1])')"; \
	for one in python3.14 python3.13 python3.12 $$(ls -d "$$HOME"/.pyenv/versions/3.1[2-9]*/bin/python 2>/dev/null | sort -rV); do \
		minor="$$("$$one" -c 'import sys; print(sys.version_info[1])' 2>/dev/null || true)"; \
		if [ -n "$$minor" ] && [ "$$minor" -gt "$$own" ]; then newest="$$one"; break; fi; done; \
	if [ -z "$$newest" ]; then echo "no newer Python than 3.$$own on this machine: the core tests ran under that one only"; exit 0; fi; \
	printf '\033[1m→ core tests under %s\033[0m\n' "$$("$$newest" --version)"; \
	$(BIN)/uv venv --quiet --clear --python "$$newest" .venv-newest; \
	$(BIN)/uv pip sync --quiet --python .venv-newest/bin/python --require-hashes requirements/dev.lock.txt; \
	PYTHONPATH=src .venv-newest/bin/python -m pytest -q -p no:cacheprovider $(CORE)

browser:  # Debian's chromium and bubblewrap, for tests of the pages and the sandbox; without them those are skipped
	@for one in chromium:chromium bwrap:bubblewrap; do \
		program="$${one%%:*}"; package="$${one##*:}"; \
		if command -v "$$program" > /dev/null; then continue; fi; \
		if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
			printf '\033[1m→ %s, by apt-get\033[0m\n' "$$package"; \
			{ apt-get update -qq || true; } > /dev/null 2>&1; \
			DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$$package" > /dev/null \
				|| echo "$$package could not be installed: its tests are skipped"; \
		else echo "no $$program: its tests are skipped (Debian: apt install $$package)"; fi; done

check: setup web/node_modules/.package-lock.json  ## Format, lint, types, import contracts; changes nothing
	$(call say,"format: ruff format --check")
	@$(BIN)/ruff format --check .
	$(call say,"lint: ruff check")
	@$(BIN)/ruff check .
	$(call say,"types: mypy")
	@$(BIN)/mypy
	$(call say,"types: basedpyright")
	@$(BIN)/basedpyright
	$(call say,"import contracts: lint-imports")
	@$(BIN)/lint-imports --no-logo
	$(call say,"web: types and lint and unit tests")
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" && npm run --silent check && npm run --silent lint && npm test --silent

fix: setup  ## Format, and mend what the linter can mend by itself
	$(call say,"ruff format and ruff check --fix")
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

bench: setup  ## Measure speed against bare loops and a peer, in one run
	$(call say,"$(BENCH)")
	@$(BENCH)

bench-recall: setup  ## Measure how well recall finds, on DATA=path of the LoCoMo or BEAM shape (MODE=text: words alone)
	@test -n "$(DATA)" || { echo "Say on what: make bench-recall DATA=path/to/file.json"; exit 2; }
	$(call say,"$(BENCH).recall $(DATA)")
	@OPENBLAS_NUM_THREADS=1 $(BENCH).recall "$(DATA)" --mode $(or $(MODE),hybrid)

bench-daily: setup  ## Measure how well recall serves everyday talk, on dialogues of our own (MODE=text: words alone)
	$(call say,"$(BENCH).daily")
	@OPENBLAS_NUM_THREADS=1 $(BENCH).daily --mode $(or $(MODE),hybrid)

bench-peers: setup  ## Install memory's peers for make bench (700 MB; PEERS_PYTHON: one whose sqlite3 loads extensions)
	$(call say,".venv-peers")
	@$(BIN)/uv venv --quiet --clear --python $(or $(PEERS_PYTHON),python3) .venv-peers
	@$(BIN)/uv pip install --quiet --python .venv-peers/bin/python langgraph-checkpoint-sqlite chromadb mem0ai

soak: setup  ## The long tests: kills, faults, many rounds (minutes to hours)
	$(call say,"soak tests")
	@SOAK=1 $(PYTEST) -m soak --timeout 7200 --durations 10
	$(call say,"recall among a million items")
	@OPENBLAS_NUM_THREADS=1 $(BENCH) $(MILLION)
	$(call say,"a real language model (MODEL_URL=... with /v1; skipped where none is served)")
	@$(BENCH).real_model $(if $(MODEL_URL),--url "$(MODEL_URL)")

cover: setup  ## Run the tests and show which lines and branches they miss
	$(call say,"tests under coverage")
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n logical --maxprocesses 8 --dist loadgroup --quiet
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

docs: setup  ## Write the generated reference pages again
	$(call say,"$(DOCS)")
	@$(DOCS)

dist: setup web  ## Build wheel and sdist with the web pages inside, into dist/
	$(call say,"dist: wheel and sdist")
	@rm -rf dist && $(BIN)/python -m hatchling build -d dist -t sdist -t wheel
	@ls -sh dist

# `nice`, and a few processes at a time: a million lines of Go.
kube:  ## Build etcd and the control plane of Kubernetes, for the tests of Jobs (needs Go 1.26; 11 minutes on two busy cores)
	$(call say,"build/kube: etcd; kube-apiserver; kube-controller-manager")
	@mkdir -p build/kube
	@cd tests/workers/kubernetes/binaries && nice -n 19 go build -p $(or $(JOBS),2) -trimpath -o ../../../../build/kube \
		-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes)" ./...

# Every extra of pyproject.toml but two, whose comments there say why they are not in the lock.
LOCKED_EXTRAS = $(shell $(BIN)/python -c 'import tomllib; print(*(f"--extra {name}" \
	for name in tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"] \
	if name not in ("hub", "local")))')

lock: $(VENV)/.uv $(VENV)/.dependencies  ## Pin the dependencies again (UPGRADE=1: to the newest)
	$(call say,"requirements/uv.lock.txt")
	@cp requirements/uv.lock.txt requirements/.uv.lock.txt
	@echo uv | $(COMPILE) --output-file requirements/.uv.lock.txt -
	@cmp -s requirements/.uv.lock.txt requirements/uv.lock.txt \
		&& rm requirements/.uv.lock.txt || mv requirements/.uv.lock.txt requirements/uv.lock.txt
	$(call say,"requirements/dev.lock.txt")
	@$(COMPILE) --output-file requirements/dev.lock.txt $(LOCKED_EXTRAS) --group dev pyproject.toml
	$(call say,"web/package-lock.json")
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --package-lock-only --ignore-scripts
	@$(BIN)/python web/lock.py
	@if grep -nE '://|--(extra-)?index-url|--find-links' requirements/*.lock.txt web/package-lock.json; then \
		echo "A lock file carries an address (above); it must not."; exit 1; fi
	@$(MAKE) --no-print-directory setup web/node_modules/.package-lock.json
	$(call say,"THIRD_PARTY_LICENSES")
	@$(BIN)/python -m docs.licenses

clean:  ## Remove .venv and all that was built
	$(call say,"removing .venv and all that was built")
	@rm -rf $(VENV) build dist htmlcov .coverage .coverage.* \
		.hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find src tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# --- The steps of `make setup`; each is done again only when what it depends on changed -----------

# A name on PATH may be an empty shim, so each candidate is asked for its version.
$(VENV)/.uv: requirements/uv.lock.txt
	@python=; for name in $(PYTHON) python3.13 python3.12 python3.11 python3 python; do \
		if "$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; \
		then python=$$name; break; fi; done; \
	if [ -z "$$python" ]; then \
		echo "Everloop needs Python 3.11 or newer, and none was found on PATH."; \
		echo "Install one (Debian: apt install python3 python3-venv), or name it: make setup PYTHON=/path/to/python3"; \
		exit 1; fi; \
	if ! "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
		echo "$$python has no venv module. On Debian and Ubuntu: apt install python3-venv"; exit 1; fi; \
	printf '\033[1m→ setup 1/3: %s\033[0m\n' "$(VENV) with $$("$$python" --version), and uv to install the rest"; \
	rm -rf $(VENV); "$$python" -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		--requirement requirements/uv.lock.txt
	@touch $@

# uv is fast but knows nothing of pip's settings (a local index, a folder of wheels): where uv fails, pip tries.
$(VENV)/.dependencies: requirements/dev.lock.txt $(VENV)/.uv
	$(call say,"setup 2/3: locked dependencies (a few hundred MB: up to a minute the first time)")
	@$(BIN)/uv pip sync --python $(BIN)/python --require-hashes --compile-bytecode requirements/dev.lock.txt 2>&1 \
		| awk '!/^ \+ / {print; fflush()}' || { \
		echo "uv could not install them; trying again with pip, which is slower"; \
		$(BIN)/python -m pip install --disable-pip-version-check --require-hashes \
			--requirement requirements/dev.lock.txt; }
	@touch $@

$(VENV)/.project: pyproject.toml $(VENV)/.dependencies
	$(call say,"setup 3/3: everloop itself (editable)")
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

# --- The web pages: built again only when what they are made of changed ----------------------------

WEB_SOURCES := $(shell find web/src web/static -type f 2>/dev/null) \
	web/package.json web/svelte.config.js web/vite.config.ts web/tsconfig.json

web/node_modules/.package-lock.json: web/package-lock.json $(VENV)/.dependencies
	$(call say,"web: npm ci")
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" npm ci --loglevel error --no-audit --no-fund --no-progress --no-update-notifier --ignore-scripts >/dev/null
	@touch $@

src/everloop/web/index.html: $(WEB_SOURCES) web/node_modules/.package-lock.json
	$(call say,"web: build (half a minute)")
	@cd web && PATH="$(CURDIR)/$(BIN):$$PATH" && \
		told=$$(npm run --silent build -- --logLevel error 2>&1) || { echo "$$told"; exit 1; }
	@rm -rf src/everloop/web && cp -r web/build src/everloop/web
