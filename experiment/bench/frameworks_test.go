package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// TestFrameworksTrainTheSameModel: from the same weights and tokens, JAX and PyTorch have our
// losses at the first step and at those after it, which depend on all gradients.
func TestFrameworksTrainTheSameModel(t *testing.T) {
	for name, packages := range map[string]string{"jax_xla": "jax, optax", "pytorch": "torch, numpy"} {
		t.Run(name, func(t *testing.T) {
			python := script{python: cmp.Or(os.Getenv("RESIDUA_PYTHON"), "python3")}
			if err := python.runs(t.Context(), "import "+packages); err != nil {
				t.Skipf("%s cannot import %s (RESIDUA_PYTHON names another Python): %v", python.python, packages, err)
			}
			for kind, c := range map[string]models.Config{"matrix": models.RMT(2, 4, 5, 3, 14), "vector": models.Transformer(2, 12, 20, 3)} {
				c.Vocab = 11
				w, err := newWorkload(kind, models.Preset{Config: c}, 2, 6)
				require.NoError(t, err)
				given, want := trainedHere(t, w)
				assert.InDeltaSlice(t, want, trainedBy(t, python.python, name, given), 2e-5, kind)
			}
		})
	}
}

// trainedHere returns what a framework is given to train a workload's model for some steps, and our
// losses before them.
func trainedHere(t *testing.T, w Workload) (given map[string]any, losses []float64) {
	store := graph.NewStore(tensor.Float32, 3)
	r, err := newResiduaOn(store, w, Target{Threads: 1}, optim.Adam(beta1, beta2, adamEps), optim.Rate(learningRate, optim.Constant{}),
		optim.Decay(weightDecay, optim.Coupled, func(*graph.Param) bool { return true }))
	require.NoError(t, err)
	defer r.close()
	weights, draw := map[string][]float32{}, rand.New(rand.NewPCG(3, 4))
	for _, p := range store.Params() {
		values := p.Value.Data().([]float32)
		for i := range values {
			values[i] = float32(0.4 * draw.NormFloat64())
			if strings.HasSuffix(p.Name, "norm") {
				values[i]++
			}
		}
		weights[p.Name] = slices.Clone(values)
	}
	tokens, targets := randomBatch(w)
	const steps = 6
	given = map[string]any{"model": w.Spec.Config, "weights": weights, "batch": w.Batch, "tokens": tokens, "targets": targets, "steps": steps}
	for range steps {
		loss, err := r.step()
		require.NoError(t, err)
		losses = append(losses, loss)
	}
	assert.Greater(t, losses[0]-losses[steps-1], 1e-2, "steps that change the loss")
	return given, losses
}

// trainedBy returns a framework's losses.
func trainedBy(t *testing.T, python, name string, given map[string]any) []float64 {
	text, err := json.Marshal(given)
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), python, "testdata/losses.py", name)
	var stderr bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(text), &stderr
	out, err := c.Output()
	require.NoError(t, err, stderr.String())
	var got struct{ Losses []float64 }
	require.NoError(t, json.Unmarshal(out, &got))
	return got.Losses
}
