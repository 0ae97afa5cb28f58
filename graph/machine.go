package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"
)

// machine runs a program whose ops are all of this package, on the CPU, one after another in the order of its plan.
// Gorgonia's tape machine does the same, but compiles for it in time that grows with the square of the graph.
type machine struct {
	steps   []step
	runtime *runState
}

var _ gorgonia.VM = (*machine)(nil)

// step is a node that is run, with what it reads.
type step struct {
	node   *gorgonia.Node
	op     *Op
	inputs gorgonia.Nodes
	values []gorgonia.Value
}

// newMachine returns nil where a stock node, or one for a device, is among the nodes.
func newMachine(order gorgonia.Nodes, r *runState) *machine {
	m := &machine{runtime: r}
	for _, n := range order {
		if n.Op() == nil {
			continue
		}
		op, ours := n.Op().(*Op)
		if !ours {
			return nil
		}
		inputs := Inputs(n)
		m.steps = append(m.steps, step{n, op, inputs, make([]gorgonia.Value, len(inputs))})
	}
	return m
}

// RunAll runs every node once, unless the run's context ends before that.
func (m *machine) RunAll() error {
	for i := range m.steps {
		if err := m.runtime.interrupted(); err != nil {
			return err
		}
		if err := m.steps[i].run(); err != nil {
			return err
		}
	}
	return nil
}

// run runs the op and lets the node have its value, which is the same from run to run unless a wrapper was made anew.
func (s *step) run() error {
	for i, n := range s.inputs {
		s.values[i] = n.Value()
	}
	value, err := s.op.Do(s.values...)
	if err != nil || s.node.Value() == value {
		return err
	}
	return errors.Wrapf(gorgonia.UnsafeLet(s.node, value), "%s", s.op.Primitive)
}

// Reset does nothing: a run begins at the first node.
func (m *machine) Reset() {}

// Close does nothing.
func (m *machine) Close() error { return nil }
