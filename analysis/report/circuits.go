package report

import (
	"context"

	"github.com/residua-go/residua/analysis"
)

// Circuits are the QK and OV circuits of heads, or of one head of one layer.
type Circuits struct {
	Prompt // used only for streams that mix what was written: their coefficients depend on it
	Place
	// Full is nil for true.
	Full *bool `yaml:"full" bare:"true" help:"also compute the circuits from vocabulary to vocabulary; -full=false: do not, for large models (default true)"`
	// 0: 64
	Draws int    `yaml:"draws" default:"64" min:"2" max:"1000000" help:"compare scores from token to token with those of <N> randomly rotated heads of each layer"`
	Seed  uint64 `yaml:"seed" default:"1" help:"seed these draws with <N>"`
	Top   int    `yaml:"top" default:"20" min:"1" max:"1000000" help:"list <N> heads, those that copy most first"` // 0: 20
}

// Name is circuits.
func (Circuits) Name() string { return "circuits" }

// Card describes Circuits.
func (Circuits) Card() Card {
	return Card{
		Summary: "QK and OV circuits of heads: eigenvalues, copying scores, composition",
		Example: `
			analyze circuits -checkpoint runs/quickstart
			analyze circuits -checkpoint runs/quickstart -layer 1 -head 3 -out /tmp/circuits`,
		Notes: `
			Circuits as in Elhage et al. 2021, norms folded into the weights, QK-norm's and
			LayerScale's gains, too; the scales by which norms divide depend on the token and are left
			out. With -layer and -head, that head's circuits are shown alone, with their eigenvalues.
			` + onlyWhereMixed,
		Needs: analysis.CheckWeighted,
	}
}

// Run reports the QK and OV circuits of heads, or of one head of one layer.
func (o Circuits) Run(ctx context.Context, m *Model) (*Report, error) {
	at, err := o.Place.in(m.Spec)
	if err != nil {
		return nil, err
	}
	r, run, err := m.onWeights("Circuits of heads", o.Prompt)
	if err != nil {
		return nil, err
	}
	found, err := analysis.FindCircuits(ctx, m.Store, m.Spec, analysis.CircuitOptions{
		Run: run, WithoutVocabulary: o.Full != nil && !*o.Full, Draws: o.Draws, Seed: o.Seed,
	})
	if err != nil {
		return nil, err
	}
	if at.one() {
		head, _ := found.Head(at.layer, at.head) // no error: in has checked both
		r.Add("head", head.Name(), "The eigenvalues of a head's circuits: OV says what it writes of what it attends to, QK what it attends to.", head)
		return r, nil
	}
	found.Show(o.Top, at.has)
	r.Add("circuits", "Circuits", "The heads that copy most first.", found)
	composition, err := analysis.Compose(ctx, m.Store, m.Spec, run)
	if err != nil || len(composition.Pairs) == 0 {
		return r, err
	}
	r.Add("composition", "Composition", "How much of what a head writes a head of a later layer reads: as queries, as keys, as values.", composition)
	return r, nil
}
