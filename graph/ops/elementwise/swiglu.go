package elementwise

import (
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// SwiGLU computes the product of a gated linear unit whose gate is SiLU (Shazeer 2020, arXiv
// 2002.05202, section 2), elementwise:
//
//	y = silu(gate) ⊙ value,   silu(x) = x sigmoid(x)
//
// gate, value and y have the same shape.
func SwiGLU(b *graph.Builder, gate, value *gorgonia.Node) *gorgonia.Node {
	return b.Formula(kernel.SwiGLUFormula(), gorgonia.Nodes{gate, value})[0]
}
