package mix

import (
	"fmt"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// depthGrad is the gradient of the first source; its secondaries are those of the other sources, of
// the query and of the gain, all made in one pass over the sources. Inputs: the gradient of u, or of
// the weights, then query, gain, the sources, and what some sources' gradients have from elsewhere.
type depthGrad struct {
	graph.NoGradient
	of        depthAttention
	ofWeights bool
	addends   []int // an input for each source, 0: none
}

// depthSourceGrad is the gradient of a further source, which its primary, the first's, makes. It is of no
// parameter, so that it need not accumulate.
type depthSourceGrad struct {
	graph.MadeByPrimary
	graph.NoGradient
	number int
}

func (k depthSourceGrad) String() string {
	return fmt.Sprintf("GradSource%d of DepthAttention", k.number)
}

// Bytes: the primary writes it.
func (depthSourceGrad) Bytes(graph.Cost) int { return 0 }

func (k depthGrad) String() string {
	name := "GradSource0 of "
	if k.ofWeights {
		return name + depthWeights{k.of}.String()
	}
	return name + k.of.String()
}

func (k depthGrad) FLOPs(c graph.Cost) int {
	size := k.of.sources * c.Signature(3).Size()
	if k.ofWeights {
		return 4 * size
	}
	return 8 * size
}

func (k depthGrad) InPlace(i int) bool { return i > 0 && i == k.addends[0] }

// SecondaryInPlace: each source's gradient may be in place of what it is added to.
func (k depthGrad) SecondaryInPlace(n, i int) bool {
	return n+1 < k.of.sources && i > 0 && i == k.addends[n+1]
}

func (k depthGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runDepthGrad[float32], runDepthGrad[float64])
}

func runDepthGrad[T kernel.Float](k depthGrad, c graph.CallOf[T]) {
	s, p := graph.State[depthState[T]](c), k.of.params(c.Signature(3))
	weights, rstd := savedDepth[T](k.of.saved, p.Tokens*p.Sources)
	s.v, s.dv, s.addends = s.v[:0], append(s.dv[:0], c.Out()), s.addends[:0]
	for i, addend := range k.addends {
		s.v = append(s.v, c.In(3+i))
		var from []T
		if addend > 0 {
			from = c.In(addend)
		}
		s.addends = append(s.addends, from)
		if i > 0 {
			dv, _ := c.SecondaryOut(i - 1)
			s.dv = append(s.dv, dv)
		}
	}
	g := kernel.DepthGradients[T]{V: s.dv, Addends: s.addends}
	g.Query, g.AccumulateQuery = c.SecondaryOut(p.Sources - 1)
	g.Gain, g.AccumulateGain = c.SecondaryOut(p.Sources)
	du, dweights := c.In(0), []T(nil)
	if k.ofWeights {
		du, dweights = nil, du
	}
	s.Backward(c.Pool(), g, du, dweights, weights, rstd, s.v, c.In(1), c.In(2), p)
}
