package report

import (
	"context"

	"github.com/residua-go/residua/analysis"
)

// Subspaces shows the subspaces that sites read and write, from the weights alone. It has no
// settings.
type Subspaces struct{}

// Name is subspaces.
func (Subspaces) Name() string { return "subspaces" }

// Card describes Subspaces.
func (Subspaces) Card() Card {
	return Card{
		Summary: "what sites read and write: spectra, overlaps, disjoint heads, bandwidth, erasers",
		Example: `
			analyze subspaces -checkpoint runs/quickstart
			analyze subspaces -checkpoint runs/quickstart -out /tmp/subspaces`,
		Notes: `
			It looks at weights alone. A model of GPT-2 small's size takes a minute on two cores.`,
		Needs: analysis.CheckWeighted,
	}
}

// Run reports what sites read and write, from the weights alone.
func (Subspaces) Run(ctx context.Context, m *Model) (*Report, error) {
	r := m.NewReport("Subspaces of the stream", nil)
	r.part("subspaces", "What is read and written", "The directions that each site reads and writes, and how far what one site writes lies in "+
		"what a later one reads.")(analysis.FindSubspaces(ctx, m.Store, m.Spec))
	r.part("heads", "Do heads write to disjoint subspaces?", "Heads that write to subspaces of their own do not touch each other's information: the rank "+
		"of what all write is then the sum of their ranks, and two subspaces overlap less than random ones.")(analysis.FindHeadSpaces(ctx, m.Store, m.Spec, 4))
	r.part("bandwidth", "Bandwidth", "Many more dimensions communicate through the stream than it has.")(analysis.CountBandwidth(m.Spec))
	r.part("erasure", "Memory management", "A head or a neuron whose written direction is opposite to the one it reads takes out of the stream "+
		"what it finds there.")(analysis.MeasureErasure(ctx, m.Store, m.Spec))
	return r, r.err
}
