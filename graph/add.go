package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/kernel"
)

// add sums its inputs.
type add struct{}

// Add sums any number of nodes of one shape, in order, in one pass.
func (b *Builder) Add(inputs ...*gorgonia.Node) *gorgonia.Node {
	if len(inputs) == 0 {
		b.Fail(errors.New("graph: Add: want at least one input, got none"))
		return nil
	}
	return b.Apply(add{}, inputs...)
}

// Terms returns the nodes that an Add sums; nil if n is not an Add.
func Terms(n *gorgonia.Node) gorgonia.Nodes {
	if _, ok := PrimitiveOf(n).(add); ok {
		return Inputs(n)
	}
	return nil
}

// IsAdd tells whether k is the sum that Add makes.
func IsAdd(k Primitive) bool {
	_, ok := k.(add)
	return ok
}

func (add) String() string { return "Add" }

func (add) Infer(in []Signature) (Signature, error) {
	for i, s := range in {
		if !s.Shape.Eq(in[0].Shape) {
			return Signature{}, errors.Errorf("input %d: want shape %v as input 0, got %v", i, in[0].Shape, s.Shape)
		}
	}
	return in[0], nil
}

func (add) InPlace(i int) bool { return i == 0 }

func (add) Accumulates() bool { return true }

func (add) VJP(d *Derivative) {
	for i := range d.Inputs() {
		d.Set(i, d.Gradient())
	}
}

// ByRows returns true.
func (add) ByRows() bool { return true }

func (k add) Run(c *Call) {
	Dispatch(c, k, runAdd, runAdd)
}

// addState holds the kernel and its list of inputs from run to run, so that a run allocates
// nothing.
type addState[T kernel.Float] struct {
	kernel.Add[T]
	inputs []kernel.Rows[T]
}

func runAdd[T kernel.Float](_ add, c CallOf[T]) {
	s := State[addState[T]](c)
	s.inputs = s.inputs[:0]
	for i := range c.Inputs() {
		s.inputs = append(s.inputs, c.Rows(i))
	}
	s.Run(c.Pool(), c.RowsOut(), s.inputs, c.Accumulate())
}
