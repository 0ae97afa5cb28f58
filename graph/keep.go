package graph

import (
	"slices"

	"gorgonia.org/gorgonia"
)

// keepAlive reads nodes at the end of a run, so that no stock op before it can write its result
// into their memory. Its own output, a scalar, has no meaning.
type keepAlive struct{ NoGradient }

func (keepAlive) String() string { return "Keep" }

func (keepAlive) Bytes(Cost) int { return 0 }

func (keepAlive) Run(*Call) {}

// keepAliveAtEnd adds a keepAlive for the nodes that a stock op reads and whose values are needed
// after a run.
func (p *Program) keepAliveAtEnd() error {
	var endangered gorgonia.Nodes
	for _, n := range p.liveAtEnd() {
		if !n.IsScalar() && hasStockReader(n) && !slices.Contains(endangered, n) {
			endangered = append(endangered, n)
		}
	}
	if len(endangered) > 0 {
		p.keepAlive = p.builder.apply(keepAlive{}, &Signature{DType: endangered[0].Dtype()}, endangered)
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
