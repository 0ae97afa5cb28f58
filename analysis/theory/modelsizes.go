package theory

import (
	"fmt"
	"strings"

	"github.com/residua-go/residua/figure"
)

// modelSize is the size of a model of the paper's Tables 8 and 9, in parameters.
type modelSize struct {
	Model     string  `json:"model"`
	Paper     float64 `json:"paper"` // millions, as printed: in whole ones, 160 and 260 in tens
	Printed   int     `json:"printed"`
	Corrected int     `json:"corrected"`
	Exact     int     `json:"exact"`
	Reading   string  `json:"reading"` // the counts that round to the printed number
}

// modelSizes compares the sizes that the paper prints for its models with three counts: Table 7's
// totals as printed, the sum of what Table 7 lists with the vocabulary in two tables, and what our
// models have. The printed sizes are too coarse to tell the last two apart.
type modelSizes struct {
	Models []modelSize `json:"models"`
}

// table9Presets lists the models of the paper's Table 9 in its order, each RMT next to the
// transformer of its depth.
func table9Presets() []string {
	return []string{
		"rmt-46m", "transformer-49m", "rmt-134m", "transformer-162m",
		"rmt-206m", "transformer-264m", mediumRMT, mediumTransformer,
	}
}

// newModelSizes counts the paper's models.
func newModelSizes() (modelSizes, error) {
	var sizes modelSizes
	for _, name := range table9Presets() {
		m, err := count(name, nil)
		if err != nil {
			return modelSizes{}, err
		}
		sizes.Models = append(sizes.Models, newModelSize(m))
	}
	return sizes, nil
}

func newModelSize(m counted) modelSize {
	size := modelSize{Model: m.Name, Paper: m.Paper, Printed: m.Parameters.Printed, Corrected: m.Parameters.Corrected, Exact: m.Parameters.Exact}
	var readings []string
	for _, count := range []struct {
		name       string
		parameters int
	}{{"Table 7's totals", size.Printed}, {"corrected", size.Corrected}, {"exact", size.Exact}} {
		if m.RoundsToPaper(count.parameters) {
			readings = append(readings, count.name)
		}
	}
	size.Reading = strings.Join(readings, ", ")
	return size
}

// Table has a row for each model.
func (s modelSizes) Table() figure.Table {
	t := figure.NewTable("Sizes of the paper's models, millions of parameters", "lrrrrl",
		"model", "printed", "Table 7's totals", "corrected", "exact", "the printed number equals")
	for _, m := range s.Models {
		t.Row(m.Model, fmt.Sprintf("%.0f", m.Paper), millions(m.Printed), millions(m.Corrected), millions(m.Exact), m.Reading)
	}
	return t
}

// modelSizesNotes says what is printed and what the counts leave out.
const modelSizesNotes = "printed: by the paper, 160 and 260 rounded to tens; all other columns are computed. corrected: two vocabulary tables, no " +
	"norm gains, positions in the RMT only. exact: all parameters. Vocabulary 50257, rows of 512 tokens."
