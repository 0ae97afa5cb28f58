package report

import (
	"context"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/numerics"
)

// Basis measures whether the stream's own basis is privileged. Its fields say on what text, and
// against how many random rotations.
type Basis struct {
	Prompt // of any length: it is read in rows as long as those of training
	analysis.BasisOptions
}

// Name is basis.
func (Basis) Name() string { return "basis" }

// Card describes Basis.
func (Basis) Card() Card {
	return Card{
		Summary: "whether the stream's own basis is privileged: kurtosis, compared with random rotations",
		Example: `
			analyze basis -checkpoint runs/quickstart
			analyze basis -checkpoint runs/quickstart -prompt "$(cat cli/cli.go)" -out /tmp/basis`,
		Notes: `
			The more tokens, the surer the numbers: a prompt may be of any length here, it is read in
			rows as long as those of training (Elhage, Lasenby & Olah 2023).`,
	}
}

// Run reports whether the stream's own basis is privileged.
func (o Basis) Run(ctx context.Context, m *Model) (*Report, error) {
	ids, err := o.Prompt.encode(m, 2)
	if err != nil {
		return nil, err
	}
	r := m.NewReport("Privileged basis", nil) // whose rows are as long as those of training
	r.Tokens = m.tokens(ids)
	r.part("basis", "Own basis and rotated ones",
		"In a stream without a privileged basis, entries are distributed along its own directions as along those of a random rotation. A kurtosis below "+
			"that of rotated copies is no sign of a basis like any other: where few directions hold the outliers, rotations spread them over all "+
			"(\"across\" shows it).")(analysis.MeasureBasis(ctx, m.Store, m.Spec, ids, o.BasisOptions))
	return r, r.err
}

// Curves are the mean kurtoses of the stream's own basis, relative to those of rotated ones.
func (Basis) Curves(_ *Model, r *Report) (all []Curve, err error) {
	for _, p := range r.Results["basis"].(*analysis.BasisReport).Points {
		own := p.MeanKurtosis
		all = append(all, Curve{p.Site + " " + p.Space, "kurtosis over that of rotated copies", numerics.Ratio(own.Own, own.Rotated), new(1.0)})
	}
	return all, nil
}
