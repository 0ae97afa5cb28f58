//go:build cuda

package models_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/cuda/emulator"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/optim"
)

// TestDeviceRunsWhatIsRecorded: a training step starts exactly the kernels and products that a
// recording of it lists, counted by name.
func TestDeviceRunsWhatIsRecorded(t *testing.T) {
	if !emulator.Emulated() {
		t.Skip("want the emulator, which counts launches, got a GPU")
	}
	const batch, seq = 1, 16
	want := models.Outputs{Loss: true, ExpertCounts: true}
	presets := []string{"quickstart", "quickstart-transformer", "quickstart-moe", "quickstart-mhc"}
	if testing.Short() {
		presets = presets[:1]
	}
	for _, name := range presets {
		preset, err := models.Standard().Preset(name)
		require.NoError(t, err)
		c := modeltest.Resolve(t, preset.Config)
		for _, precision := range graph.Precisions() {
			o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Device: graph.CUDA, Precision: precision, Training: true}}
			launches, products := recordedCounts(t, c, batch, seq, want, o)

			o.Store = graph.NewStore(tensor.Float32, 1)
			p, err := models.Compile(c, batch, seq, want, o)
			require.NoError(t, err)
			update, err := optim.New(o.Store, 1)
			require.NoError(t, err)
			emulator.ResetCounters()
			require.NoError(t, p.Run(graph.RunOptions{}))
			_, err = update.Step(1)
			require.NoError(t, err)
			got := emulator.Counters()
			assert.Equal(t, launches, got.Launches, "%s, %s", name, precision)
			assert.Equal(t, products, got.Products, "%s, %s", name, precision)
			update.Close()
			p.Close()
			require.NoError(t, o.Store.Close())
		}
	}
}

// recordedCounts counts what a recording lists.
func recordedCounts(t *testing.T, spec models.Spec, batch, seq int, want models.Outputs, o graph.ProgramOptions) (launches map[string]uint64, products uint64) {
	r := cuda.NewRecorder(o.Precision, 0)
	recording, err := models.Record(spec, batch, seq, want, o, r)
	require.NoError(t, err)
	update, err := optim.New(recording.Store, 1)
	require.NoError(t, err)
	defer update.Close()
	_, err = update.Step(1)
	require.NoError(t, err)
	work := r.Take()
	for _, op := range recording.Ops {
		work = append(work, op.Work...)
	}
	launches = map[string]uint64{}
	for _, w := range work {
		switch {
		case w.Product != nil:
			products++
		case w.Kernel != "":
			launches[w.Kernel]++
		}
	}
	return launches, products
}
