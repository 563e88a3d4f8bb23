# Everything a developer does here; `make help` lists it.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME    ?= 10s
# Modules beside the root one: examples, client tests, benchmarks.
MODULES     := $(patsubst %/go.mod,%,$(shell find examples test bench -name go.mod -not -path '*/node_modules/*' 2>/dev/null))
NODE        := $(patsubst %/package-lock.json,%,$(shell find test web/src -name package-lock.json -not -path '*/node_modules/*' 2>/dev/null))
BROWSERS    := chromium chromium-browser google-chrome

.DEFAULT_GOAL := help
.PHONY: help run test test-deps test-race lint generate generate-check fuzz-smoke bench cover

help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 16

run: ## serve on http://127.0.0.1:8080
	go run ./cmd/server

test: test-deps ## install what the tests need and pass them all
	go test ./...
	@set -e; for m in $(MODULES); do echo "cd $$m && go test ./..."; (cd $$m && go test ./...); done

test-deps: # a C compiler for SQLite, a browser for the console's tests, the clients' packages
	@for c in cc gcc clang; do command -v $$c >/dev/null && exit 0; done; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -yq --no-install-recommends gcc libc6-dev; \
	  else echo "install a C compiler: the database driver needs one" >&2; exit 1; fi
	@for b in $(BROWSERS); do command -v $$b >/dev/null && exit 0; done; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -yq --no-install-recommends chromium; \
	  else echo "install chromium: the console's tests drive a browser" >&2; exit 1; fi
	@command -v sqlite3 >/dev/null && exit 0; \
	  if [ "$$(id -u)" = 0 ]; then apt-get update -q && apt-get install -yq --no-install-recommends sqlite3; \
	  else echo "install sqlite3: the auditor's tests ask as an auditor does" >&2; exit 1; fi
	@set -e; for n in $(NODE); do [ $$n/node_modules/.package-lock.json -nt $$n/package-lock.json ] || \
	  (echo "cd $$n && npm ci" && cd $$n && npm ci --no-audit --no-fund --loglevel=error); done

test-race: ## the root module's tests with the race detector
	go test -race ./...

lint: ## gofmt, go vet and staticcheck
	@out="$$(gofmt -l $$(find . -name '*.go' -not -name '*_templ.go' -not -path '*/node_modules/*'))"; \
	  [ -z "$$out" ] || { echo "gofmt these files:"; echo "$$out"; exit 1; }
	go vet ./...
	go run $(STATICCHECK) ./...
	@set -e; for m in $(MODULES); do echo "cd $$m && go vet ./..."; (cd $$m && go vet ./...); done

generate: ## rebuild what is generated and committed: templates, vendored scripts
	go generate ./...

generate-check: generate ## fail when a generated file was not committed
	git diff --exit-code

fuzz-smoke: ## run every fuzz target for FUZZTIME
	@set -e; for f in $$(grep -rlE --include='*_test.go' '^func Fuzz' core store console cmd policies 2>/dev/null); do \
	  for n in $$(sed -nE 's/^func (Fuzz[A-Za-z0-9_]*)\(.*/\1/p' $$f); do \
	    echo "$$f $$n"; go test ./$$(dirname $$f) -run '^$$' -fuzz "^$$n$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x; \
	  done; done

bench: ## benchmarks of the hot path's parts
	go test -run '^$$' -bench . -benchmem ./core/...
	@if [ -x bench/run ]; then bench/run; fi

cover: ## coverage of the root module by function, and in total
	go test -coverprofile=cover.out -coverpkg=./... ./...
	go tool cover -func=cover.out | tail -n 1
