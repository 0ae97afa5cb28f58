# Everything here is also a plain go command; `make help` lists them.
GO ?= go
COMMANDS := $(notdir $(patsubst %/,%,$(filter-out cmd/internal/,$(wildcard cmd/*/))))

# Packages with tests of the device; their other tests are the same without the tag cuda.
DEVICE_PACKAGES := ./graph ./models ./trainer ./cmd/train

.PHONY: help build test bench kernels lint fmt generate cuda cross clean

help: ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

build: ## build every command into bin/
	@mkdir -p bin
	@for c in $(COMMANDS); do $(GO) build -o bin/$$c ./cmd/$$c || exit 1; done

test: ## run all tests (at most 8 minutes on 2 cores)
	$(GO) test ./...

bench: ## measure training: tokens/s, share of the machine, RMT against transformer
	$(GO) run ./cmd/bench

kernels: ## benchmark every kernel, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./graph/...

lint: ## gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l .)" || { echo "not gofmt'd:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

fmt: ## format
	gofmt -w .

generate: ## regenerate the assembly kernels; with RESIDUA_NVRTC or CUDA's toolkit at hand also ./graph/cuda
	$(GO) generate ./graph/kernel/...

cuda: ## vet, build and test the CUDA backend on its emulator (wants gcc and g++, no GPU)
	$(GO) vet -tags cuda ./... ./graph/cuda/cu/...
	$(GO) build -tags cuda ./...
	$(GO) test -tags cuda ./graph/cuda/... ./graph/cuda/cu/...
	$(GO) test -tags cuda -run 'Device|Reference|GPU' $(DEVICE_PACKAGES)

cross: ## build for the other platforms
	@for p in linux/arm64 darwin/arm64 windows/amd64; do \
		echo $$p; CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} $(GO) build ./... || exit 1; done

clean: ## remove bin/
	rm -rf bin
