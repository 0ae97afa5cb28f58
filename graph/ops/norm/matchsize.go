package norm

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// matchSize scales each token of v to the size of the same token of like. Inputs: v, like.
type matchSize struct{}

// MatchSize multiplies each token's v so that its root mean square becomes that of like, as AltUp
// does with the streams that it makes by projections (Gemma 3n, transformers' Gemma3nTextModel):
//
//	y_t = v_t size(like_t) / sqrt(max(mean(v_t^2), 1e-5)),   size(x) = sqrt(mean(x^2))
//
// v, like and y [T, ...] have the same shape.
func MatchSize(b *graph.Builder, v, like *gorgonia.Node) *gorgonia.Node {
	return b.Apply(matchSize{}, v, like)
}

func (matchSize) String() string { return "MatchSize" }

func (matchSize) Infer(in []graph.Signature) (graph.Signature, error) {
	if v := in[0].Shape; v.Dims() < 2 || !v.Eq(in[1].Shape) {
		return graph.Signature{}, errors.Errorf("want two inputs of one shape [tokens, ...], got %v and %v", v, in[1].Shape)
	}
	return in[0], nil
}

func (matchSize) InPlace(i int) bool { return i == 0 }

func (matchSize) VJP(d *graph.Derivative) {
	primary := d.Make(0, matchSizeGrad{}, d.Gradient(), d.Input(0), d.Input(1))
	d.SetSecondary(1, primary, 0, "GradLike of MatchSize")
}

func (k matchSize) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMatchSize, runMatchSize)
}

func runMatchSize[T kernel.Float](_ matchSize, c graph.CallOf[T]) {
	graph.State[kernel.MatchSize[T]](c).Forward(c.Pool(), c.Out(), c.In(0), c.In(1), c.Result().Width())
}

// matchSizeGrad computes dv; its secondary is dlike. Inputs: dy, v, like.
type matchSizeGrad struct{ graph.NoGradient }

func (matchSizeGrad) String() string { return "GradV of MatchSize" }

func (matchSizeGrad) InPlace(i int) bool { return i == 0 }

func (k matchSizeGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runMatchSizeGrad, runMatchSizeGrad)
}

func runMatchSizeGrad[T kernel.Float](_ matchSizeGrad, c graph.CallOf[T]) {
	dlike, accumulate := c.SecondaryOut(0)
	graph.State[kernel.MatchSize[T]](c).Backward(c.Pool(), c.Out(), dlike, c.In(0), c.In(1), c.In(2), c.Result().Width(), accumulate)
}
