# Griffin. "make help" lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN     := .build/bin

# The time of one fuzz target, and where the pinned tools of tools/go.mod go. On a machine
# on which make test would take more than TESTTIME (in seconds) with that, it gives each
# target less: continuous integration has a limit of 20 minutes.
FUZZTIME ?= 5s
TESTTIME ?= 1080
TOOLS    := $(BIN)/golangci-lint $(BIN)/gofumpt $(BIN)/gotestsum

# A tool that a test needs and does not find is a failure under make test, not a skip.
# Without a limit of its own go test ends a package after 10 minutes, which a slow machine may need.
TEST := GRIFFIN_REQUIRE_BROWSER=1 $(BIN)/gotestsum --format pkgname --format-hide-empty-pkg -- -timeout 30m

# Packages whose kernels are tested once more under the address sanitizer.
KERNEL_FAMILIES := decode devicetest direct fastpath intersect para pipeline scoring selection

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/griffin
	go build -trimpath -o bin/griffin ./cmd/griffin

.PHONY: demo
demo: build ## build, index the documentation and source of Go, and search it
	bin/griffin demo

.PHONY: test
test: ## everything that continuous integration checks (about 13 minutes on 2 cores)
	@SECONDS=0; \
	.ci/setup; \
	for stage in lint unit race; do $(MAKE) --no-print-directory $$stage; done; \
	$(MAKE) --no-print-directory fuzz FUZZTIME=$$(.ci/fuzz --within $$(($(TESTTIME) - SECONDS - SECONDS / 6)) $(FUZZTIME)); \
	echo "make test: all passed"

.PHONY: test-short
test-short: ## unit tests without the slow ones, seconds
	go test -short -tags invariants ./...

.PHONY: unit
unit: $(BIN)/gotestsum ## unit tests of all modules, invariants checked
	$(TEST) -tags invariants ./...
	$(TEST) -tags noasm ./codec/... ./internal/simd/... ./internal/traverse/...
	$(TEST) -run Alloc ./internal/exec ./internal/saat ./internal/traverse
	$(TEST) -short -exec '$(CURDIR)/.ci/asan' $(KERNEL_FAMILIES:%=./internal/gpu/%)
	cd tools && go test ./...
	$(MAKE) --no-print-directory -C bench/peers test

.PHONY: race
race: $(BIN)/gotestsum ## tests under the race detector, without the slow ones
	CGO_ENABLED=1 $(TEST) -race -short ./...

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (5s)
	@.ci/fuzz $(FUZZTIME)

.PHONY: lint
lint: $(TOOLS) tidy-check generate-check kernels-check ## formatting, vet (also arm64), golangci-lint, go.mod, generated files, kernels
	@out=$$($(BIN)/gofumpt -l $$(git ls-files -co --exclude-standard '*.go')); \
		[ -z "$$out" ] || { echo "not formatted (make fmt):"; echo "$$out"; exit 1; }
	go vet ./...
	go vet -tags invariants ./...
	go vet -tags nogpu ./...
	GOARCH=arm64 go vet ./...
	$(BIN)/golangci-lint run ./...
	cd tools && ../$(BIN)/golangci-lint run ./...
	cd tools/asm && go vet ./... && ../../$(BIN)/golangci-lint run ./...
	cd bench/peers && ../../$(BIN)/golangci-lint run ./...

.PHONY: fmt
fmt: $(BIN)/gofumpt ## format all Go files, kernels and the emulator
	$(BIN)/gofumpt -w $$(git ls-files -co --exclude-standard '*.go')
	clang-format-19 -i $$(git ls-files -co --exclude-standard '*.cu' '*.cuh' '*.cpp' '*.hpp')

.PHONY: kernels
kernels: ## compile the GPU kernels to internal/gpu/*/image/*.ptx (FAMILY=… for some; needs clang-19)
	@.ci/kernels $(FAMILY)

.PHONY: kernels-check
kernels-check: ## the GPU kernels are formatted, and their images are what make kernels writes
	@clang-format-19 --dry-run --Werror $$(git ls-files -co --exclude-standard '*.cu' '*.cuh' '*.cpp' '*.hpp')
	@.ci/kernels --check

.PHONY: generate
generate: ## write generated files anew
	go generate ./...
	go test -run '^TestFuzzTargetsAreRun$$' ./internal/arch -update

# Generates into a copy of the tree and compares, so that the check never changes a file here.
.PHONY: generate-check
generate-check:
	@rm -rf .build/generate && mkdir -p .build/generate
	@git ls-files -co --exclude-standard -z | xargs -0 cp --parents -t .build/generate
	@cd .build/generate && go generate ./...
	@git ls-files -co --exclude-standard | while read -r f; do \
		cmp -s "$$f" ".build/generate/$$f" || { echo "$$f is not what go generate writes (make generate)"; exit 1; }; done
	@rm -rf .build/generate

.PHONY: tidy-check
tidy-check: ## go.mod and go.sum are what go mod tidy writes
	go mod tidy -diff
	go -C tools mod tidy -diff
	go -C tools/asm mod tidy -diff
	go -C bench/peers mod tidy -diff

.PHONY: pictures
pictures: build ## take the pictures of the documents anew (needs Chromium)
	rm -rf .build/demo.idx
	cd .build && ../bin/griffin demo --out demo.idx --color always 2>/dev/null | go -C ../tools run ./termsvg -command 'make demo' -columns 108 -lines 35 >demo.svg
	mv .build/demo.svg docs/images/demo.svg
	go test ./internal/server -run '^TestPictures$$' -count 1 -update

.PHONY: bench
bench: ## Go benchmarks of all packages; compare two outputs with .build/bin/benchstat
	go test -run '^$$' -bench . -benchmem -count 1 ./...

.PHONY: bench-codecs
bench-codecs: ## decode speed of all codecs (INDEX=… for its lists too), into docs/benchmarks
	go run ./bench/codecs $(if $(INDEX),-index $(INDEX)) -commit "$$(git describe --always --dirty)" \
		-json docs/benchmarks/codecs.json -markdown docs/benchmarks/codecs.md

.PHONY: device-bundle
device-bundle: ## all that a machine with a GPU needs, into .device: binaries, tests, a base index, bench/gpu/run
	bench/gpu/bundle $(or $(DATA),../shared/data) .device

.PHONY: cover
cover: ## test coverage as .build/cover.html
	@mkdir -p .build
	go test -short -coverpkg=./... -coverprofile=.build/cover.out ./...
	go tool cover -html=.build/cover.out -o .build/cover.html
	@go tool cover -func=.build/cover.out | tail -1

.PHONY: tools
tools: $(TOOLS) $(BIN)/benchstat ## build the pinned tools of tools/go.mod

$(BIN)/golangci-lint: tools/go.mod
	@echo "building golangci-lint (a minute or two, once)"
	@go -C tools build -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(BIN)/gofumpt: tools/go.mod
	@go -C tools build -o ../$@ mvdan.cc/gofumpt
$(BIN)/gotestsum: tools/go.mod
	@go -C tools build -o ../$@ gotest.tools/gotestsum
$(BIN)/benchstat: tools/go.mod
	@go -C tools build -o ../$@ golang.org/x/perf/cmd/benchstat
