package mix

import (
	"fmt"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// depthGrad computes the gradient of the first source; its secondaries are the gradients of the
// other sources, of the query and of the gain. All are computed in one pass over the sources.
// Inputs: the gradient of u, or of the weights, then query, gain, the sources, and for some sources
// the gradient from their other readers.
type depthGrad struct {
	graph.NoGradient
	of        depthAttention
	ofWeights bool
	addends   []int // for each source, the input with the gradient to add to; 0: none
}

// depthSourceGrad is the gradient of a further source, computed by the run of the first source's
// gradient. It belongs to no parameter, so it need not accumulate.
type depthSourceGrad struct {
	graph.MadeByPrimary
	graph.NoGradient
	number int
}

func (k depthSourceGrad) String() string {
	return fmt.Sprintf("GradSource%d of DepthAttention", k.number)
}

// Bytes returns 0: the primary counts what it writes.
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

// SecondaryInPlace tells that each source's gradient may overwrite the gradient that it is added
// to.
func (k depthGrad) SecondaryInPlace(n, i int) bool {
	return n+1 < k.of.sources && i > 0 && i == k.addends[n+1]
}

func (k depthGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runDepthGrad, runDepthGrad)
}

func runDepthGrad[T kernel.Float](k depthGrad, c graph.CallOf[T]) {
	s, p := graph.State[depthState[T]](c), k.of.params(c.Signature(3))
	weights, rstd := graph.SavedPair[T](k.of.saved, p.Tokens*p.Sources*k.of.heads())
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
