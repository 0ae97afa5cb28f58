package report

import "github.com/residua-go/residua/analysis"

// SubspacesOptions has no options yet.
type SubspacesOptions struct{}

// Subspaces reports what sites read and write, from the weights alone.
func Subspaces(m *Model, _ SubspacesOptions) (*Report, error) {
	r := on(m, analysis.AnalysisSubspaces, "Subspaces of the stream", nil)
	r.part("subspaces", "What is read and written", "The directions that each site reads and writes, and how far what one site writes lies in what a later one reads.")(analysis.FindSubspaces(m.Store, m.Spec))
	r.part("heads", "Do heads write to disjoint subspaces?", "Heads that write to subspaces of their own do not touch each other's information: the rank of what all write is then the sum of their ranks, and two subspaces overlap less than random ones.")(analysis.FindHeadSpaces(m.Store, m.Spec, analysis.HeadSpacesOptions{}))
	r.part("bandwidth", "Bandwidth", "Many more dimensions communicate through the stream than it has.")(analysis.CountBandwidth(m.Spec))
	r.part("erasure", "Memory management", "A head or a neuron whose written direction is opposite to the one it reads takes out of the stream what it finds there.")(analysis.MeasureErasure(m.Store, m.Spec))
	return r, r.err
}
