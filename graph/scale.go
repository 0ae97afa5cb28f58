package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// scale multiplies by a fixed factor.
type scale struct{ factor float64 }

// Scale multiplies every entry by a factor that is fixed when the graph is built.
func (b *Builder) Scale(x *gorgonia.Node, factor float64) *gorgonia.Node {
	return b.Apply(scale{factor}, x)
}

func (k scale) String() string { return fmt.Sprintf("Scale(%g)", k.factor) }

func (k scale) Infer(in []Signature) (Signature, error) { return in[0], WantFloats(in) }

func (k scale) InPlace(int) bool { return true }

func (k scale) VJP(d *Derivative) {
	if d.Wants(0) {
		d.Set(0, d.Apply(k, d.Gradient()))
	}
}

func (k scale) Run(c *Call) error {
	return Dispatch(c, k, runScale[float32], runScale[float64])
}

func runScale[T kernel.Float](k scale, c *Call) error {
	State[kernel.Scale[T]](c).Run(c.Pool(), Out[T](c), In[T](c, 0), k.factor)
	return nil
}
