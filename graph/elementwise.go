package graph

import (
	"slices"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/kernel"
)

// Elementwise runs an op that computes each entry of its output and of its secondaries from the
// entries at the same place of its inputs: single and double are instances of one generic function.
// Its results are the output, then the secondaries; its inputs are the op's.
func Elementwise(c *Call, single kernel.ElementFunc[float32], double kernel.ElementFunc[float64], numbers ...float64) {
	if c.double() {
		elementwise(CallOf[float64]{c}, double, numbers)
	} else {
		elementwise(CallOf[float32]{c}, single, numbers)
	}
}

func elementwise[T kernel.Float](c CallOf[T], f kernel.ElementFunc[T], numbers []float64) {
	var x kernel.Elements[T]
	if len(c.args) > len(x.In) || len(c.op.secondaries) >= len(x.Out) || len(numbers) > len(x.Numbers) {
		c.Fail(errors.Errorf("want at most %d inputs, %d secondaries and %d numbers of an element-wise op, got %d, %d and %d",
			len(x.In), len(x.Out)-1, len(x.Numbers), len(c.args), len(c.op.secondaries), len(numbers)))
		return
	}
	x.Out[0] = c.Out()
	for i := range c.args {
		if x.In[i] = c.In(i); len(x.In[i]) != len(x.Out[0]) {
			c.Fail(errors.Errorf("input %d: want %d entries as the output of an element-wise op, got %d", i, len(x.Out[0]), len(x.In[i])))
			return
		}
	}
	for i := range c.op.secondaries {
		x.Out[1+i], _ = c.SecondaryOut(i)
	}
	State[kernel.Elementwise[T]](c).Run(c.Pool(), f, x.Out[:], x.In[:], numbers...)
}

// SameShape returns the first input's signature, and an error if another one has another shape, or
// if there are not as many inputs as names. The names appear in the error.
func SameShape(in []Signature, names ...string) (Signature, error) {
	if len(in) == 0 || len(in) != len(names) {
		return Signature{}, errors.Errorf("want the inputs %s, got %d inputs", strings.Join(names, ", "), len(in))
	}
	i := slices.IndexFunc(in, func(s Signature) bool { return !s.Shape.Eq(in[0].Shape) })
	if i >= 0 {
		return Signature{}, errors.Errorf("%s: want shape %v as %s, got %v", names[i], in[0].Shape, names[0], in[i].Shape)
	}
	return in[0], nil
}
