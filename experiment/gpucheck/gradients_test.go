package gpucheck

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// runWith makes a run folder of one step, whose optimizer has these averages of the gradients of w,
// and others of x.
func runWith(t *testing.T, values ...float32) string {
	t.Helper()
	run := runOf(t, 3)
	folder := filepath.Join(run, "checkpoints", "step-00000001")
	require.NoError(t, os.MkdirAll(folder, 0o755))
	tensors := []checkpoint.Tensor{{Name: "w.moment1", Shape: []int{len(values)}, Data: values}, {Name: "x.moment1", Shape: []int{1}, Data: []float32{1}}, {Name: "w.moment2", Shape: []int{1}, Data: []float32{7}}}
	require.NoError(t, checkpoint.WriteTensors(filepath.Join(folder, "optimizer.safetensors"), tensors, nil))
	return run
}

// TestCompareGradients: a change in one entry, its sign or its place is seen, also where losses are
// the same; rounding is allowed for.
func TestCompareGradients(t *testing.T) {
	values := func(change func(v []float32)) []float32 {
		v := make([]float32, 100)
		for i := range v {
			v[i] = float32(math.Sin(float64(i + 1)))
		}
		change(v)
		return v
	}
	want := t.TempDir()
	require.NoError(t, SaveStep(runWith(t, values(func([]float32) {})...), want))
	for name, c := range map[string]struct {
		change func(v []float32)
		wrong  string
	}{
		"the same": {func([]float32) {}, ""},
		"rounded":  {func(v []float32) { v[3] *= 1.001 }, ""},
		"an entry": {func(v []float32) { v[3] = 2 }, "want gradients within 1e-02 of their norms, got a difference of"},
		"a sign":   {func(v []float32) { v[70] = -v[70] }, "of w"},
		"a place":  {func(v []float32) { copy(v[1:], values(func([]float32) {})) }, "of w"},
		"NaN":      {func(v []float32) { v[3] = float32(math.NaN()) }, "got a difference of NaN of w"},
	} {
		var out bytes.Buffer
		err := Comparison{Name: "tiny", Want: want, Got: runWith(t, values(c.change)...), Tolerance: 1e-3, Gradients: 1e-2}.Write(&out)
		assert.Contains(t, out.String(), "figure: tiny: gradients of 2 parameters, largest difference ", name)
		if c.wrong == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, c.wrong, name)
		}
	}
	err := Comparison{Want: want, Got: runOf(t, 3), Tolerance: 1, Gradients: 1}.Write(&bytes.Buffer{})
	require.ErrorContains(t, err, "want a checkpoint with the optimizer's state, got none; set train.checkpoint_every")
}
