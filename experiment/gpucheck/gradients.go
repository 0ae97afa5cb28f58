package gpucheck

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/checkpoint"
)

// gradient summarises a parameter's gradient: its norm, and its product with a vector of random
// signs, which reveals wrong signs and misplaced entries. The difference of two such products is
// about the norm of the gradients' difference.
type gradient struct {
	Norm       float64 `json:"norm"`
	Projection float64 `json:"projection"`
}

func newGradient(values []float32) gradient {
	random := rand.New(rand.NewPCG(1, 0))
	var g gradient
	signs := uint64(0)
	for i, v := range values {
		if i%64 == 0 {
			signs = random.Uint64()
		}
		x := float64(v)
		g.Norm += x * x
		if signs>>(i%64)&1 == 1 {
			x = -x
		}
		g.Projection += x
	}
	g.Norm = math.Sqrt(g.Norm)
	return g
}

// savedGradients is the name of the file with gradients in a folder that SaveStep has written.
const savedGradients = "gradients.json"

// firstMoment ends the names of optimizer states that average the gradients.
const firstMoment = ".moment1"

// runGradients returns the averages of all gradients in a run's last checkpoint, by the parameters'
// names.
func runGradients(run string) (map[string]gradient, error) {
	files, err := filepath.Glob(filepath.Join(run, "checkpoints", "*", "optimizer.safetensors"))
	if err != nil {
		return nil, errors.WithStack(err)
	}
	if len(files) == 0 {
		return nil, errors.Errorf("%s: want a checkpoint with the optimizer's state, got none; set train.checkpoint_every", run)
	}
	newest := slices.Max(files)
	file, err := checkpoint.ReadTensors(newest)
	if err != nil {
		return nil, err
	}
	gradients := map[string]gradient{}
	for _, t := range file.Tensors {
		if name, is := strings.CutSuffix(t.Name, firstMoment); is {
			values, is := t.Data.([]float32)
			if !is {
				return nil, errors.Errorf("%s: %s: want elements of type F32, got %s", newest, t.Name, t.DType())
			}
			gradients[name] = newGradient(values)
		}
	}
	return gradients, nil
}

// SaveStep writes the part of a run that a comparison needs into a folder: its losses, and a
// summary of each parameter's gradient.
func SaveStep(run, folder string) error {
	metrics, err := os.ReadFile(filepath.Join(run, "metrics.jsonl"))
	if err != nil {
		return errors.WithStack(err)
	}
	gradients, err := runGradients(run)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(gradients, "", " ")
	if err != nil {
		return errors.WithStack(err)
	}
	if err := os.WriteFile(filepath.Join(folder, savedGradients), append(text, '\n'), 0o644); err != nil {
		return errors.WithStack(err)
	}
	return errors.WithStack(os.WriteFile(filepath.Join(folder, "metrics.jsonl"), metrics, 0o644))
}

// worstGradient returns the largest difference between gradients, relative to their norm, and the
// parameter's name. Norms below a hundred-thousandth of the largest gradient count as that much.
func worstGradient(want, got map[string]gradient) (difference float64, of string, err error) {
	largest := 0.0
	for _, w := range want {
		largest = max(largest, w.Norm)
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		w := want[name]
		g, found := got[name]
		if !found || len(got) != len(want) {
			return 0, "", errors.Errorf("gradients: want those of %d parameters, %s among them, got %d", len(want), name, len(got))
		}
		d := max(math.Abs(g.Norm-w.Norm), math.Abs(g.Projection-w.Projection)) / max(w.Norm, 1e-5*largest)
		if math.IsNaN(d) {
			return d, name, nil
		}
		if of == "" || d > difference {
			difference, of = d, name
		}
	}
	return difference, of, nil
}
