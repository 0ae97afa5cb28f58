package elementwise

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// dropout sets entries to zero by a mask that depends only on (seed, site, step, entry).
type dropout struct {
	rate float64
	seed uint64
	site uint32
}

// Dropout sets each entry to zero with probability rate and multiplies the others by 1/(1-rate)
// (Srivastava et al. 2014). The mask depends only on Options.Seed, on the number of the dropout in
// the graph, on the training step and on the entry, so the backward pass and a recomputation draw
// the same one. Without Options.Training, or with rate 0, Dropout returns x itself.
func Dropout(b *graph.Builder, x *gorgonia.Node, rate float64) *gorgonia.Node {
	if !(rate >= 0 && rate < 1) {
		b.Fail(errors.Errorf("graph: Dropout: want a rate in [0, 1), got %g", rate))
		return nil
	}
	site := b.DropoutSite()
	if !b.Training() || rate == 0 {
		return x
	}
	return b.Apply(dropout{rate, b.Seed(), site}, x)
}

func (k dropout) String() string {
	return fmt.Sprintf("Dropout(%g, seed=%d, site=%d)", k.rate, k.seed, k.site)
}

func (k dropout) Infer(in []graph.Signature) (graph.Signature, error) { return in[0], nil }

func (k dropout) InPlace(int) bool { return true }

func (k dropout) VJP(d *graph.Derivative) {
	d.Make(0, k, d.Gradient())
}

func (k dropout) Run(c *graph.Call) {
	graph.Dispatch(c, k, runDropout, runDropout)
}

func runDropout[T kernel.Float](k dropout, c graph.CallOf[T]) {
	key := kernel.DropoutKey{Seed: k.seed, Site: k.site, Step: c.Step()}
	graph.State[kernel.Dropout[T]](c).Run(c.Pool(), c.Out(), c.In(0), k.rate, key)
}
