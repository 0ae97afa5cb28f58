package optim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// foreign is a rule of another module, which no device computes.
type foreign struct{}

func (foreign) String() string                        { return "Foreign" }
func (foreign) State() []string                       { return []string{"foreign1", "foreign2"} }
func (foreign) Open([]*optim.Row) error               { return nil }
func (foreign) WidthDivisor(float64) (float64, error) { return 1, nil }
func (foreign) Update([]*optim.Row, optim.Now)        {}

// onDevice is one that a device computes, by the kernel of AdamW.
type onDevice struct{ foreign }

func (onDevice) OnDevice(row *graph.UpdateRow) { row.Beta1, row.Beta2, row.Eps = 0.5, 0.25, 1e-3 }

// onlyRecorded returns the Store of a model that is recorded for a GPU, without one.
func onlyRecorded(t *testing.T) *graph.Store {
	t.Helper()
	c := models.Transformer(1, 8, 16, 2)
	c.Vocab, c.Seq = 16, 8
	spec, err := c.Resolve()
	require.NoError(t, err)
	o := graph.ProgramOptions{Gradients: true, Options: graph.Options{Training: true}}
	recording, err := models.Record(spec, 1, 8, models.Outputs{Loss: true}, o, cuda.NewRecorder(graph.FP32, 132))
	require.NoError(t, err)
	require.True(t, recording.Store.OnDevice())
	return recording.Store
}

// TestDeviceRules: a device takes rules by what they can do, of whatever module, and refuses those
// without a kernel by name. All matrices that Muon updates have one momentum.
func TestDeviceRules(t *testing.T) {
	muon := func(momentum float64) optim.Part { return optim.Muon(momentum, optim.ScaleOriginal) }
	for want, parts := range map[string][]optim.Part{
		"want a rule that a device computes, such as AdamW or Muon, got SGD":     {optim.SGD()},
		"want a rule that a device computes, such as AdamW or Muon, got Foreign": {optim.Use(foreign{})},
		"want one momentum of Muon on a device, got 0.9 and 0.8": {optim.Group(optim.HiddenMatrices, muon(0.9)),
			optim.Group(func(p *graph.Param) bool { return p.Name == "blocks.0.feedforward.w2" }, muon(0.8))},
	} {
		_, err := optim.New(onlyRecorded(t), 1, parts...)
		assert.ErrorContains(t, err, want)
	}
	for _, part := range []optim.Part{optim.Use(onDevice{}), optim.Group(optim.HiddenMatrices, muon(0.9))} {
		o, err := optim.New(onlyRecorded(t), 1, part)
		require.NoError(t, err)
		_, err = o.Step(1)
		assert.NoError(t, err)
		o.Close()
	}
}
