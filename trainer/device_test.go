//go:build cuda

package trainer_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/internal/designrows"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
	"github.com/residua-go/residua/trainer"
)

// TestMain runs the device's tests on the emulator, or on a GPU where RESIDUA_GPU says so.
func TestMain(m *testing.M) { emulator.Main(m) }

// deviceModels returns small models of every stream, and a mixture of experts.
func deviceModels(t *testing.T) map[string]string {
	model := func(stream, positions, feedforward string) string {
		return fmt.Sprintf("{stream: %s, layers: 2, attention: {heads: 2, positions: %s}, feedforward: %s, seq: 16}", stream, positions, feedforward)
	}
	const dense = "{kind: gelu, hidden: 24}"
	all := map[string]string{
		"transformer": model("{d_model: 16, kind: vector}", "learned", dense),
		"rmt":         "{stream: {kind: matrix, dk: 6, dv: 8, rank: 2}, layers: 2, attention: {positions: alibi}, feedforward: " + dense + ", seq: 16, dropout: 0.1}",
		"experts":     model("{d_model: 16, kind: vector}", "alibi", "{kind: moe, hidden: 24, experts: 4, top_k: 2}"),
	}
	for design, rows := range designrows.Read[[]deviceRow](t, "device") {
		for i, row := range rows {
			settings := map[string]any{"d_model": 16, "kind": design}
			maps.Copy(settings, row.Of)
			text, err := json.Marshal(settings) // which is YAML, too
			require.NoError(t, err)
			feedForward := dense
			if row.Alone {
				feedForward = "null"
			}
			all[fmt.Sprintf("%s/%d", design, i)] = model(string(text), cmp.Or(row.Positions, "alibi"), feedForward)
		}
	}
	return all
}

// deviceRow is a model of a design that trains on the device.
type deviceRow struct {
	Of        map[string]any // settings of the stream
	Positions string         // "": alibi
	Alone     bool           // without a feed-forward
}

// deviceRun returns a run of a device model.
func deviceRun(t *testing.T, model, text, out string, sets ...string) *runconfig.Run {
	t.Helper()
	yaml := fmt.Sprintf(`
seed: 7
model: %s
data: {source: files, split: tail/5, mask_documents: true}
train: {batch: 2, steps: 12, lr: 1e-2, eval_every: 6, checkpoint_every: 4, keep: 3, eval_tokens: 64}
sample: {tokens: 0}
device: {threads: 2}
`, model)
	run, _, err := runconfig.Parse(models.Standard(), "device.yaml", []byte(yaml), append([]string{"data.path=[" + text + "]", "out=" + out}, sets...))
	require.NoError(t, err)
	return run
}

// TestDeviceTrains compares a run's losses on the device with its losses on the CPU, for every
// stream in fp32 and bf16, and for some, or with long tests for all, in tf32, too. (Package models
// compares the gradients of all with references in each precision.)
func TestDeviceTrains(t *testing.T) {
	text := corpus(t)
	tolerances := map[string]float64{"fp32": 2e-4, "tf32": 1e-2, "bf16": 5e-2}
	for name, model := range deviceModels(t) {
		t.Run(name, func(t *testing.T) {
			want := filepath.Join(t.TempDir(), "cpu")
			train(t, deviceRun(t, model, text, want), trainer.Options{})
			for precision, tolerance := range tolerances {
				if precision == "tf32" && !slices.Contains([]string{"transformer", "rmt", "experts"}, name) && !longtest.Enabled() {
					continue
				}
				out := filepath.Join(t.TempDir(), precision)
				train(t, deviceRun(t, model, text, out, "device.kind=cuda", "device.precision="+precision), trainer.Options{})
				requireSameLosses(t, want, out, tolerance, precision)
			}
		})
	}
}

func requireSameLosses(t *testing.T, want, got string, tolerance float64, what string) {
	t.Helper()
	w, err := trainer.ReadMetrics(want)
	require.NoError(t, err)
	g, err := trainer.ReadMetrics(got)
	require.NoError(t, err)
	require.Len(t, g, len(w))
	for i := range w {
		require.InEpsilon(t, float64(w[i].Loss), float64(g[i].Loss), tolerance, "%s: loss of step %d", what, i+1)
		require.False(t, math.IsNaN(float64(g[i].GradNorm)), "%s: step %d", what, i+1)
		if w[i].ValLoss != nil {
			require.InEpsilon(t, float64(*w[i].ValLoss), float64(*g[i].ValLoss), tolerance, "%s: validation of step %d", what, i+1)
		}
		require.Equal(t, len(w[i].Experts), len(g[i].Experts))
	}
}

// TestDeviceDepth trains 12 and 24 blocks, with which Gorgonia's own binding and arena fail.
func TestDeviceDepth(t *testing.T) {
	text := corpus(t)
	for _, layers := range []int{12, 24} {
		model := fmt.Sprintf("{stream: {kind: matrix, dk: 4, dv: 8, rank: 2}, layers: %d, attention: {positions: alibi}, feedforward: {kind: gelu, hidden: 16}, seq: 8}", layers)
		want, out := filepath.Join(t.TempDir(), "cpu"), filepath.Join(t.TempDir(), "cuda")
		few := []string{"train.steps=2", "train.batch=1", "train.eval_every=0"}
		train(t, deviceRun(t, model, text, want, few...), trainer.Options{})
		train(t, deviceRun(t, model, text, out, append(few, "device.kind=cuda", "device.precision=fp32")...), trainer.Options{})
		requireSameLosses(t, want, out, 2e-4, fmt.Sprintf("%d layers", layers))
	}
}

// TestDeviceResume stops a run on the device and resumes it: everything that follows has the bits
// of the unbroken run.
func TestDeviceResume(t *testing.T) {
	text, model := corpus(t), deviceModels(t)["rmt"]
	for _, precision := range []string{"fp32", "bf16"} {
		sets := []string{"device.kind=cuda", "device.precision=" + precision, keepLog}
		whole, out := filepath.Join(t.TempDir(), "whole"), filepath.Join(t.TempDir(), "broken")
		train(t, deviceRun(t, model, text, whole, sets...), trainer.Options{})
		ctx, cancel := context.WithCancel(context.Background())
		_, err := tryTrain(ctx, deviceRun(t, model, text, out, sets...), trainer.Options{Report: &stopper{at: 5, stop: cancel}})
		require.NoError(t, err)
		train(t, deviceRun(t, model, text, out, sets...), trainer.Options{Resume: trainer.ResumeAuto})
		require.Equal(t, losses(t, whole), losses(t, out), precision)
		requireSameFile(t, whole, out, "model.safetensors")
		requireSameFile(t, whole, out, "optimizer.safetensors")
		_, want := weightsLog(t, whole)
		_, kept := weightsLog(t, out)
		require.Equal(t, want, kept)
	}
}

// TestDeviceReplays: with RESIDUA_CUDA_GRAPH=1 a run has the same bits, for every stream, with
// dropout, whose programs are not recorded, and with cuBLASLt's measured algorithms.
func TestDeviceReplays(t *testing.T) {
	text, all := corpus(t), deviceModels(t)
	all["measured"] = all["transformer"]
	for name, model := range all {
		if !slices.Contains([]string{"transformer", "rmt", "experts", "measured"}, name) && !longtest.Enabled() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Setenv("XDG_CACHE_HOME", t.TempDir())
			if name == "measured" {
				t.Setenv("RESIDUA_CUBLASLT", "measure")
			}
			sets := []string{"device.kind=cuda", "device.precision=bf16", "train.accumulate=2"}
			want, got := filepath.Join(t.TempDir(), "ops"), filepath.Join(t.TempDir(), "graphs")
			train(t, deviceRun(t, model, text, want, sets...), trainer.Options{})
			t.Setenv("RESIDUA_CUDA_GRAPH", "1")
			if emulator.Emulated() {
				t.Setenv("XDG_CACHE_HOME", t.TempDir()) // measures again; there, all algorithms have the same bits
			}
			emulator.ResetCounters()
			train(t, deviceRun(t, model, text, got, sets...), trainer.Options{})
			if emulator.Emulated() {
				evaluations := uint64(4)
				require.Equal(t, !strings.Contains(model, "dropout"), emulator.Counters().Graphs > evaluations)
			}
			require.Equal(t, losses(t, want), losses(t, got))
			requireSameFile(t, want, got, "model.safetensors")
		})
	}
}

func requireSameFile(t *testing.T, want, got, name string) {
	t.Helper()
	path := func(out string) string { return filepath.Join(out, "checkpoints", "step-00000012", name) }
	w, err := os.ReadFile(path(want))
	require.NoError(t, err)
	g, err := os.ReadFile(path(got))
	require.NoError(t, err)
	require.Equal(t, w, g, name)
}

// TestDeviceCheckpoints: the CPU resumes from a checkpoint of the device, and the device from one
// of the CPU, with the losses of a run that never moved.
func TestDeviceCheckpoints(t *testing.T) {
	text, model := corpus(t), deviceModels(t)["rmt"]
	cpu, cuda := []string{"device.kind=cpu"}, []string{"device.kind=cuda", "device.precision=fp32"}
	whole := filepath.Join(t.TempDir(), "whole")
	train(t, deviceRun(t, model, text, whole), trainer.Options{})
	for name, way := range map[string][2][]string{"from the device": {cuda, cpu}, "to the device": {cpu, cuda}} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "run")
			ctx, cancel := context.WithCancel(context.Background())
			_, err := tryTrain(ctx, deviceRun(t, model, text, out, way[0]...), trainer.Options{Report: &stopper{at: 6, stop: cancel}})
			require.NoError(t, err)
			train(t, deviceRun(t, model, text, out, way[1]...), trainer.Options{Resume: trainer.ResumeAuto})
			requireSameLosses(t, whole, out, 2e-4, name)
		})
	}
}

// TestDeviceResidency counts what is copied between host and device: in a step the batch is copied
// to the device, and the loss, the gradient norm and flags are copied back, whatever the model's
// size.
func TestDeviceResidency(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("the emulator counts")
	}
	text := corpus(t)
	const steps, tokens = 8, 2 * 16
	for _, precision := range []string{"tf32", "bf16"} {
		run := deviceRun(t, deviceModels(t)["transformer"], text, filepath.Join(t.TempDir(), precision), "device.kind=cuda", "device.precision="+precision,
			"train.steps=1000", "train.eval_every=0", "train.checkpoint_every=0")
		count := &busCounter{}
		ctx, cancel := context.WithCancel(context.Background())
		count.stop, count.from, count.to = cancel, 3, 3+steps
		_, err := tryTrain(ctx, run, trainer.Options{Report: count})
		require.NoError(t, err)
		require.LessOrEqual(t, count.up/steps, uint64(2*4*tokens), "tokens and targets, int32")
		require.LessOrEqual(t, count.down/steps, uint64(64), "a few scalars")
		require.Zero(t, count.allocations, "a warm step allocates no device memory")
	}
}

// busCounter reads the emulator's counters between two steps.
type busCounter struct {
	stopper
	stop                  func()
	from, to              int
	up, down, allocations uint64
}

func (b *busCounter) Step(m trainer.Metrics) {
	switch m.Step {
	case b.from:
		emulator.ResetCounters()
	case b.to:
		totals := emulator.Counters()
		b.up, b.down, b.allocations = totals.Up, totals.Down, totals.Allocations
		b.stop()
	}
}

// TestDeviceLost: if the device fails in the middle of a run, the error says so in one line and the
// last checkpoint is undamaged.
func TestDeviceLost(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("the emulator fails on demand")
	}
	text, model := corpus(t), deviceModels(t)["transformer"]
	defer emulator.Restore()
	out := filepath.Join(t.TempDir(), "run")
	run := deviceRun(t, model, text, out, "device.kind=cuda")
	_, err := tryTrain(context.Background(), run, trainer.Options{Report: &loser{at: 5}})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "\n")
	require.Contains(t, strings.ToLower(err.Error()), "cuda")
	require.Equal(t, 4, last(t, out).State.Step, "the checkpoint before it")
}

// loser makes the device fail after a step.
type loser struct {
	stopper
	at int
}

func (l *loser) Step(m trainer.Metrics) {
	if m.Step == l.at {
		emulator.LoseDevice()
	}
}
