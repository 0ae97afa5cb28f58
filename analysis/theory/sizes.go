package theory

import (
	"github.com/residua-go/residua/models"
)

// The two models of GPT-2 medium's sizes, which the paper's Tables 2 to 4 are about.
const (
	mediumRMT         = "rmt-305m"
	mediumTransformer = "transformer-405m"
)

// counted is a known model with its resources.
type counted struct {
	models.Preset
	spec models.Spec
	Resources
}

// count counts a preset with some sizes replaced, by key.
func count(name string, sizes map[string]int) (counted, error) {
	preset, err := models.Standard().Preset(name)
	if err != nil {
		return counted{}, err
	}
	c, err := resized(preset.Config, sizes)
	if err != nil {
		return counted{}, err
	}
	r, err := CountResources(name, c)
	return counted{preset, c, r}, err
}

// counter counts presets until one of them fails; err is its error.
type counter struct{ err error }

func (n *counter) count(name string, sizes map[string]int) (c counted) {
	if n.err == nil {
		c, n.err = count(name, sizes)
	}
	return c
}

// resized returns a model with some sizes replaced, by key.
func resized(c models.Config, sizes map[string]int) (models.Spec, error) {
	for key, size := range sizes {
		var err error
		if c, err = c.WithSize(key, size); err != nil {
			return models.Spec{}, err
		}
	}
	return c.Resolve()
}

// presetModel returns a model of the zoo, by a name that it has.
func presetModel(name string) models.Spec {
	preset, _ := models.Standard().Preset(name)
	c, _ := preset.Config.Resolve()
	return c
}

// mediumModels returns the two models with GPT-2 medium's sizes.
func mediumModels() (matrix, vector models.Spec) {
	return presetModel(mediumRMT), presetModel(mediumTransformer)
}

// paperKinds returns the kinds of stream that the paper compares.
func paperKinds() (matrix, vector string) {
	rmt, transformer := mediumModels()
	return rmt.Stream.Name(), transformer.Stream.Name()
}

// keySize returns Dk of an RMT, whose stream has Dk rows of a head's size, Dv.
func keySize(spec models.Spec) int { return spec.StreamSize() / spec.HeadDim() }

// hidden returns the hidden width of the feed-forward.
func hidden(spec models.Spec) int { return spec.FeedForwardShape().Hidden }

// sizes are the sizes of the reads and writes in a model of GPT-2 medium's size.
type sizes struct{ dk, dv, rank, width, ff int }

func mediumSizes() sizes {
	matrix, vector := mediumModels()
	return sizes{keySize(matrix), matrix.HeadDim(), matrix.HeadCount(), vector.Width(), hidden(vector)}
}
