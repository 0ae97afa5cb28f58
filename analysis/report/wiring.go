package report

import (
	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/check"
)

// WiringOptions say which connections are shown.
type WiringOptions struct {
	Prompt                        // for the coefficients of a stream that mixes what was written; no other stream asks
	analysis.WiringOptions        // Run is made from Prompt
	From                   string `yaml:"from" help:"show the virtual weights from writer <W> alone, with -to"`
	To                     string `yaml:"to" help:"show the virtual weights to reader <R> alone, with -from"`
}

// Wiring reports who writes where and who reads it.
func Wiring(m *Model, o WiringOptions) (*Report, error) {
	if (o.From == "") != (o.To == "") {
		return nil, check.Value("from", "it with -to, or neither", "one of them")
	}
	r, run, err := onWeights(m, analysis.AnalysisWiring, "Wiring", o.Prompt)
	if err != nil {
		return nil, err
	}
	if o.From != "" {
		r.part("weights", "Virtual weights", "What one site writes and another reads are connected through the stream by the product of their weights.")(analysis.Connect(m.Store, m.Spec, o.From, o.To, run))
		return r, r.err
	}
	o.Run = run
	r.part("wiring", "Who writes, who reads", "Rows in the order of the run, from the top; letters say as what a head reads it: query, key or value. An edge is a virtual weight that random weights hardly ever have.")(analysis.Wire(m.Store, m.Spec, o.WiringOptions))
	return r, r.err
}
