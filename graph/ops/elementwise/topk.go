package elementwise

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// topK keeps the largest entries of each token.
type topK struct{ k int }

// TopK keeps each token's k largest entries where they are positive, the features of a TopK
// autoencoder (Gao et al. 2024, arXiv 2406.04093, section 2.3):
//
//	y = x where x > 0 is among the k largest of its token, else 0
//
// x [T, ...n], read flattened over its last axes; y like x. Of equal entries the first are kept. It
// runs on the CPU alone.
func TopK(b *graph.Builder, x *gorgonia.Node, k int) *gorgonia.Node { return b.Apply(topK{k}, x) }

func (k topK) String() string { return fmt.Sprintf("TopK(%d)", k.k) }

func (k topK) Infer(in []graph.Signature) (graph.Signature, error) {
	if n := in[0].Width(); k.k < 1 || k.k > n {
		return graph.Signature{}, errors.Errorf("k: want 1 to %d, the number of a token's entries, got %d", n, k.k)
	}
	return in[0], nil
}

func (topK) InPlace(int) bool { return true }

func (topK) VJP(d *graph.Derivative) {
	d.Set(0, d.Builder().Formula(kernel.WherePositiveFormula(), gorgonia.Nodes{d.Gradient(), d.Output()})[0])
}

func (k topK) Run(c *graph.Call) { graph.Dispatch(c, k, runTopK, runTopK) }

func runTopK[T kernel.Float](k topK, c graph.CallOf[T]) {
	graph.State[kernel.TopK[T]](c).Run(c.Pool(), c.Out(), c.In(0), c.Signature(0).Width(), k.k)
}
