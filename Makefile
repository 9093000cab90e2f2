# Griffin. "make help" lists the targets.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

BIN     := .build/bin

# Time of a target in make fuzz, and seconds of all targets together in make test.
FUZZTIME    ?= 5s
FUZZSECONDS ?= 30
TOOLS    := $(BIN)/golangci-lint $(BIN)/gofumpt $(BIN)/gotestsum

# A tool that a test needs and does not find is a failure under make test, not a skip.
# Without a limit of its own go test ends a package after 10 minutes, which a slow machine may need.
# Some packages wait for servers and clocks much of the time: one more than processors run.
TEST := GRIFFIN_REQUIRE_BROWSER=1 $(BIN)/gotestsum --format pkgname --format-hide-empty-pkg -- -timeout 30m -p $$(($$(nproc) + 1))

# For tests of a build that make lint or make cross has vetted.
VETTED := -vet=off

# Packages whose kernels are tested once more under the address sanitizer.
KERNEL_FAMILIES := gpu/decode gpu/devicetest gpu/imagesearch gpu/packedsearch gpu/pipeline gpu/residency papers/decoders papers/griffin18 papers/para papers/intersect papers/scoring papers/selection
# Tests of faults and goroutines: they start the kernels that the other tests start.
SAME_KERNELS := 'Faults|Truncated|Promot|Concurrent'

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# grpcnotrace: a library of buckets imports grpc, whose pages of traces make the linker keep every method: 14 MB.
.PHONY: build
build: ## build bin/griffin
	go build -trimpath -tags grpcnotrace -o bin/griffin ./cmd/griffin

# Without the lab, plots, buckets and HTTP/2, and stripped; TestSmallBuild checks the size.
.PHONY: build-small
build-small: ## build bin/griffin without the lab, plots and buckets, stripped: below 24.7 MB
	go build -trimpath -tags nolab,nobuckets,nozones,nethttpomithttp2 -ldflags '-s -w' -o bin/griffin ./cmd/griffin

.PHONY: demo
demo: build ## build, index the documentation and source of Go, and search it
	bin/griffin demo

.PHONY: test
test: ## what continuous integration checks (about 14 minutes on 2 cores with a warm build cache): lint unit race fuzz-some
	@.ci/setup
	@for stage in lint unit race fuzz-some; do \
		SECONDS=0; $(MAKE) --no-print-directory $$stage; echo "make $$stage: $$SECONDS s"; done
	@echo "make test: all passed"

.PHONY: test-all
test-all: ## everything, before a release (about 30 minutes): whole test matrices, race detector everywhere, every fuzz target
	@.ci/setup
	@for stage in lint cross unit-all test-arm64-all race-all fuzz; do \
		SECONDS=0; $(MAKE) --no-print-directory $$stage; echo "make $$stage: $$SECONDS s"; done
	@echo "make test-all: all passed"

.PHONY: test-short
test-short: ## unit tests without the slow ones, seconds
	go test -short -tags invariants ./...

.PHONY: unit
unit: $(BIN)/gotestsum ## unit tests of all modules, invariants checked, slow matrices sampled (GRIFFIN_SEED)
	$(TEST) $(if $(GRIFFIN_TEST_ALL),$(VETTED)) -tags invariants ./...
	@$(MAKE) --no-print-directory -j2 --output-sync=target unit-address unit-builds

.PHONY: unit-address unit-builds
unit-address: $(BIN)/gotestsum
	$(TEST) $(VETTED) -short $(if $(GRIFFIN_TEST_ALL),,-skip $(SAME_KERNELS)) -exec '$(CURDIR)/.ci/asan' $(KERNEL_FAMILIES:%=./internal/%)
unit-builds: $(BIN)/gotestsum
	$(TEST) -short -tags noasm ./codec ./internal/simd/... ./internal/traverse
	$(TEST) $(VETTED) -run Alloc $$(git grep -l 'invariant.Enabled' '*_test.go' | xargs grep -l 'func Test.*Alloc' | xargs -n 1 dirname | sort -u | sed 's|^|./|')
	cd tools && go test $(VETTED) ./...
	$(MAKE) --no-print-directory -C bench/peers test
	$(MAKE) --no-print-directory -C bench/clients test

.PHONY: unit-all
unit-all: export GRIFFIN_TEST_ALL := 1
unit-all: unit ## unit tests with whole matrices
	$(TEST) -tags noasm ./codec/... ./internal/simd/... ./internal/traverse/...

.PHONY: test-arm64
test-arm64: ## short tests built for arm64, emulated by qemu-user, which is installed if it is missing
	@.ci/arm64

.PHONY: test-arm64-all
test-arm64-all: export GRIFFIN_TEST_ALL := 1
test-arm64-all: test-arm64 ## the same, and the whole matrices of codecs, kernels and traversals

.PHONY: race
race: $(BIN)/gotestsum ## short tests that start goroutines, under the race detector
	.ci/race $(TEST) $(VETTED)

.PHONY: race-all
race-all: export GRIFFIN_TEST_ALL := 1
race-all: $(BIN)/gotestsum ## tests of all packages under the race detector
	CGO_ENABLED=1 $(TEST) $(VETTED) -race ./...

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME (5s)
	@.ci/fuzz all $(FUZZTIME)

.PHONY: fuzz-some
fuzz-some: ## fuzz targets of changed packages and a share of the others, FUZZSECONDS (30) in all
	@.ci/fuzz some $(FUZZSECONDS)

.PHONY: histories
histories: ## random histories with crashes against new indexes: HISTORIES (20000) of each test, on all processors (hours on 2)
	@HISTORIES=$(or $(HISTORIES),20000) .ci/histories rank

.PHONY: kills
kills: ## kill -9 a server KILLS (2000) times while it takes writes, on all processors
	@KILLS=$(or $(KILLS),2000) .ci/histories kills

# What mutation testing covers: a package, and after = further packages whose tests may notice its faults.
MUTATE ?= ./internal/traverse ./internal/calibrate=./internal/dispatch,. ./internal/resultcache=./internal/dispatch,. ./internal/plan=./internal/dispatch,. ./internal/dispatch=. ./internal/index=. \
	./internal/segment=./internal/index ./internal/inverter=./internal/index ./internal/sched=./internal/sched/simulation \
	./internal/gpu/residency=./internal/gpu/pipeline ./internal/gpu/pipeline

.PHONY: mutate
mutate: ## change the code at random and report what no test notices (MUTANTS=20 of each package, SEED=…, MUTATE=packages, WHOLE=1: all mutants)
	go -C tools build -o ../$(BIN)/mutate ./mutate
	$(BIN)/mutate $(if $(WHOLE),-whole) -n $(or $(MUTANTS),20) $(if $(SEED),-seed $(SEED)) $(MUTATE)

# Independent parts, two at a time: each uses one processor much of the time. The longest
# begin first.
LINT := lint-griffin generate-check lint-modules cross-build kernels-check format-check tidy-check

.PHONY: lint
lint: $(TOOLS) ## formatting, vet and golangci-lint, go.mod, generated files, kernels, other targets compile
	@$(MAKE) --no-print-directory -j2 --output-sync=target $(LINT)

.PHONY: lint-griffin lint-modules
lint-griffin: $(BIN)/golangci-lint
	$(BIN)/golangci-lint run --allow-parallel-runners ./...
lint-modules: $(BIN)/golangci-lint
	cd tools && ../$(BIN)/golangci-lint run --allow-parallel-runners ./...
	cd tools/asm && ../../$(BIN)/golangci-lint run --allow-parallel-runners ./...
	cd bench/peers && ../../$(BIN)/golangci-lint run --allow-parallel-runners ./...
	cd bench/clients && ../../$(BIN)/golangci-lint run --allow-parallel-runners ./...

.PHONY: cross-build
cross-build:
	go build -tags nogpu -o /dev/null ./cmd/griffin
	GOARCH=arm64 go build ./...

.PHONY: format-check
format-check: $(BIN)/gofumpt
	@out=$$($(BIN)/gofumpt -l $$(git ls-files -co --exclude-standard '*.go')); \
		[ -z "$$out" ] || { echo "not formatted (make fmt):"; echo "$$out"; exit 1; }

# golangci-lint runs vet for the default build. These check the others, tests included.
.PHONY: cross
cross: ## vet for the other build tags and for arm64
	go vet -tags invariants ./...
	go vet -tags nogpu ./...
	GOARCH=arm64 go vet ./...

.PHONY: fmt
fmt: $(BIN)/gofumpt ## format all Go files, kernels and the emulator
	$(BIN)/gofumpt -w $$(git ls-files -co --exclude-standard '*.go')
	clang-format-19 -i $$(git ls-files -co --exclude-standard '*.cu' '*.cuh' '*.cpp' '*.hpp')

.PHONY: kernels
kernels: ## compile the GPU kernels to internal/*/*/image/*.ptx.zst (FAMILY=… for some; needs clang-19 and zstd)
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
	go -C bench/clients mod tidy -diff

.PHONY: pictures
pictures: build ## take the pictures of the documents anew (needs Chromium)
	rm -rf .build/demo.idx
	cd .build && ../bin/griffin demo --out demo.idx --color always 2>/dev/null | go -C ../tools run ./termsvg -command 'make demo' -columns 108 -lines 35 >demo.svg
	mv .build/demo.svg docs/images/demo.svg
	go test ./internal/server -run '^TestPictures' -count 1 -update

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
