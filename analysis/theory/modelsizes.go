package theory

import (
	"fmt"
	"math"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// ModelSize is the size of a model of the paper's Table 9, in parameters.
type ModelSize struct {
	Model     string  `json:"model"`
	Paper     float64 `json:"paper"` // millions, as the paper's tables print it
	Printed   int     `json:"printed"`
	Corrected int     `json:"corrected"`
	Exact     int     `json:"exact"`
	Reading   string  `json:"reading"` // the counts that give the printed number
}

// ModelSizes compares the sizes that the paper prints for its models (Tables 3, 4 and 9) with three
// counts: Table 7's totals as printed, the sum of what Table 7 lists with the vocabulary in two
// tables, and what our models have.
type ModelSizes struct {
	Models []ModelSize `json:"models"`
}

// table9Presets are the models of the paper's Table 9 in its order, each RMT next to the
// transformer of its depth.
func table9Presets() []string {
	return []string{
		"rmt-46m", "transformer-49m", "rmt-134m", "transformer-162m",
		"rmt-206m", "transformer-264m", mediumRMT, mediumTransformer,
	}
}

// NewModelSizes counts the paper's models.
func NewModelSizes() (ModelSizes, error) {
	var sizes ModelSizes
	for _, name := range table9Presets() {
		c, err := presetModel(name)
		if err != nil {
			return ModelSizes{}, err
		}
		r, err := CountResources(name, c)
		if err != nil {
			return ModelSizes{}, err
		}
		preset, err := models.Standard().Preset(name)
		if err != nil {
			return ModelSizes{}, err
		}
		sizes.Models = append(sizes.Models, newModelSize(preset.Paper, r))
	}
	return sizes, nil
}

func newModelSize(paper float64, r Resources) ModelSize {
	size := ModelSize{Model: r.Model, Paper: paper, Printed: r.Parameters.Printed, Corrected: r.Parameters.Corrected, Exact: r.Parameters.Exact}
	for _, count := range []struct {
		name       string
		parameters int
	}{{"as printed", size.Printed}, {"corrected", size.Corrected}, {"exact", size.Exact}} {
		if math.Round(float64(count.parameters)/1e5) == math.Round(10*paper) {
			size.Reading = count.name
			break
		}
	}
	return size
}

// Name is the stem of the result's files.
func (s ModelSizes) Name() string { return "model-sizes" }

// Table has a row for each model.
func (s ModelSizes) Table() figure.Table {
	t := figure.Table{
		Title:  "Sizes of the paper's models, millions of parameters",
		Header: []string{"model", "paper", "by Table 7's totals", "corrected", "exact", "the printed number is"},
		Align:  "lrrrrl",
	}
	for _, m := range s.Models {
		t.Rows = append(t.Rows, []string{m.Model, fmt.Sprintf("%.1f", m.Paper), millions(m.Printed), millions(m.Corrected), millions(m.Exact), m.Reading})
	}
	return t
}

// Notes says what the counts leave out.
func (s ModelSizes) Notes() []string {
	return []string{"corrected: two vocabulary tables, no norm gains, positions in the RMT only. exact: all parameters. Vocabulary 50257, rows of 512 tokens."}
}

// Figures has none.
func (s ModelSizes) Figures() []figure.Figure { return nil }
