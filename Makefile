# Satchel's only runner. `make help` lists the targets; `make check` is most of what CI runs.
GO        ?= go
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.7.0
EVAL_DATA ?= ../shared/eval/dev
MEASURED ?= locomo,beam100k,longmemeval-mini,memdaily-zh,bfcl-memory,bfcl-tools,metatool,cosqa,scifact,git-river-changelog
SET       ?= locomo
FUZZTIME  ?= 10s
CRASHTIME ?= 10m
CASES     ?= 10000
BESIDE    ?= locomo scifact beam100k
RACED     ?= ^$$
SKIP      ?= ^$$
MAX       ?= 150
ITEMS     ?= 2000
ENCODER   ?= bin/encoder
OUT       ?= bin/browser/pictures
TARGETS   ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
BESIDETEST = SATCHEL_TEST_REQUIRE=postgres,neo4j $(GO) test -count=1 -timeout 1h -v -run TestServersBeside ./cmd/satchel-lab
DRIVERS   ?= ./pipeline/store/... ./pipeline/model/... ./policies/... ./jetstream

.DEFAULT_GOAL := help

.PHONY: reference long attack measurements observe observe-all help check test race lint vet properties golden opa bench eval rot fuzz crash workers scaling evalservers benchservers demo build adherence browser hooks conformance schemathesis drivers encoder python typescript publish dist release

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

build: ## satchel and satchel-lab, stripped, in bin/
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w' -o bin/ ./cmd/satchel ./cmd/satchel-lab

demo: ## the first thing to run
	$(GO) run ./cmd/satchel demo

test: ## every test but the long ones; what has no server or tool for it says so and is skipped
	$(GO) test ./...

# The long tests of the packages that race leaves out.
LONG = $$(grep -hB1 -E 'parts.Long\(t|longKill\(t' test/attack/*_test.go test/e2e/*_test.go test/fault/*_test.go | sed -n 's/^func \(Test[A-Za-z0-9]*\)(.*/\1/p' | paste -sd '|')

long: ## the tests that take long, which the plain run skips; race runs those of the other packages
	SATCHEL_TEST_REQUIRE=$${SATCHEL_TEST_REQUIRE:+$$SATCHEL_TEST_REQUIRE,}long $(GO) test -count=1 -timeout 25m -run "^($(LONG))$$" -skip '$(SKIP)' ./test/attack ./test/e2e ./test/fault
	SATCHEL_TEST_REQUIRE=long,time $(GO) test -count=1 -p 1 -run WorkGrows ./test/growth ./cmd/internal/importer/source

race: ## every test, long ones too, with the race detector, in random order, but those that read sources, count allocations or drive the binary, which has no detector, and those of RACED
	SATCHEL_TEST_REQUIRE=$${SATCHEL_TEST_REQUIRE:+$$SATCHEL_TEST_REQUIRE,}long $(GO) test -race -shuffle=on -timeout 25m $$($(GO) list ./... | grep -vE '/test/(arch|attack|e2e|fault|growth|observe|release)$$' | grep -vE '$(RACED)')

vet: ## gofmt, go vet, module tidiness, other architectures
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "not gofmt-clean"; exit 1; }
	$(GO) vet ./...
	$(GO) mod tidy -diff
	GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./pipeline/infra/vecmath ./pipeline/model/...

lint: ## staticcheck, with the exceptions of staticcheck.conf
	$(GO) run $(STATICCHECK) ./...

fuzz: ## every fuzz target for FUZZTIME each
	@$(GO) list -f '{{.Dir}}' ./... | while read -r d; do \
		grep -hoE '^func (Fuzz[A-Za-z0-9_]+)' $$d/*_test.go 2>/dev/null | awk '{print $$2}' | while read -r f; do \
			echo "$$d $$f"; (cd $$d && $(GO) test -run='^$$' -fuzz="^$$f$$" -fuzztime=$(FUZZTIME) .) || exit 1; \
		done || exit 1; done

reference: ## the tables of docs/reference, as the code has them
	SATCHEL_GOLDEN=write $(GO) test -count=1 -run '^(Test[A-Za-z]*Reference|TestSavings)$$' ./cmd/satchel ./cmd/satchel-lab ./emitters/gateway ./deploy/observability/gen ./pipeline/relevance ./pipeline/op

bench: build ## latency, throughput, restart and memory on a generated corpus
	bin/satchel-lab bench

eval: build ## retrieval and packs on labelled data: EVAL_DATA=folder SET=name
	bin/satchel-lab eval --data $(EVAL_DATA) --set $(SET)

measurements: build ## docs/measurements.md, anew: EVAL_DATA=folder
	$(GO) run ./test/measurements test/talk test/held $(EVAL_DATA):$(MEASURED) > docs/measurements.md.new && mv docs/measurements.md.new docs/measurements.md

rot: build ## packs as the history grows and distractors are planted, against test/golden/rot.json; docs/reference/rot.md says how to accept new figures
	bin/satchel-lab rot --sizes 1000,10000 --max 60 --seeds 1 --check test/golden/rot.json --out bin/rot

crash: ## kill -9 the real binary for CRASHTIME and check that nothing is lost or doubled
	SATCHEL_CRASH_TIME=$(CRASHTIME) $(GO) test -count=1 -timeout 2h -v -run TestKill ./test/fault

workers: ## the table of scaling, then kill -9 one of 2 and of 4 workers every second for two minutes each, 32 tenants
	SATCHEL_BENCH=1 SATCHEL_CRASH_TIME=2m $(GO) test -count=1 -timeout 1h -v -run 'TestBenchWorkers|TestKillWorkers' ./test/fault

scaling: ## 1, 2 and 4 workers over one NATS cluster and one Postgres, 32 tenants: one table
	SATCHEL_BENCH=1 $(GO) test -count=1 -timeout 1h -v -run TestBenchWorkers ./test/fault

evalservers: ## satchel-lab eval --beside on servers that it starts: EVAL_DATA=folder BESIDE="locomo scifact beam100k" MAX=150
	SATCHEL_BESIDE="eval --data $(abspath $(EVAL_DATA)) --beside --max $(MAX) $(addprefix --set=,$(BESIDE))" $(BESIDETEST)

benchservers: ## satchel-lab bench --beside on servers that it starts
	SATCHEL_BESIDE="bench --items $(ITEMS) --requests 60 --runs 1 --rate 100 --beside" $(BESIDETEST)

encoder: ## the sentence encoder against ONNX Runtime, which it installs into ENCODER; COUNT texts, PIECES strings
	test/encoderref/check.sh $(ENCODER)

python: build ## the adapters for agent frameworks against the frameworks, which it installs into bin/python; docs in emitters/python
	SATCHEL_TEST_BINARY=$(abspath bin/satchel) emitters/python/tests/adapters/test.sh bin/python

typescript: build ## middleware and tools for the AI SDK against the SDK, which it installs into bin/typescript; it needs npm
	mkdir -p bin/typescript && cp emitters/typescript/test/ai/package.json emitters/typescript/test/ai/package-lock.json bin/typescript
	cd bin/typescript && { cmp -s package-lock.json installed || { npm ci --silent --no-audit --no-fund && cp package-lock.json installed; }; }
	rm -rf bin/typescript/package && cp -r emitters/typescript bin/typescript/package && rm bin/typescript/package/test/ai/package*
	cd bin/typescript && node_modules/.bin/tsc -p package/test/ai
	cd bin/typescript && SATCHEL_TEST_BINARY=$(abspath bin/satchel) node_modules/.bin/node --test package/test/ai/ai.test.js

publish: ## a Go module that Go can download: MODULE=example.com/you/satchel VERSION=v0.9.0, into dist/goproxy
	git diff --quiet HEAD || { echo "commit first: a module is made of a commit"; exit 1; }
	$(GO) run ./deploy/release publish dist/goproxy $(MODULE) $(VERSION)

dist: ## wheel, sdist and npm package into dist/, then the README's snippets against them; it needs Python and npm
	rm -f dist/*.whl dist/*.tar.gz dist/*.tgz
	deploy/release/packages.sh dist
	SATCHEL_TEST_DIST=$(abspath dist) SATCHEL_TEST_REQUIRE=dist,git $(GO) test -count=1 ./test/release

release: ## the programs for TARGETS, packages, image, SBOMs and sums signed by KEY, a file outside the tree: VERSION=0.9.0
	deploy/release/release.sh "$(VERSION)" "$(KEY)" $(TARGETS)

properties: ## CASES cases of each property of selection, packs, compaction and policy
	GOGC=400 $(GO) test -count=1 -timeout 30m ./pipeline/selection ./pipeline/pack ./pipeline/relevance ./pipeline/compaction -rapid.checks=$(CASES)
	GOGC=400 $(GO) test -count=1 -timeout 30m -run TestConformance//filter ./policies/opa -rapid.checks=$(CASES)

opa: ## decisions embedded, remote and cached against a real OPA process, 100 items
	GOGC=400 SATCHEL_TEST_REQUIRE=opa $(GO) test -count=1 -timeout 10m -v -run TestOPAProcess ./policies/opa/remote

attack: ## every cell of the attack matrix: operations, principals, fields, states, changes, erasure, damage
	SATCHEL_TEST_ATTACK=all $(GO) test -count=1 -timeout 20m -v ./test/attack

observe: ## boards, rules and runbook as the tables say, promtool's tests, and alerts by their faults; prometheus and promtool have to be on the path
	$(GO) run ./deploy/observability/gen && git diff --exit-code deploy/observability
	SATCHEL_TEST_REQUIRE=prometheus $(GO) test -count=1 -timeout 15m ./deploy/observability/... ./pipeline/meter/... ./test/observe

observe-all: ## every alert by its fault on real processes, with Prometheus as for observe; a small disk only where one can be mounted
	SATCHEL_TEST_OBSERVE=all SATCHEL_TEST_REQUIRE=prometheus,opa $(GO) test -count=1 -timeout 40m -v -run 'TestAlerts|TestEveryAlertHasAFault' ./test/observe

golden: ## accept a changed ranking: rewrite test/golden/testdata/golden.tsv
	SATCHEL_GOLDEN=write SATCHEL_TEST_REQUIRE=long $(GO) test -count=1 ./test/golden

adherence: ## 10,000 generated requests against their token budgets
	SATCHEL_PACK_REQUESTS=10000 $(GO) test -count=1 -timeout 20m -v -run TestBudgetAdherence ./pipeline/op

conformance: ## the official suite of the Model Context Protocol against the binary; it needs npm, and installs the suite into bin/mcp
	mkdir -p bin/mcp && cp test/mcp/package.json test/mcp/package-lock.json bin/mcp
	cmp -s bin/mcp/package-lock.json bin/mcp/installed || (cd bin/mcp && npm ci --silent --no-audit --no-fund && cp package-lock.json installed)
	SATCHEL_TEST_MCP_SUITE=$(abspath bin/mcp) SATCHEL_TEST_REQUIRE=mcp-suite $(GO) test -count=1 ./test/mcp

hooks: ## 200 prompts and tool calls through satchel-hook on 10,000 items, against their budgets; 50 calls while satchel up is away
	SATCHEL_TEST_HOOK_ITEMS=10000 $(GO) test -count=1 -timeout 15m -v -run TestHooks ./test/e2e

browser: ## every page of the console in Chromium, wide and narrow, light and dark; it needs npm, and writes pictures into OUT
	mkdir -p bin/browser && cp test/browser/package.json test/browser/package-lock.json test/browser/pages.mjs bin/browser
	cmp -s bin/browser/package-lock.json bin/browser/installed || (cd bin/browser && npm ci --silent --no-audit --no-fund && cp package-lock.json installed)
	SATCHEL_TEST_BROWSER=$(abspath bin/browser) SATCHEL_TEST_REQUIRE=browser OUT=$(abspath $(OUT)) $(GO) test -count=1 -v ./test/browser

schemathesis: ## requests made from the OpenAPI document against the binary; it needs Python, and installs schemathesis into bin/schemathesis
	test -x bin/schemathesis/bin/schemathesis || python3 -m venv bin/schemathesis
	bin/schemathesis/bin/pip install --quiet --requirement test/schemathesis/requirements.txt
	SATCHEL_TEST_SCHEMATHESIS=$(abspath bin/schemathesis/bin/schemathesis) SATCHEL_TEST_REQUIRE=schemathesis $(GO) test -count=1 -timeout 30m -v ./test/schemathesis

drivers: ## every driver's conformance suite: driver, subtest, what became of it; servers must be there
	@SATCHEL_TEST_REQUIRE=$${SATCHEL_TEST_REQUIRE:-postgres,neo4j,opa} $(GO) test -count=1 -v -run 'Conformance$$|Suite$$' $(DRIVERS) 2>&1 | awk -f test/conformance.awk

check: vet lint race properties adherence ## most of what CI runs after the plain tests
