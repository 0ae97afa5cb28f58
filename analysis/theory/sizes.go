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
	return sizes{matrix.Dk, matrix.Dv, matrix.Rank, vector.DModel, vector.FF}, nil
}
