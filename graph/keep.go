package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
)

// keep reads nodes at the end of a run, so that a stock op before it cannot write its own
// result into their memory. Its output, a scalar, means nothing.
type keep struct{ NoGradient }

func (keep) String() string { return "Keep" }

func (keep) Bytes(Cost) int { return 0 }

func (keep) Infer(in []Signature) (Signature, error) { return Signature{DType: in[0].DType}, nil }

func (keep) Run(*Call) error { return nil }

// keepValues adds a keep behind those nodes that outlive a run and have a stock reader.
func (p *Program) keepValues() error {
	var endangered gorgonia.Nodes
	for _, n := range p.kept() {
		if !n.IsScalar() && hasStockReader(n) && !slices.Contains(endangered, n) {
			endangered = append(endangered, n)
		}
	}
	if len(endangered) > 0 {
		p.keeper = p.builder.Apply(keep{}, endangered...)
	}
	return p.builder.Err()
}

func hasStockReader(n *gorgonia.Node) bool {
	for it := n.Graph().To(n.ID()); it.Next(); {
		if reader, ok := it.Node().(*gorgonia.Node); ok && opOf(reader) == nil {
			return true
		}
	}
	return false
}
