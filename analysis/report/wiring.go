package report

import (
	"context"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/models/check"
)

// Wiring shows who writes where and who reads it. Its fields say which connections are shown.
type Wiring struct {
	Prompt                        // used only for streams that mix what was written: their coefficients depend on it
	analysis.WiringOptions        // Run is made from Prompt
	From                   string `yaml:"from" help:"show the virtual weights from writer <W> alone, with -to"`
	To                     string `yaml:"to" help:"show the virtual weights to reader <R> alone, with -from"`
}

// Name is wiring.
func (Wiring) Name() string { return "wiring" }

// Card describes Wiring.
func (Wiring) Card() Card {
	return Card{
		Summary: "the wiring diagram: who writes where, and who reads it, by virtual weights",
		Example: `
			analyze wiring -checkpoint runs/quickstart -out /tmp/wiring
			analyze wiring -checkpoint runs/quickstart -from embedding -to blocks.1.attention.3.q`,
		Notes: `
			A connection's strength is compared with random weights: the same ones, rotated at random. -fdr
			says how many of the connections that are kept may be there by chance. -from and -to show the
			virtual weights of one connection; writers are embedding, positions, blocks.0.attention (or .1 for
			a head), blocks.0.feedforward, readers blocks.0.attention.q (or .1.q), blocks.0.feedforward,
			unembedding.
			` + onlyWhereMixed,
		Needs: analysis.CheckWeighted,
	}
}

// Run reports who writes where and who reads it.
func (o Wiring) Run(ctx context.Context, m *Model) (*Report, error) {
	if (o.From == "") != (o.To == "") {
		return nil, check.Value("from", "it with -to, or neither", "one of them")
	}
	r, run, err := m.onWeights("Wiring", o.Prompt)
	if err != nil {
		return nil, err
	}
	if o.From != "" {
		r.part("weights", "Virtual weights", "What one site writes and another reads are connected through the stream by the product of their weights.")(
			analysis.Connect(m.Store, m.Spec, o.From, o.To, run))
		return r, r.err
	}
	o.WiringOptions.Run = run
	r.part("wiring", "Who writes, who reads", "Rows in the order of the run, from the top; letters say as what a head reads it: query, key or value. An "+
		"edge is a virtual weight that random weights hardly ever have.")(analysis.Wire(ctx, m.Store, m.Spec, o.WiringOptions))
	return r, r.err
}
