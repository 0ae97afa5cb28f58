# Everything here is also a plain go command; `make help` lists them.
GO ?= go
COMMANDS := $(notdir $(patsubst %/,%,$(wildcard cmd/*/)))

# Packages with tests of the device; their other tests are the same without the tag cuda.
DEVICE_PACKAGES := ./graph ./graph/ops/... ./models ./eval ./trainer/learner ./trainer ./cli ./experiment/bench

.PHONY: help build test test-long bench kernels lint fmt generate cuda gpu-check cross clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 12

build: ## build every command into bin/
	@mkdir -p bin
	@for c in $(COMMANDS); do $(GO) build -o bin/$$c ./cmd/$$c || exit 1; done

test: ## run the tests (five to nine minutes on 2 cores with empty caches)
	$(GO) test -vet=off ./...

test-long: ## run all tests, the long ones too (internal/longtest)
	RESIDUA_LONG_TESTS=all $(GO) test -vet=off ./...

bench: ## measure training: tokens/s, share of the machine, RMT against transformer
	$(GO) run ./cmd/residua bench

SEED ?= 1
N ?= 20
KILLS ?= 12
ROBUSTNESS_PACKAGES := ./trainer ./data ./experiment ./pretrained ./analysis/report

.PHONY: robustness
robustness: ## interrupt work at N points of each kind, and kill KILLS commands, by SEED; print the counts (docs/reliability.md)
	@mkdir -p build
	@status=0; \
	RESIDUA_ROBUSTNESS=$(SEED):$(N) $(GO) test -count=1 -v -timeout 24h -run TestRobustness $(ROBUSTNESS_PACKAGES) >build/robustness.txt 2>&1 || status=1; \
	RESIDUA_KILLS=$(SEED):$(KILLS) $(GO) test -count=1 -v -timeout 24h -run TestKills ./cli >>build/robustness.txt 2>&1 || status=1; \
	awk -F'|' 'BEGIN {print "| work | what happens | points |\n|---|---|---:|"} /robustness\|/ {print "| " $$2 " | " $$3 " | " $$4 " |"; n += $$4} END {print "| all | | " n " |"}' build/robustness.txt; \
	[ $$status = 0 ] || { grep -aE -A12 'Error:|Messages:|panic:' build/robustness.txt; echo "failed: build/robustness.txt has it all"; exit 1; }

HOURS ?= 1
.PHONY: soak race
soak: ## run a server under 64 clients next to a training run for HOURS, and watch their memory, files and goroutines
	@mkdir -p build
	@RESIDUA_SOAK=$(HOURS)h $(GO) test -count=1 -v -timeout 0 -run TestSoak ./cli >build/soak.txt 2>&1; status=$$?; grep -a 'soak|' build/soak.txt | sed 's/.*soak|/| /; s/$$/ |/'; \
	[ $$status = 0 ] || { cat build/soak.txt; exit 1; }

race: ## run the tests with -short under the race detector (wants a C compiler)
	CGO_ENABLED=1 $(GO) test -race -short -timeout 60m ./...

PROCESSORS ?= s390x riscv64 aarch64
WHOLE_PACKAGES := checkpoint internal/settings data
PORTABLE_PACKAGES := graph/kernel generate
# It starts its own program, for which the system would have to know the emulator.
NOT_EMULATED := TestLockOfAnotherProcess
# Tests of kernels whose references take long in an emulator, or that multiply tiles of AMX in portable Go.
EMULATOR_SKIP := Attention(Tiles|Pattern)|ForwardCachedEquals|TileBlock|TileProducts|FiniteDifferences|Epilogue|AnyThreads/portable|AnyThreads/float32/portable|AllocatesNothing|/amx

.PHONY: processors
processors: ## run tests on other processors, s390x (big-endian), riscv64 and arm64, by qemu-user: files, data, settings, kernels, generation
	@mkdir -p build/processors
	@status=0; for q in $(PROCESSORS); do for p in $(WHOLE_PACKAGES) $(PORTABLE_PACKAGES); do \
		export GOARCH=$$(echo $$q | sed s/aarch64/arm64/) CGO_ENABLED=0; short=; skip='$(NOT_EMULATED)'; \
		case " $(PORTABLE_PACKAGES) " in *" $$p "*) short=-test.short; skip='$(NOT_EMULATED)|$(EMULATOR_SKIP)';; esac; \
		$(GO) test -vet=off -c -o build/processors/$$q.test ./$$p && \
		(cd $$p && timeout 10m qemu-$$q "$(CURDIR)/build/processors/$$q.test" $$short -test.skip "$$skip" >"$(CURDIR)/build/processors/out.txt" 2>&1) && echo "$$q $$p: ok" || \
		{ status=1; echo "$$q $$p: FAILED"; grep -aE -A 12 '^ *--- FAIL|^panic' build/processors/out.txt | head -40; }; done; done; exit $$status

.PHONY: reproduce reproduce-check
reproduce: ## show a bug of docs/reliability.md, BUG=NAME, on the commit before its mend, in a worktree below build/reproduce
	@.ci/reproduce $(BUG)

reproduce-check: ## show five of them (wants the full history)
	@.ci/reproduce separator-panic byte-order-mark lfs-pointer temporaries-stay dotted-column

.PHONY: fuzz
TIME ?= 20s
COUNT ?= 10000000
JOBS ?= 1
fuzz: ## fuzz every target for TIME, as in 10m, or COUNT inputs, whichever ends sooner, JOBS targets at a time; print what each has run
	@.ci/fuzz $(TIME) $(COUNT) $(JOBS)

.PHONY: experiments
experiments: ## of the experiments that have been run: train what their logs do not have yet, and make their reports (docs/experiments.md)
	@for l in studies/*/log.jsonl; do $(GO) run ./cmd/residua experiment $${l%/log.jsonl}.yaml || exit 1; done

kernels: ## benchmark every kernel, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./graph/...

SOURCES = $$(git ls-files '*.go')

lint: ## NOTICE; workflows by actionlint; gofmt, go vet and staticcheck with the tag cuda: without it only stubs differ, and go test vets them; 32-bit processors are refused (wants a C compiler)
	@test -z "$$(gofmt -l $(SOURCES))" || { echo "not gofmt'd:"; gofmt -l $(SOURCES); exit 1; }
	$(GO) vet -tags cuda,parquet,tiktoken ./... ./graph/cuda/cu/...
	$(GO) tool staticcheck -tags cuda,parquet,tiktoken ./...
	$(GO) vet -tags mpi ./trainer/distributed/mpi ./cli
	$(GO) vet -tags jupyter ./notebooks/internal/kernel
	@mkdir -p build
	! GOARCH=386 $(GO) build -o /dev/null ./internal/memory 2>build/386.txt && grep -q 64_bit_only build/386.txt
	$(GO) tool staticcheck -tags mpi ./trainer/distributed/mpi
	$(GO) run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	$(GO) run ./internal/notice | diff -a NOTICE - || { echo "NOTICE is not the licences of what is linked: run make notice"; exit 1; }

.PHONY: notice
notice: ## write NOTICE, names and licences of what is linked into programs; lint fails where it is not up to date
	@mkdir -p build
	$(GO) run ./internal/notice >build/NOTICE && mv build/NOTICE NOTICE

fmt: ## format
	gofmt -w $(SOURCES)

generate: ## regenerate the assembly kernels; with RESIDUA_NVRTC or CUDA's toolkit at hand also ./graph/cuda
	$(GO) generate ./graph/kernel/...

cuda: ## build and test the CUDA backend on its emulator (wants gcc, g++ and flock, no GPU)
	$(GO) build -tags cuda $(PROGRAMLESS)
	$(GO) build -tags cuda -o /dev/null ./cmd/train
	$(GO) test -vet=off -tags cuda -short ./graph/cuda/... ./graph/cuda/cu/... ./internal/tapemachine
	$(GO) test -vet=off -tags cuda -short -run 'Device|Reference|GPU' $(DEVICE_PACKAGES)

# LIBRARY:LAUNCHER[:PATH] of each MPI library that make mpi tests. The first two come from the wheel, the others are Debian's.
MPI_LIBRARIES := "standard ABI:build/mpi/bin/mpiexec" "MPICH's ABI:build/mpi/bin/mpiexec:build/mpi/lib/libmpi.so.12" \
	"MPICH's ABI:mpiexec.mpich" "Open MPI's ABI:mpiexec.openmpi"

.PHONY: mpi
mpi: ## build with the tag mpi, and test ranks over MPICH, which it installs in build/mpi, and over Debian's mpich and openmpi-bin where they are found; MPI_TESTS and MPI_RUN choose tests of trainer/distributed/mpi and of cli
	@test -x build/mpi/bin/mpiexec || { python3 -m venv build/mpi && build/mpi/bin/pip install -q mpich==5.0.2; }
	$(GO) build -tags mpi -o /dev/null ./cmd/train
	$(GO) test -tags mpi -c -o build/mpi/mpi.test ./trainer/distributed/mpi
	@for l in $(MPI_LIBRARIES); do IFS=:; set -- $$l; IFS=' '; name=$$1 launcher=$$2 library=$$3; \
		found=$$(command -v $$launcher) || { echo "$$name: not tested, there is no $$launcher"; continue; }; \
		echo "$$name, $$found"; run='$(MPI_TESTS)'; [ -z "$$library" ] || run=Collectives; \
		RESIDUA_MPI=$$library RESIDUA_MPIEXEC=$$found RESIDUA_MPI_WANT=$$name build/mpi/mpi.test -test.run="$$run" || exit 1; done
	RESIDUA_MPIEXEC="$(CURDIR)/build/mpi/bin/mpiexec" $(GO) test -tags mpi -count=1 -run '$(or $(MPI_RUN),MPI)' ./cli
	RESIDUA_MPIEXEC="$(CURDIR)/build/mpi/bin/mpiexec" $(GO) test -tags "mpi cuda" -count=1 -run MPIDevice ./cli

.PHONY: mpi-scale
mpi-scale: ## how fast two ranks of one thread train next to one rank of two threads, in seven rounds (wants two idle cores, and make mpi before)
	RESIDUA_MPI_ROUNDS=7 RESIDUA_MPIEXEC="$(CURDIR)/build/mpi/bin/mpiexec" $(GO) test -tags mpi -count=1 -v -timeout 30m -run MPIScale ./cli

GPU_CHECK := build/gpu-check
OPS_FAMILIES := $(patsubst %/,%,$(wildcard graph/ops/*/))
GPU_CHECK_TESTS := internal/tapemachine graph/cuda graph graph/ops $(patsubst %/,%,$(sort $(dir $(wildcard graph/ops/*/*_test.go)))) models trainer
GPU_CHECK_PROGRAMS := cmd/residua cmd/gpucheck $(GPU_CHECK_TESTS)
GPU_CHECK_MEGABYTES := 40

gpu-check: ## make build/gpu-check: all that a GPU machine needs to check the CUDA backend by its run.sh, without Go
	rm -rf $(GPU_CHECK) && mkdir -p $(GPU_CHECK)/bin $(addprefix $(GPU_CHECK)/,$(GPU_CHECK_TESTS) $(OPS_FAMILIES) graph/cuda/emulator testdata)
	$(GO) run ./cmd/gpucheck/combine -tags cuda -o $(GPU_CHECK)/bin/programs $(addprefix ./,$(GPU_CHECK_PROGRAMS)) >$(GPU_CHECK)/programs.txt
	find . -name '*.go' -not -path './build/*' -print0 | sort -z | xargs -0 cat | head -c 2000000 >$(GPU_CHECK)/bin/corpus.txt
	tar -C $(GPU_CHECK)/bin -cf - . | gzip -9 >$(GPU_CHECK)/programs.tar.gz && rm -r $(GPU_CHECK)/bin
	cp -r configs $(GPU_CHECK)/
	mkdir -p $(GPU_CHECK)/experiment/bench && cp experiment/bench/peer.py experiment/bench/pytorch.py $(GPU_CHECK)/experiment/bench/
	rm $(GPU_CHECK)/configs/*.go # no package of the module
	cp -r testdata/reference testdata/designs $(GPU_CHECK)/testdata/
	rm -r $(GPU_CHECK)/testdata/reference/eval # of no test in the pack
	tar -C $(GPU_CHECK) -cf - testdata | gzip -9 >$(GPU_CHECK)/testdata.tar.gz && rm -r $(GPU_CHECK)/testdata
	cp graph/cuda/*.cu graph/cuda/*.cuh graph/cuda/kernels.tsv $(GPU_CHECK)/graph/cuda/
	cp -r graph/cuda/emulator/native $(GPU_CHECK)/graph/cuda/emulator/
	git describe --always --dirty 2>/dev/null | sed 's/^/Residua /' >$(GPU_CHECK)/version.txt
	cp -r experiment/gpucheck/run.sh experiment/gpucheck/saved LICENSE $(GPU_CHECK)/
	$(GO) run ./internal/notice -texts >$(GPU_CHECK)/NOTICE
	@du -sm $(GPU_CHECK) | awk '{print $$2 ": " $$1 " MB"; if ($$1 > $(GPU_CHECK_MEGABYTES)) {print "want at most $(GPU_CHECK_MEGABYTES) MB"; exit 1}}'
	@echo "There, each in at most nine minutes:"
	@sh $(GPU_CHECK)/run.sh -list | awk '{parts[$$1] = parts[$$1] " " $$2} END {for (c = 65; c < 68; c++) {n = sprintf("%c", c); print "  OUT=results ./run.sh " n "   #" parts[n]}}'


.PHONY: neon neon-long mca instructions
neon: ## test the kernels for arm64 by qemu-aarch64 (Debian's qemu-user)
	@mkdir -p build
	GOARCH=arm64 CGO_ENABLED=0 $(GO) vet ./graph/kernel
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -c -o build/kernel.arm64 ./graph/kernel
	cd graph/kernel && qemu-aarch64 -cpu max ../../build/kernel.arm64 -test.short -test.run "$(NEON_RUN)" -test.skip '$(EMULATOR_SKIP)'

neon-long: neon ## the same, without BFMLALB and without NEON; references, conformance of three designs and two steps of quickstart
	cd graph/kernel && qemu-aarch64 -cpu cortex-a72 ../../build/kernel.arm64 -test.short -test.run 'Pair|NEON|GemmBFloat16$$' -test.skip '$(EMULATOR_SKIP)'
	cd graph/kernel && GODEBUG=cpu.asimd=off qemu-aarch64 -cpu max ../../build/kernel.arm64 -test.short -test.run 'Gemm$$|Vectors|Path'
	GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec 'qemu-aarch64 -cpu max' -short -timeout 60m -run 'Reference|ConformancePresets/(quickstart|quickstart-transformer|quickstart-mhc)$$' ./models
	GOARCH=arm64 CGO_ENABLED=0 $(GO) build -o build/train.arm64 ./cmd/train
	qemu-aarch64 -cpu max build/train.arm64 -config quickstart -set train.batch=1 -set train.steps=2 -set train.eval_tokens=128 -set sample.tokens=0 -out build/neon-run

mca: ## how many of Neoverse V2's vector units the inner loops for NEON keep busy, by llvm-mca-19, where it is installed
	RESIDUA_LONG_TESTS=all $(GO) test -count=1 -v -run NEONThroughput ./graph/kernel/internal/asmgen

instructions: ## count the instructions of a step of quickstart with batch 1 on NEON and on AVX2 (wants gcc and qemu-user)
	@mkdir -p build
	gcc -O2 -shared -fPIC -o build/insn.so graph/kernel/testdata/insn/insn.c
	@for p in arm64:aarch64 amd64:x86_64; do GOARCH=$${p%:*} CGO_ENABLED=0 $(GO) build -o build/train.$${p%:*} ./cmd/train || exit 1; \
		for n in 1 3; do printf '%s, %s steps: ' $$p $$n; GOGC=off qemu-$${p#*:} -cpu max -plugin build/insn.so -d plugin build/train.$${p%:*} -config quickstart \
			-set train.batch=1 -set train.steps=$$n -set train.eval_every=0 -set train.checkpoint_every=0 -set train.eval_tokens=128 -set sample.tokens=0 -set device.threads=1 \
			-out build/instructions-$${p%:*}-$$n 2>&1 | grep 'instructions$$' || exit 1; done; done

# All packages but programs: linking each of those takes longer than compiling it, and one is enough.
PROGRAMLESS = $$($(GO) list -f '{{if and .GoFiles (ne .Name "main")}}{{.ImportPath}}{{end}}' ./...)

CROSS ?= darwin/arm64 linux/arm64 linux/riscv64 windows/amd64 windows/arm64
cross: ## build for other processors and systems: one program, and for two of them all packages; unoptimised, as nothing runs them
	@mkdir -p build
	@for p in $(CROSS); do \
		echo $$p; export CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} GOFLAGS='"-gcflags=all=-N -l"'; \
		case $$p in darwin/arm64|windows/amd64) $(GO) build $(PROGRAMLESS) || exit 1 ;; esac; \
		$(GO) build -tags mpi ./trainer/distributed/mpi && $(GO) build -o build/train.cross ./cmd/train || exit 1; \
		case $$p in */arm64) $(GO) tool nm build/train.cross | awk '$$2 == "T" && $$3 ~ /kernel\.neon[A-Za-z0-9]+(\.abi0)?$$/ {sub(/\.abi0$$/, "", $$3); if (!seen[$$3]++) n++} \
			END {print "  routines for NEON: " n; exit n < 400}' || exit 1 ;; esac; done

clean: ## remove bin/, build/ and dist/
	rm -rf bin build dist

RELEASE_TARGETS := linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64 windows_arm64 linux_amd64_cuda linux_arm64_cuda

# A commit gives the same bytes each time. What this machine can start, natively or by qemu-user, says its version.
.PHONY: release
release: ## build the archives of a release into dist/ (wants Linux): Linux, macOS, Windows, and CUDA for Linux; ONLY=linux_amd64 builds one
	rm -rf dist && mkdir -p dist build
	$(GO) run ./internal/notice -texts >build/NOTICE
	@name=residua_$$(git describe --tags --always --dirty | sed s/^v//); stamp=$$(git log -1 --format=%ct); host=$$($(GO) env GOHOSTARCH); \
	for t in $(or $(ONLY),$(RELEASE_TARGETS)); do \
		os=$${t%%_*} arch=$$(echo $$t | cut -d_ -f2) tags=$$(echo $$t | cut -d_ -f3) cgo=0 cc= start= dir=$$(mktemp -d); \
		machine=$$(echo $$arch | sed 's/amd64/x86_64/; s/arm64/aarch64/'); program=residua$$(echo $$os | sed -n 's/windows/.exe/p'); \
		[ -z "$$tags" ] || cgo=1; [ -z "$$tags" ] || [ $$arch = $$host ] || cc=$$machine-linux-gnu-gcc; \
		[ -z "$$cc" ] || command -v $$cc >/dev/null || { echo "$$t: not built: want $$cc"; continue; }; \
		CC=$$cc GOOS=$$os GOARCH=$$arch CGO_ENABLED=$$cgo $(GO) build -trimpath -ldflags='-s -w' -tags="parquet $$tags" -o $$dir/$$program ./cmd/residua || exit 1; \
		install -m 644 LICENSE build/NOTICE README.md $$dir && touch -d @$$stamp $$dir/*; \
		[ $$arch = $$host ] || start="qemu-$$machine-static -L /usr/$$machine-linux-gnu"; \
		if [ $$os = linux ] && command -v $${start:-true} >/dev/null; then $$start $$dir/$$program version || exit 1; else echo "$$t: not started here"; fi; \
		if [ $$os = windows ]; then (out=$$PWD/dist/$${name}_$$t.zip && cd $$dir && TZ=UTC zip -qX9 $$out $$program LICENSE NOTICE README.md); \
		else tar -C $$dir --format=ustar --owner=0 --group=0 --numeric-owner -cf - $$program LICENSE NOTICE README.md | gzip -9n >dist/$${name}_$$t.tar.gz; fi || exit 1; \
		rm -r $$dir; done; cd dist && sha256sum residua_* >SHA256SUMS

.PHONY: notebooks notebooks-update jupyter

notebooks: ## test the notebooks' kernel, run the notebooks and compare them with their committed outputs (wants jupyter-nbconvert); ONLY=02 runs that one alone
	@$(if $(ONLY),,$(GO) test -tags jupyter ./notebooks/internal/kernel)
	@GO=$(GO) $(GO) run ./notebooks/cmd check $(ONLY)

notebooks-update: ## run the notebooks and write their outputs into them; ONLY=02 runs one
	@GO=$(GO) $(GO) run ./notebooks/cmd update $(ONLY)

jupyter: ## start Jupyter on the notebooks, with their kernel (wants jupyterlab or jupyter-notebook); ARGS=--no-browser
	@GO=$(GO) $(GO) run ./notebooks/cmd jupyter $(ARGS)
