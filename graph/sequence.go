package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// sequence is a gorgonia.VM that runs this package's ops on the CPU, in the order of the plan, as a
// tape machine does. Making one takes time that grows with the graph, not with its square.
type sequence struct{ steps []step }

// step is an op in a sequence.
type step struct {
	node   *gorgonia.Node
	op     *Op
	inputs gorgonia.Nodes
	values []gorgonia.Value // of the inputs
}

// newSequence returns the sequence of a graph's nodes, inputs of the graph among them.
func newSequence(order gorgonia.Nodes) *sequence {
	s := &sequence{}
	for _, n := range order {
		if op := opOf(n); op != nil {
			inputs := Inputs(n)
			s.steps = append(s.steps, step{n, op, inputs, make([]gorgonia.Value, len(inputs))})
		}
	}
	return s
}

// RunAll runs all ops, and binds each node to its op's output.
func (s *sequence) RunAll() error {
	for _, step := range s.steps {
		for i, n := range step.inputs {
			if step.values[i] = n.Value(); step.values[i] == nil {
				return errors.Errorf("%s: want a value of its input %s, got none", NameOf(step.node), NameOf(n))
			}
		}
		v, err := step.op.Do(step.values...)
		if err != nil {
			return err
		}
		if v == step.node.Value() {
			continue
		}
		if err := gorgonia.UnsafeLet(step.node, v); err != nil {
			return errors.Wrap(err, NameOf(step.node))
		}
	}
	return nil
}

// Reset does nothing: a run leaves nothing behind in the sequence.
func (s *sequence) Reset() {}

// Close does nothing.
func (s *sequence) Close() error { return nil }
