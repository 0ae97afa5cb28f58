package theory

import (
	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
)

// The two models of GPT-2 medium's sizes, which the paper's Tables 2 to 4 are about.
const (
	mediumRMT         = "rmt-305m"
	mediumTransformer = "transformer-405m"
)

// presetConfig is the config of a known model.
func presetConfig(name string) (models.Config, error) {
	preset, known, ok := models.FindPreset(name)
	if !ok {
		return models.Config{}, errors.Errorf("theory: preset: want one of %v, got %q", known, name)
	}
	return preset.Config.Resolve(), nil
}

// sizes are those that reads and writes of GPT-2 medium's size have.
type sizes struct{ dk, dv, rank, width, ff int }

func mediumSizes() (sizes, error) {
	matrix, err := presetConfig(mediumRMT)
	if err != nil {
		return sizes{}, err
	}
	vector, err := presetConfig(mediumTransformer)
	if err != nil {
		return sizes{}, err
	}
	return sizes{keySize(matrix), matrix.HeadDim(), matrix.HeadCount(), vector.Width(), vector.FF}, nil
}

// keySize is Dk of an RMT, whose stream has Dk rows of a head's size.
func keySize(c models.Config) int { return c.StreamSize() / c.HeadDim() }

// streamOf is the name of a known model's stream.
func streamOf(preset string) string {
	p, _, _ := models.FindPreset(preset)
	return streamName(p.Config.Resolve())
}

// streamName is that of a config's stream; "" without one.
func streamName(c models.Config) string {
	if d := c.Design(); d != nil {
		return d.Name()
	}
	return ""
}

// isRMT tells whether a model's stream is the paper's.
func isRMT(c models.Config) bool { return streamName(c) == streamOf(mediumRMT) }
