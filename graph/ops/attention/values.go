package attention

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/kernel"
)

// values copies the values out of packed queries, keys and values.
type values struct{ of preparation }

// Values copies the values out of packed queries, keys and values, for later attentions to mix into
// their own (Prepare): qkv [T, (H+2*KV)*Dh] -> v [T, KV*Dh]. Call it before making the attention
// that reads qkv: its gradient is then added to that attention's gradient in place.
func Values(b *graph.Builder, qkv *gorgonia.Node, heads, kvHeads int) *gorgonia.Node {
	return b.Apply(values{preparation{heads: heads, kvHeads: kvHeads, places: noPlaces}}, qkv)
}

func (k values) String() string {
	return fmt.Sprintf("Values(heads=%d, kv_heads=%d)", k.of.heads, k.of.kvHeads)
}

func (k values) Infer(in []graph.Signature) (graph.Signature, error) {
	if err := k.of.attention().checkHeads(in[0]); err != nil {
		return graph.Signature{}, err
	}
	d := k.of.params(in[0])
	return graph.Signature{DType: in[0].DType, Shape: tensor.Shape{d.Tokens, d.KVHeads * d.HeadDim}}, nil
}

func (k values) Run(c *graph.Call) {
	graph.Dispatch(c, k, runValues, runValues)
}

func runValues[T kernel.Float](k values, c graph.CallOf[T]) {
	graph.State[kernel.Values[T]](c).Forward(c.Pool(), c.Out(), c.In(0), k.of.params(c.Signature(0)))
}

func (k values) VJP(d *graph.Derivative) {
	d.MakeAccumulating(valuesGrad{of: k}, d.Gradient())
}

// valuesGrad computes d(qkv), 0 for queries and keys. Inputs: dv and optionally the gradient of qkv
// from its other readers, to which the result is added.
type valuesGrad struct {
	graph.NoGradient
	of values
}

func (k valuesGrad) String() string { return "GradQKV of " + k.of.String() }

func (k valuesGrad) InPlace(i int) bool { return i == 1 }

func (k valuesGrad) Run(c *graph.Call) {
	graph.Dispatch(c, k, runValuesGrad, runValuesGrad)
}

func runValuesGrad[T kernel.Float](k valuesGrad, c graph.CallOf[T]) {
	graph.State[kernel.Values[T]](c).Backward(c.Pool(), c.Out(), c.In(0), c.In(1), k.of.of.params(c.Result()))
}
