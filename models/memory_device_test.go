//go:build cuda

package models_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
	"github.com/residua-go/residua/stream"
)

// TestDeviceMemory compares the device memory that a training step takes with the prediction:
// within 5%. An earlier step has created the context, the loaded kernels and cuBLAS, which are not
// counted.
func TestDeviceMemory(t *testing.T) {
	for name, c := range map[string]models.Config{
		"rmt":         {Stream: stream.MatrixConfig{Dk: 16, Dv: 16, Rank: 4}, Layers: 2, FeedForward: gelu(128), Seq: 64, Vocab: 257, Attention: models.Attention{Positions: models.PositionsALiBi}},
		"transformer": {Stream: vectorOf(64), Layers: 2, FeedForward: gelu(256), Seq: 64, Vocab: 257, Attention: models.Attention{Heads: 4, Positions: models.PositionsALiBi}},
	} {
		for _, precision := range []graph.Precision{graph.TF32, graph.BF16} {
			t.Run(name+"/"+string(precision), func(t *testing.T) { checkMemory(t, modeltest.Resolve(t, c), precision) })
		}
	}
}

func checkMemory(t *testing.T, spec models.Spec, precision graph.Precision) {
	device, err := cuda.Open(cuda.Options{Precision: precision})
	require.NoError(t, err)
	newMemoryStep(t, spec, precision).close(t)
	before, total, err := device.Memory()
	require.NoError(t, err)
	allocated := emulator.Counters().InUse
	t.Logf("apart from the step, %.0f MiB are taken: by context, kernels and cuBLAS of this program, and by other programs", float64(total-before)/(1<<20))

	step := newMemoryStep(t, spec, precision)
	defer step.close(t)
	want := step.predicted.Total()
	if emulator.Emulated() {
		require.InEpsilon(t, want, emulator.Counters().InUse-allocated, 0.05)
	}
	after, _, err := device.Memory()
	require.NoError(t, err)
	require.InDelta(t, want, before-after, 0.05*float64(want)+float64(step.blocks()*driverBlock), "of free memory, which the driver gives in blocks")
}

// driverBlock is the size of the blocks in which a driver allocates memory: an array of more than
// half a block begins in a block of its own, smaller arrays share blocks.
const driverBlock = 2 << 20

// memoryStep is a training step that has run.
type memoryStep struct {
	predicted graph.MemoryNeed
	store     *graph.Store
	program   *graph.Program
	update    *optim.Optimizer
}

func newMemoryStep(t *testing.T, spec models.Spec, precision graph.Precision) *memoryStep {
	const batch = 4
	build := func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, spec)
		if err != nil {
			return graph.Roots{}, err
		}
		loss := m.Loss(m.Forward(b.Input("tokens", tensor.Int32, batch, spec.Seq)), b.Input("targets", tensor.Int32, batch, spec.Seq), models.Auxiliary{})
		return graph.Roots{Loss: loss, Outputs: gorgonia.Nodes{}}, m.Err()
	}
	o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Device: graph.CUDA, Precision: precision, Training: true}}
	s := &memoryStep{store: graph.NewStore(tensor.Float32, 1)}
	var err error
	s.predicted, err = graph.PredictMemory(o, build)
	require.NoError(t, err)
	o.Store = s.store
	s.program, err = graph.Compile(o, build)
	require.NoError(t, err)
	s.update, err = optim.New(s.store, 1)
	require.NoError(t, err)
	require.NoError(t, s.program.Run(graph.RunOptions{}))
	_, err = s.update.Step(1)
	require.NoError(t, err)
	return s
}

func (s *memoryStep) close(t *testing.T) {
	s.update.Close()
	s.program.Close()
	require.NoError(t, s.store.Close())
}

// blocks returns how many blocks of the driver may be partly empty: one with small arrays, and one
// for each large parameter's arrays, the arena and the scratch memory.
func (s *memoryStep) blocks() int {
	n := 3
	for _, p := range s.store.Params() {
		if 4*p.Size() > driverBlock/2 {
			n += 4
		}
	}
	return n
}
