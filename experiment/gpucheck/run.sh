#!/bin/sh
# Checks Residua on this machine's GPU. Wants the NVIDIA driver and cuBLAS (PyTorch's wheels bring one), no Go.
#
#   ./run.sh              every part
#   ./run.sh PART...      some of them; their results go into the same report
#   ./run.sh -list        the parts
#
# Each part goes on after another's failure. report/report.md has a table of all, report/PART.log what a part printed; the
# exit status is 1 if a part failed. What can be set in the environment, with defaults for a GPU of 80 GB:
#
#   PYTHON=python3        a Python, with PyTorch for the benchmark to compare with
#   RESIDUA_CUBLAS=FILE   cuBLAS; else that of PYTHON's packages, else where the binding looks (docs/cuda.md)
#   LIMIT=1800            seconds that a part may take
#   PRECISIONS="fp32 tf32 bf16"
#   STEPS=50 RESUME_STEPS=1000 BATCH=8 SEQ=128 TRAIN="-set KEY=VALUE..."    of the runs
#   OPS, REFERENCES, STREAMS, BINDING, DEVICE, SANITIZE                     patterns of tests, as go test -run
#   BENCH_MODELS=rmt-134m,transformer-162m BENCH_BATCH=16 BENCH_SEQ=512 BENCH_STEPS=10 BENCH_ROUNDS=5
#   EMULATE=1             a rehearsal without a GPU: small sizes on the CPU emulator (wants g++), its report in rehearsal/
set -u
cd "$(dirname "$0")" || exit 1
root=$PWD

# parts: a name, and what it checks.
parts() {
  cat <<END
binding      Gorgonia's own tape machine on the driver
device       memory, launches, AdamW and simple kernels
ops          every op and gradient against the portable kernel: fp32 1e-5, tf32 2e-3, bf16 2e-2
references   all references that others' code computed
streams      a small model of every stream trains as on the CPU, resumes, moves between CPU and GPU
steps        $STEPS training steps, CPU against GPU
resume       a run stopped and resumed against one that was not: the same bits
sanitizer    compute-sanitizer's memcheck over the ops and over training steps
bench-bf16   speed and memory, compared with PyTorch
bench-tf32   the same
bench-fp32   the same
END
}

settings() {
  if [ -n "${EMULATE:-}" ]; then
    unset RESIDUA_GPU
    REPORT=rehearsal # apart from what a GPU has done
    : "${STEPS:=4}" "${RESUME_STEPS:=12}" "${BATCH:=1}" "${SEQ:=8}" "${TRAIN:=-set model.layers=1 -set model.feedforward.hidden=64}"
    : "${OPS:=^TestDevice\$/^(Add|Norm)}" "${REFERENCES:=TestReference.*/^(rmt|mhc)-?[a-z]*\$}" "${STREAMS:=^TestDeviceResume\$}"
    : "${BENCH_MODELS:=byte-rmt,byte-transformer}" "${BENCH_BATCH:=1}" "${BENCH_SEQ:=8}" "${BENCH_STEPS:=1}" "${BENCH_ROUNDS:=1}"
  else
    export RESIDUA_GPU=1
    REPORT=report
  fi
  : "${PYTHON:=python3}" "${LIMIT:=1800}" "${PRECISIONS:=fp32 tf32 bf16}" "${STEPS:=50}" "${RESUME_STEPS:=1000}" "${BATCH:=8}" "${SEQ:=128}" "${TRAIN:=}"
  : "${OPS:=^TestDevice|^TestAttentionTiles}" "${REFERENCES:=Reference}" "${STREAMS:=^TestDevice}" "${BINDING:=.}" "${DEVICE:=.}" "${SANITIZE:=^TestDevice\$}"
  : "${BENCH_MODELS:=rmt-134m,transformer-162m}" "${BENCH_BATCH:=16}" "${BENCH_SEQ:=512}" "${BENCH_STEPS:=10}" "${BENCH_ROUNDS:=5}"
  export REPORT PYTHON LIMIT PRECISIONS STEPS RESUME_STEPS BATCH SEQ TRAIN OPS REFERENCES STREAMS BINDING DEVICE SANITIZE \
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

# machine describes it.
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
  (cd "$1" && "$root/bin/$2" -test.v -test.count=1 -test.timeout=0 -test.run="$3" -test.skip='^TestPTX')
}

# train RUN PRESET DEVICE PRECISION STEPS [FLAG...]
train() {
  run=$1 preset=$2 kind=$3 precision=$4 steps=$5
  shift 5
  # shellcheck disable=SC2086 # TRAIN is several words
  exec bin/train -config "configs/$preset.yaml" -out "runs/$run" -set data.source=files -set "data.path=[corpus.txt]" -set data.split=tail/20 \
    -set "train.steps=$steps" -set "train.batch=$BATCH" -set "model.seq=$SEQ" -set train.eval_every=0 -set "train.eval_tokens=$((8 * BATCH * SEQ))" \
    -set "train.checkpoint_every=$((steps / 4 + 1))" -set sample.tokens=0 -set "device.kind=$kind" -set "device.precision=$precision" $TRAIN "$@"
}

# tolerance PRECISION: of a training run's losses.
tolerance() {
  case $1 in fp32) echo 2e-4 ;; tf32) echo 1e-2 ;; *) echo 5e-2 ;; esac
}

part_steps() {
  rm -rf runs/steps-*
  failed=0
  for preset in quickstart quickstart-transformer; do
    (train "steps-$preset-cpu" "$preset" cpu fp32 "$STEPS") || return 1
    for precision in $PRECISIONS; do
      (train "steps-$preset-$precision" "$preset" cuda "$precision" "$STEPS") &&
        ./gpucheck compare -name "$preset, CPU and $precision" -tolerance "$(tolerance "$precision")" "runs/steps-$preset-cpu" "runs/steps-$preset-$precision" ||
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
      ./gpucheck compare -name "$precision, unbroken and $(sed -n 's/\(interrupted after step [0-9]*\).*/\1/p' "$REPORT/interrupted.txt")" "runs/whole-$precision" "runs/resume-$precision" &&
      same "whole-$precision" "resume-$precision" || failed=1
  done
  return $failed
}

# same RUN RUN: the last checkpoints have the same bytes.
same() {
  last=$(ls "runs/$1/checkpoints" | tail -n 1)
  for file in model.safetensors optimizer.safetensors; do
    cmp "runs/$1/checkpoints/$last/$file" "runs/$2/checkpoints/$last/$file" || return 1
    echo "figure: $2: $file has the same bits"
  done
}

# part_ops tests package graph and each family of ops.
part_ops() {
  failed=0
  for p in graph graph/ops/*; do
    gotest "$p" "${p##*/}.test" "$OPS" || failed=1
  done
  return $failed
}

part_sanitizer() {
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer /usr/local/cuda*/compute-sanitizer/compute-sanitizer 2>/dev/null | head -n 1)
  [ -n "$tool" ] || { echo "figure: no compute-sanitizer on this machine"; return 77; }
  failed=0
  for p in graph graph/ops/*; do
    sanitized "$p" "$p" "$root/bin/${p##*/}.test" -test.run="$SANITIZE" || failed=1
  done
  rm -rf runs/sanitize-*
  for precision in $PRECISIONS; do
    sanitized "training in $precision" . sh "$root/run.sh" -train "sanitize-$precision" quickstart cuda "$precision" 3 || failed=1
  done
  return $failed
}

# sanitized WHAT FOLDER COMMAND...: under memcheck; its errors and the command's own count.
sanitized() {
  what=$1 folder=$2
  shift 2
  (cd "$folder" && "$tool" --tool memcheck --target-processes all --error-exitcode 99 "$@") >"$REPORT/sanitized.txt" 2>&1
  status=$?
  cat "$REPORT/sanitized.txt"
  echo "figure: $what: $(sed -n 's/.*\(ERROR SUMMARY: .*\)/\1/p' "$REPORT/sanitized.txt" | tail -n 1)"
  [ $status -eq 0 ] && grep -q 'ERROR SUMMARY: 0 errors' "$REPORT/sanitized.txt"
}

# bench PRECISION
bench() {
  set -- "$1" bin/bench -device cuda -precision "$1" -models "$BENCH_MODELS" -batch "$BENCH_BATCH" -seq "$BENCH_SEQ" -steps "$BENCH_STEPS" -rounds "$BENCH_ROUNDS" -out "$REPORT/bench-$1.json"
  if "$PYTHON" -c "import torch; torch.zeros(1, device='cuda')" >/dev/null 2>&1; then
    set -- "$@" "-pytorch=$PYTHON" -script benchmarks/pytorch.py
  else
    echo "figure: $PYTHON has no PyTorch that finds the GPU: ours alone"
  fi
  table="$REPORT/bench-$1.txt"
  shift
  "$@" >"$table" || return 1
  echo '```'
  cat "$table"
  echo '```'
}

# perform PART
perform() {
  case $1 in
  binding) gotest internal/tapemachine tapemachine.test "$BINDING" ;;
  device) gotest graph/cuda cuda.test "$DEVICE" ;;
  ops) part_ops ;;
  references) gotest models models.test "$REFERENCES" ;;
  streams) gotest trainer trainer.test "$STREAMS" ;;
  steps) part_steps ;;
  resume) part_resume ;;
  sanitizer) part_sanitizer ;;
  bench-*) bench "${1#bench-}" ;;
  esac
}

# limited COMMAND...: for at most LIMIT seconds, where the machine can do that.
limited() {
  if command -v timeout >/dev/null; then timeout -k 30 "$LIMIT" "$@"; else "$@"; fi
}

# check PART: performs it in a process of its own and notes how it went.
check() {
  echo "== $1"
  rm -f "$REPORT/$1.json"
  start=$(date +%s)
  limited sh "$root/run.sh" -perform "$1" >"$REPORT/$1.log" 2>&1 </dev/null
  status=$?
  echo "$1 $status $(($(date +%s) - start))" >>"$REPORT/parts.txt"
  case $status in
  0) echo "   passed" ;;
  77) echo "   skipped: $(sed -n 's/^figure: //p' "$REPORT/$1.log" | head -n 1)" ;;
  *) echo "   FAILED ($status): see $REPORT/$1.log"; failures=$((failures + 1)) ;;
  esac
}

case ${1:-} in
-perform) perform "$2"; exit ;;
-train) shift; train "$@" ;;
esac

settings
case ${1:-} in
-list) parts; exit ;;
-*) sed -n '2,/^set -u/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
[ $# -gt 0 ] || set -- $(parts | cut -d ' ' -f 1)
for part; do
  parts | grep -q "^$part " || { echo "error: unknown part $part; run.sh -list lists them" >&2; exit 2; }
done

mkdir -p "$REPORT" runs
[ -e bin/train ] || ./gpucheck unpack programs.tar.zst bin || exit 1
if [ -n "${EMULATE:-}" ]; then
  stand_ins=$(./gpucheck emulate) || exit 1
  eval "$stand_ins"
else
  cublas
fi
machine >"$REPORT/machine.txt"
failures=0
for part; do
  check "$part"
  ./gpucheck report "$REPORT" >"$REPORT/verdict.txt" || failures=$((failures + 1))
done
cat "$REPORT/verdict.txt"
[ $failures -eq 0 ]
