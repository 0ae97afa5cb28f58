package graph

import (
	"fmt"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// dropout zeroes entries by a mask that is a pure function of (seed, site, step, entry).
type dropout struct {
	rate float64
	seed uint64
	site uint32
}

// Dropout zeroes each entry with probability rate and multiplies the others by
// 1/(1-rate) (Srivastava et al. 2014). The mask depends on Options.Seed, on which
// dropout of the graph this is, on the training step and on the entry, on nothing else:
// the backward pass and a recomputation draw the same one. Without Options.Training, or
// with rate 0, x itself is returned.
func (b *Builder) Dropout(x *gorgonia.Node, rate float64) *gorgonia.Node {
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

func (k dropout) Infer(in []Signature) (Signature, error) { return in[0], WantFloats(in) }

func (k dropout) InPlace(int) bool { return true }

func (k dropout) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Apply(k, d.Gradient()))
	}
}

func (k dropout) Run(c *Call) error {
	return Dispatch(c, k, runDropout[float32], runDropout[float64])
}

func runDropout[T kernel.Float](k dropout, c *Call) error {
	key := kernel.DropoutKey{Seed: k.seed, Site: k.site, Step: c.Step()}
	State[kernel.Dropout[T]](c).Run(c.Pool(), Out[T](c), In[T](c, 0), k.rate, key)
	return nil
}
