#!/bin/sh
# Checks Residua on this machine's GPU. Wants the NVIDIA driver and cuBLAS (PyTorch's wheels bring one), no Go.
#
#   ./run.sh A            how fast is it: nine minutes; then B: is it right, and C: everything else, as long each
#   ./run.sh              all three
#   ./run.sh PART...      some parts; their results go into the same report
#   ./run.sh -list        the parts, with the seconds that each may take
#
# If a part fails or runs out of time, the others still run; so do the other families of ops and the other tests of them if one breaks
# the device, because each runs in its own process. Each part ends by printing its results, in at most 9000 characters, and the last
# lines are the figures of all parts. report/report.md has a table of all, report/PART.log what a part printed. After each part the last
# 2 MiB of each file so far are packed into $OUT/report.tar.gz. The exit status is 1 if a part failed. Environment variables, with
# defaults for a GPU of 80 GB:
#
#   PYTHON=python3        a Python, with PyTorch for the benchmark to compare with
#   RESIDUA_CUBLAS=FILE   cuBLAS; else that of PYTHON's packages, else where the binding looks (docs/cuda.md)
#   TIME=540              seconds that one of A, B and C may take; parts that are left then are reported as not run
#   LIMIT=                seconds that each part may take, instead of its own limit
#   OUT=.                 the folder for report.tar.gz
#   PRECISIONS="fp32 tf32 bf16"
#   STEPS=50 RESUME_STEPS=600 BATCH=8 SEQ=128 TRAIN="-set KEY=VALUE..."    of the runs
#   BIG=rmt-134m                                                            of the steps of real size: a folder of saved/
#   OPS, REFERENCES, STREAMS, BINDING, DEVICE                               patterns of tests, as go test -run; OPS without a slash
#   CASES=                                                                  a pattern of the cases of those of OPS
#   JOBS=8                                                                  families and other tests of ops that run at once
#   SANITIZE=norm                                                           families of ops
#   BENCH_MODELS=transformer-162m,rmt-134m OTHER_MODELS=... BENCH_BATCH=32 BENCH_SEQ=512 BENCH_STEPS=10 BENCH_ROUNDS=3
#   EMULATE=1             a rehearsal without a GPU: small sizes on the CPU emulator (wants g++, make and flock), its report in rehearsal/
#   INJECT=               of a rehearsal: "fault:PART" lets a part fail, "hang:PART" never end
set -u
cd "$(dirname "$0")" || exit 1
root=$PWD

# parts: a command, a name, the most seconds, and what it checks; those that tell most first.
parts() {
  cat <<END
A smoke         60  a few steps of training in each precision: driver, cuBLAS, kernels, finite losses
A bench-bf16   240  speed and memory at $BENCH_BATCH x $BENCH_SEQ, next to torch.compile with the vocabulary as it is and padded
A ceilings      20  what PyTorch multiplies a second
A switches     100  the speed of bench-bf16 again, ours alone: as it is, with each of two switches off, with CUDA graphs, with cuBLASLt's algorithms measured
A profile       60  steps of $BIG, op by op: microseconds, GB/s, GFLOP/s
B big          120  two steps of $BIG against the CPU's, losses and every gradient; and twice: the same bits
B device        60  memory, launches, AdamW and simple kernels
B ops          180  every op and gradient against the portable kernel: fp32 1e-5, tf32 2e-3, bf16 2e-2
B resume       100  a run stopped and resumed against one that was not: the same bits
C references   100  all references that others' code computed
C streams       60  a small model of every stream trains as on the CPU, resumes, moves between CPU and GPU
C steps         60  $STEPS training steps, CPU against GPU
C generate      20  a trained model writes some text, from its cache on the GPU
C binding       20  Gorgonia's own tape machine on the driver
C bench-tf32   120  speed and memory at half the batch in tf32, next to torch.compile
C bench-others  60  other presets at half the batch in bf16, ours alone
C sanitizer    100  compute-sanitizer's memcheck and racecheck over some ops and training steps
END
}

# group A|B|C: its parts. limit PART: its seconds.
group() { parts | sed -n "s/^$1 \([^ ]*\).*/\1/p"; }
limit() { echo "${LIMIT:-$(parts | sed -n "s/^. $1  *\([0-9]*\).*/\1/p")}"; }

settings() {
  if [ -n "${EMULATE:-}" ]; then
    unset RESIDUA_GPU
    REPORT=rehearsal # apart from what a GPU has done
    : "${STEPS:=4}" "${RESUME_STEPS:=12}" "${BATCH:=1}" "${SEQ:=8}" "${TRAIN:=-set model.layers=1 -set model.feedforward.hidden=64}"
    : "${BIG:=quickstart}" "${OTHER_MODELS:=byte-rmt}"
    : "${OPS:=^TestDevice\$}" "${CASES:=^(Add|Norm)}" "${REFERENCES:=TestReference.*/^(rmt|mhc)-?[a-z]*\$}" "${STREAMS:=^TestDeviceResume\$}"
    : "${BENCH_MODELS:=byte-transformer,byte-rmt}" "${BENCH_BATCH:=1}" "${BENCH_SEQ:=8}" "${BENCH_STEPS:=1}" "${BENCH_ROUNDS:=1}"
  else
    export RESIDUA_GPU=1
    REPORT=report
  fi
  : "${PYTHON:=python3}" "${TIME:=540}" "${LIMIT:=}" "${OUT:=.}" "${INJECT:=}" "${PRECISIONS:=fp32 tf32 bf16}" "${STEPS:=50}" "${RESUME_STEPS:=600}" "${BATCH:=8}" "${SEQ:=128}" "${TRAIN:=}"
  : "${OPS:=^TestDevice|^TestAttentionTiles}" "${CASES:=}" "${REFERENCES:=Reference}" "${STREAMS:=^TestDevice}" "${BINDING:=.}" "${DEVICE:=.}" "${JOBS:=8}" "${SANITIZE:=norm}"
  : "${BENCH_MODELS:=transformer-162m,rmt-134m}" "${BENCH_BATCH:=32}" "${BENCH_SEQ:=512}" "${BENCH_STEPS:=10}" "${BENCH_ROUNDS:=3}"
  : "${BIG:=rmt-134m}" "${OTHER_MODELS:=rmt-305m,transformer-405m,modern-162m,mhc-162m,mudd-162m,moe-8x2}"
  export REPORT PYTHON TIME LIMIT OUT INJECT BIG OTHER_MODELS PRECISIONS STEPS RESUME_STEPS BATCH SEQ TRAIN OPS CASES REFERENCES STREAMS BINDING DEVICE JOBS SANITIZE \
    BENCH_MODELS BENCH_BATCH BENCH_SEQ BENCH_STEPS BENCH_ROUNDS
}

# cublas names PYTHON's cuBLAS, if there is one: the one that PyTorch multiplies with.
cublas() {
  [ -z "${RESIDUA_CUBLAS:-}" ] || return 0
  found=$("$PYTHON" -c 'import glob, sys
print(next((f for d in sys.path for f in sorted(glob.glob(d + "/nvidia/*/lib/libcublas.so.1[123]"), reverse=True)), ""))' 2>/dev/null)
  [ -n "$found" ] || return 0
  export RESIDUA_CUBLAS="$found"
  export LD_LIBRARY_PATH="$(dirname "$found")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
}

# unpack makes the folders testdata and bin: one program, and a link for each that is in it.
unpack() {
  mkdir -p bin && tar -C bin -xzf programs.tar.gz && tar -xzf testdata.tar.gz || return 1
  while read -r name; do
    ln -f bin/programs "bin/$name" 2>/dev/null || cp bin/programs "bin/$name" || return 1
  done <programs.txt
}

# machine prints a description of this machine.
machine() {
  [ -z "${EMULATE:-}" ] || echo "REHEARSAL on the CPU emulator: no GPU has computed any of this"
  date -u '+%Y-%m-%d %H:%M UTC'
  cat version.txt
  if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap --format=csv,noheader 2>&1
    nvidia-smi 2>/dev/null | sed -n 's/.*\(CUDA Version: [0-9.]*\).*/\1/p'
  else
    echo "nvidia-smi: not found"
  fi
  echo "cuBLAS: ${RESIDUA_CUBLAS:-where the binding looks}"
  "$PYTHON" -c 'import torch; print("PyTorch", torch.__version__, "for CUDA", torch.version.cuda)' 2>/dev/null || echo "PyTorch: none ($PYTHON)"
  uname -srm
  sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | sort | uniq -c | sed 's/^ *\([0-9]*\) /\1 cores: /'
}

# gotest FOLDER PROGRAM PATTERN: a test program, in the folder where go test would call it, but for the tests that look whether
# the repository is as it should be.
gotest() {
  (cd "$1" && "$root/bin/$2" -test.v -test.count=1 -test.run="$3" -test.skip='^TestPTX')
  status=$?
  [ $status -eq 0 ] || echo "figure: $2: exit status $status"
  return $status
}

# train RUN PRESET DEVICE PRECISION STEPS [FLAG...]
train() {
  run=$1 preset=$2 kind=$3 precision=$4 steps=$5
  shift 5
  # shellcheck disable=SC2086 # TRAIN is several words
  exec bin/residua train -config "configs/$preset.yaml" -out "runs/$run" -set data.source=files -set "data.path=[bin/corpus.txt]" -set data.split=tail/20 \
    -set "train.steps=$steps" -set "train.batch=$BATCH" -set "model.seq=$SEQ" -set train.eval_every=0 -set "train.eval_tokens=$((8 * BATCH * SEQ))" \
    -set "train.checkpoint_every=$((steps / 4 + 1))" -set sample.tokens=0 -set "device.kind=$kind" -set "device.precision=$precision" $TRAIN "$@"
}

# tolerance PRECISION: of a training run's losses.
tolerance() {
  case $1 in fp32) echo 2e-4 ;; tf32) echo 1e-2 ;; *) echo 5e-2 ;; esac
}

part_smoke() {
  rm -rf runs/smoke-*
  failed=0
  for precision in $PRECISIONS; do
    (train "smoke-$precision" quickstart cuda "$precision" 3) && echo "figure: $precision: 3 steps" || failed=1
  done
  return $failed
}

part_ceilings() {
  "$PYTHON" - <<END 2>/dev/null || echo "figure: no PyTorch that finds the GPU"
import torch
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
def run(f, n):
    start.record()
    for i in range(n): f(i)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 1e3 / n
def measure(f, about):
    run(f, 1)
    return run(f, max(1, min(1000, int(about / run(f, 1)))))
def normal(*shape):
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)
for n, k, m in (16384, 768, 3072), (16384, 3072, 768), (8192, 768, 50257), (8192, 768, 50304):
    sets = 1 + (128 << 20) // (n * k + k * m + n * m) # 256 MB: none is in a cache
    x, w, y = normal(sets, n, k), normal(sets, m, k), normal(sets, n, m)
    f = lambda i: torch.mm(x[i % sets], w[i % sets].t(), out=y[i % sets])
    if (n, k, m) == (16384, 768, 3072): measure(f, 0.3)
    print(f"figure: torch.mm {n} x {k} by {m} x {k} transposed: {2e-12 * n * k * m / measure(f, 0.05):.0f} TFLOP/s")
END
}

# part_profile does not accumulate, as the benchmark.
part_profile() {
  rm -rf runs/profile
  (BATCH=$BENCH_BATCH SEQ=$BENCH_SEQ; train profile "$BIG" cuda bf16 6 -set train.accumulate=1 -profile) >"$REPORT/profile.txt" 2>&1
  status=$?
  echo '```'
  cat "$REPORT/profile.txt"
  echo '```'
  return $status
}

# big RUN PRECISION: the steps whose results on the CPU lie in saved/$BIG.
big() { bin/residua train -config "saved/$BIG/config.yaml" -out "runs/$1" -set device.kind=cuda -set "device.precision=$2"; }

# gradient_tolerance PRECISION: of a parameter's gradient next to the CPU's: that of one op (as in the part ops) times the root of
# about 200 ops in a row.
gradient_tolerance() {
  case $1 in fp32) echo 2e-4 ;; tf32) echo 3e-2 ;; *) echo 3e-1 ;; esac
}

part_big() {
  rm -rf runs/big-*
  failed=0
  for precision in $PRECISIONS; do
    big "big-$precision" "$precision" &&
      bin/gpucheck compare -name "$BIG, CPU and $precision" -tolerance "$(tolerance "$precision")" -gradients "$(gradient_tolerance "$precision")" \
        "saved/$BIG" "runs/big-$precision" || failed=1
  done
  big big-again bf16 && bin/gpucheck compare -name "$BIG, bf16 twice" runs/big-bf16 runs/big-again && same big-bf16 big-again || failed=1
  rm -rf runs/big-*/checkpoints
  return $failed
}

part_generate() {
  rm -rf runs/generate
  (train generate quickstart cuda bf16 3 -set sample.tokens=32)
}

part_steps() {
  rm -rf runs/steps-*
  failed=0
  for preset in quickstart quickstart-transformer; do
    (train "steps-$preset-cpu" "$preset" cpu fp32 "$STEPS") || return 1
    for precision in $PRECISIONS; do
      (train "steps-$preset-$precision" "$preset" cuda "$precision" "$STEPS") &&
        bin/gpucheck compare -name "$preset, CPU and $precision" -tolerance "$(tolerance "$precision")" "runs/steps-$preset-cpu" "runs/steps-$preset-$precision" ||
        failed=1
    done
  done
  return $failed
}

# interrupted PRECISION: a run that is asked to end after about a third of its steps.
interrupted() {
  (train "resume-$1" quickstart cuda "$1" "$RESUME_STEPS") >"$REPORT/interrupted.txt" 2>&1 &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    done_steps=$(wc -l 2>/dev/null <"runs/resume-$1/metrics.jsonl" || echo 0)
    [ "$done_steps" -lt $((RESUME_STEPS / 3)) ] || break
    sleep 0.05 2>/dev/null || sleep 1
  done
  kill -TERM $pid 2>/dev/null
  wait $pid
  status=$?
  cat "$REPORT/interrupted.txt"
  [ $status -eq 0 ] && grep -q '^interrupted after step' "$REPORT/interrupted.txt" # else it was done before, or broke
}

part_resume() {
  rm -rf runs/whole-* runs/resume-*
  failed=0
  for precision in $PRECISIONS; do
    (train "whole-$precision" quickstart cuda "$precision" "$RESUME_STEPS") || return 1
    interrupted "$precision" || { echo "figure: $precision: want a run that ends when it is asked to, got status $status (0: it was done before; RESUME_STEPS makes it longer)"; failed=1; continue; }
    (train "resume-$precision" quickstart cuda "$precision" "$RESUME_STEPS" -resume auto) &&
      bin/gpucheck compare -name "$precision, unbroken and $(sed -n 's/\(interrupted after step [0-9]*\).*/\1/p' "$REPORT/interrupted.txt")" "runs/whole-$precision" "runs/resume-$precision" &&
      same "whole-$precision" "resume-$precision" || failed=1
  done
  return $failed
}

# same RUN RUN: checks that the last checkpoints of two runs have the same bytes.
same() {
  last=$(ls "runs/$1/checkpoints" | tail -n 1)
  for file in model.safetensors optimizer.safetensors; do
    cmp "runs/$1/checkpoints/$last/$file" "runs/$2/checkpoints/$last/$file" || return 1
    echo "figure: $2: $file has the same bits"
  done
}

# part_ops tests package graph and the families of ops, some units at once. Launches wait, so that a fault names its op and kernel. The
# logs are put together when all have ended, or the time is over.
part_ops() {
  rm -rf runs/ops && mkdir -p runs/ops || return 1
  trap 'cat runs/ops/*; exit 1' TERM
  export CUDA_LAUNCH_BLOCKING=1
  units=$(units) || return 1
  echo "$units" | xargs -P "$JOBS" -I UNIT sh "$root/run.sh" -unit UNIT
  status=$?
  cat runs/ops/*
  return $status
}

# units lists what part_ops runs, each in its own process: the folders of test programs, and of graph/ops each test, TestDevice a family
# at a time.
units() {
  tests=$(cd graph/ops && "$root/bin/ops.test" -test.list="$OPS") || return 1
  for folder in graph graph/ops/*; do
    [ ! -e "bin/${folder##*/}.test" ] || echo "$folder"
  done
  for test in $tests; do
    case $test in
    TestDevice) ls graph/ops | sed -n '/^attention$/d; s/^/TestDevice\//p' ;; # attention has a program of its own
    Test*) echo "$test" ;;
    esac
  done
}

# unit FOLDER, unit TestDevice/FAMILY or unit TEST
unit() {
  case $1 in
  TestDevice/*) gotest graph/ops ops.test "^TestDevice\$/^${1##*/}\$${CASES:+/$CASES}" ;;
  Test*) gotest graph/ops ops.test "^$1\$" ;;
  *) gotest "$1" "${1##*/}.test" "($OPS)${CASES:+/$CASES}" ;;
  esac >"runs/ops/$(echo "$1" | tr / -).log" 2>&1
}

part_sanitizer() {
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer 2>/dev/null | head -n 1)
  [ -n "$tool" ] || { echo "figure: no compute-sanitizer on this machine"; return 77; }
  failed=0
  rm -rf runs/sanitize
  sanitized memcheck "training in bf16" . sh "$root/run.sh" -train sanitize quickstart cuda bf16 2 || failed=1
  for check in memcheck racecheck; do
    for p in $SANITIZE; do
      case $p in
      attention) sanitized $check "$p" graph/ops/attention "$root/bin/attention.test" -test.run='^TestDevice$' ;;
      *) [ -d "graph/ops/$p" ] && sanitized $check "$p" graph/ops "$root/bin/ops.test" -test.run="^TestDevice\$/^$p\$" ;;
      esac || failed=1
    done
  done
  return $failed
}

# sanitized TOOL WHAT FOLDER COMMAND...: runs a command under one of compute-sanitizer's tools; fails if the tool or the command finds an error.
sanitized() {
  check=$1 what="$2, $1" folder=$3
  shift 3
  (cd "$folder" && "$tool" --tool "$check" --target-processes all --report-api-errors no --error-exitcode 99 "$@") >"$REPORT/sanitized.txt" 2>&1
  status=$?
  cat "$REPORT/sanitized.txt"
  echo "figure: $what: $(sed -n 's/.*\([A-Z]* SUMMARY: .*\)/\1/p' "$REPORT/sanitized.txt" | tail -n 1)"
  [ $status -eq 0 ] && grep -Eq 'ERROR SUMMARY: 0 errors|RACECHECK SUMMARY: 0 hazards' "$REPORT/sanitized.txt"
}

# bench PART PRECISION MODELS BATCH [MODES]: measures models, compared with PyTorch in the given modes.
bench() {
  modes=${5:-}
  set -- "$1" bin/residua bench models -device cuda -precision "$2" -models "$3" -batch "$4" -seq "$BENCH_SEQ" -steps "$BENCH_STEPS" -rounds "$BENCH_ROUNDS" -out "$REPORT/$1.json"
  if [ -z "$modes" ]; then
    :
  elif "$PYTHON" -c "import torch; torch.zeros(1, device='cuda')" >/dev/null 2>&1; then
    set -- "$@" "-pytorch=$PYTHON" -script experiment/bench/pytorch.py -pytorch-modes "$modes"
  else
    echo "figure: $PYTHON has no PyTorch that finds the GPU: ours alone"
  fi
  table="$REPORT/$1.txt"
  shift
  "$@" >"$table" || return 1
  echo '```'
  cat "$table"
  echo '```'
}

# part_switches measures the environment variables of docs/cuda.md; the first row once more at the end, for what
# changes with time.
part_switches() {
  failed=0
  export XDG_CACHE_HOME="$root/runs/cache" # for the choices of "measure"
  for setting in default RESIDUA_FUSION=0 RESIDUA_CUBLASLT=0 RESIDUA_CUBLASLT=measure RESIDUA_CUDA_GRAPH=1 default; do
    (
      [ "$setting" = default ] || export "$setting"
      bench switches bf16 "$BENCH_MODELS" "$BENCH_BATCH" >/dev/null
    ) || { failed=1; continue; }
    awk -v setting="$setting" '$3 == "x" && $8 + 0 > 0 {print "figure: " setting ": " $1 ": " $8 " ms a step, " $7 " tokens/s"}' "$REPORT/switches.txt"
  done
  return $failed
}

# perform PART
perform() {
  case $INJECT in
  "fault:$1") echo "an injected fault"; exit 1 ;;
  "hang:$1") while :; do sleep 1; done ;;
  esac
  case $1 in
  smoke) part_smoke ;;
  ceilings) part_ceilings ;;
  profile) part_profile ;;
  big) part_big ;;
  generate) part_generate ;;
  binding) gotest internal/tapemachine tapemachine.test "$BINDING" ;;
  device) gotest graph/cuda cuda.test "$DEVICE" ;;
  ops) part_ops ;;
  references) gotest models models.test "$REFERENCES" ;;
  streams) gotest trainer trainer.test "$STREAMS" ;;
  steps) part_steps ;;
  resume) part_resume ;;
  sanitizer) part_sanitizer ;;
  switches) part_switches ;;
  bench-bf16) bench "$1" bf16 "$BENCH_MODELS" "$BENCH_BATCH" compile,compile-padded ;;
  bench-tf32) bench "$1" tf32 "$BENCH_MODELS" $(((BENCH_BATCH + 1) / 2)) compile ;;
  bench-others) bench "$1" bf16 "$OTHER_MODELS" $(((BENCH_BATCH + 1) / 2)) ;;
  esac
}

# limited SECONDS COMMAND...: runs a command for at most SECONDS, if the machine has timeout.
limited() {
  seconds=$1
  shift
  if command -v timeout >/dev/null; then timeout -k 5 "$seconds" "$@"; else "$@"; fi
}

# check PART: runs a part in its own process, within its limit and the time that is left, and notes how it went.
check() {
  echo "== $1"
  rm -f "$REPORT/$1.json"
  start=$(date +%s)
  allowed=$(limit "$1") left=$((deadline - start))
  [ "$allowed" -le "$left" ] || allowed=$left
  if [ "$allowed" -lt 5 ]; then
    status=75
    echo "figure: no time was left for it" >"$REPORT/$1.log"
  else
    limited "$allowed" sh "$root/run.sh" -perform "$1" >"$REPORT/$1.log" 2>&1 </dev/null
    status=$?
  fi
  echo "$1 $status $(($(date +%s) - start))" >>"$REPORT/parts.txt"
  case $status in
  0) echo "   passed" ;;
  75) echo "   not run: no time was left" ;;
  77) echo "   skipped: $(sed -n 's/^figure: //p' "$REPORT/$1.log" | head -n 1)" ;;
  *) echo "   FAILED ($status): see $REPORT/$1.log"; failures=$((failures + 1)) ;;
  esac
  results 9000 "$1"
}

# results CHARACTERS [PART] prints results in at most CHARACTERS characters, two thirds of them the beginning.
results() {
  most=$1
  shift
  bin/gpucheck results "$REPORT" "$@" >runs/results.txt 2>&1
  if [ "$(wc -c <runs/results.txt)" -le "$most" ]; then
    cat runs/results.txt
  else
    head -c $((most * 2 / 3 - 40)) runs/results.txt
    printf '\n[... some are left out here ...]\n'
    tail -c $((most / 3)) runs/results.txt
  fi
}

# pack packs the ends of the report's files. It replaces an older archive in one step, so that there is a whole one whenever it stops.
pack() {
  rm -rf runs/packed && mkdir -p runs/packed || return 1
  for file in "$REPORT"/*; do
    tail -c 2097152 "$file" >"runs/packed/${file##*/}" || return 1
  done
  tar -C runs/packed -czf "$OUT/report.tar.gz.partial" . && mv "$OUT/report.tar.gz.partial" "$OUT/report.tar.gz"
}

# publish writes the report of all parts so far and packs it. The runs make room for it where the disk is full; an older archive
# stays where that does not help.
publish() {
  bin/gpucheck report "$REPORT" >"$verdict" && pack && return
  rm -rf runs/*
  bin/gpucheck report "$REPORT" >"$verdict" && pack || { echo "   the report could not be written"; failures=$((failures + 1)); }
}

case ${1:-} in
-perform) perform "$2"; exit ;;
-train) shift; train "$@" ;;
-unit) unit "$2"; exit ;;
esac

settings
case ${1:-} in
-list) parts; exit ;;
-*) sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
[ $# -gt 0 ] || set -- A B C
chosen=
for choice; do
  case $choice in
  A | B | C) chosen="$chosen $choice $(group "$choice")" ;;
  *) parts | grep -q "^. $choice " || { echo "error: unknown part $choice; run.sh -list lists them" >&2; exit 2; }
    chosen="$chosen $choice" ;;
  esac
done

deadline=$(($(date +%s) + TIME))
mkdir -p "$REPORT" runs "$OUT"
verdict=$REPORT/verdict.txt
[ -e bin/residua ] || unpack || exit 1
if [ -n "${EMULATE:-}" ]; then
  stand_ins=$(bin/gpucheck emulate) || exit 1
  eval "$stand_ins"
else
  cublas
fi
machine >"$REPORT/machine.txt"
failures=0 commands=0
for part in $chosen; do
  case $part in
  A | B | C) # the first one's time has begun: unpacking counts
    [ $commands -eq 0 ] || deadline=$(($(date +%s) + TIME))
    commands=$((commands + 1)) ;;
  *)
    check "$part"
    publish ;;
  esac
done
echo "== all"
results 2500
cat "$verdict"
[ $failures -eq 0 ]
