package report

import (
	"github.com/residua-go/residua/analysis/theory"
)

// TheoryName is what the report of Theory calls its analysis.
const TheoryName = "theory"

// TheoryOptions say what is computed besides the paper's own models.
type TheoryOptions struct {
	Models []theory.Model // counted in Table 7, too
	Seed   uint64         `yaml:"seed" default:"1" help:"seed the Monte-Carlo runs with <N>"`
}

// Theory reports the RMT paper's tables and figures, computed from its formulas.
func Theory(o TheoryOptions) (*Report, error) {
	results, err := theory.All(o.Seed, o.Models...)
	if err != nil {
		return nil, err
	}
	r := New("Theory of the Residual Matrix Transformer", "Mak & Flanigan 2025, arXiv 2506.22696: what the paper derives and counts, computed from its inputs")
	r.Analysis = TheoryName
	for _, result := range results {
		r.Add(result.Name, result.Of.Table().Title, result.Notes, result.Of)
	}
	return r, nil
}
