package report

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/checkpoint"
)

// TunedFile is a tuned lens in a report's folder: a safetensors file of float32, WRITER.weight [F,
// F] and WRITER.bias [F] for each map z = x weight + bias; the writers, in order, are in the
// metadata ("after").
const TunedFile = "tuned-lens.safetensors"

// tunedFormat is the value of "format" in the file's metadata.
const tunedFormat = "residua tuned lens"

// writeTuned replaces the file, whole or not at all.
func writeTuned(path string, l *analysis.TunedLens) error {
	var tensors []checkpoint.Tensor
	var after []string
	for _, t := range l.Maps {
		after = append(after, t.After)
		tensors = append(tensors,
			checkpoint.Tensor{Name: t.After + ".weight", Shape: []int{len(t.Bias), len(t.Bias)}, Data: float32s(t.Weight)},
			checkpoint.Tensor{Name: t.After + ".bias", Shape: []int{len(t.Bias)}, Data: float32s(t.Bias)})
	}
	return checkpoint.WriteTensors(path, tensors, map[string]string{"format": tunedFormat, "after": strings.Join(after, " ")})
}

func float32s(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// readTuned reads a lens that writeTuned wrote. It returns an error if the file is not a lens for a
// model with m's number of features.
func readTuned(path string, m *Model) (*analysis.TunedLens, error) {
	file, err := checkpoint.ReadTensors(path)
	if err != nil {
		return nil, errors.WithMessage(err, "tuned-file")
	}
	if file.Metadata["format"] != tunedFormat {
		return nil, errors.Errorf("tuned-file: want %s, as lens -tuned writes it, got %s", TunedFile, path)
	}
	l := analysis.IdentityLens(strings.Fields(file.Metadata["after"]), m.Spec.Features())
	for _, t := range l.Maps {
		for suffix, to := range map[string][]float64{".weight": t.Weight, ".bias": t.Bias} {
			stored, err := file.Tensor(t.After + suffix)
			if err != nil {
				return nil, errors.WithMessage(err, "tuned-file: "+path)
			}
			data, ok := stored.Data.([]float32)
			if !ok || len(data) != len(to) {
				return nil, errors.Errorf("tuned-file: %s: %s: want %d float32, of a model of %d features, got %v %s", path, stored.Name, len(to), m.Spec.Features(), stored.Shape, stored.DType())
			}
			for i, v := range data {
				to[i] = float64(v)
			}
		}
	}
	return l, nil
}
