package graph

import (
	"strings"
	"time"
)

// OpProfile is what the profiled runs (RunOptions.Profile) of one op came to. FLOPs and
// Bytes are those of all its calls together, so that FLOPs/Seconds is its speed.
type OpProfile struct {
	OpType  string  // what the op does, without its parameters: "GradX of Linear"
	Node    string  // the node's name; "" for the tape machine's own row
	Calls   int     // timed runs
	Seconds float64 // wall time
	FLOPs   int     // of matrix products, counted as ForwardFLOPs and TrainFLOPs count
	Bytes   int     // inputs and outputs, each once
}

// TapeMachine is the Kind of Program.Profile's last row: what a run takes outside the
// ops of this package, that is the machine itself and stock nodes.
const TapeMachine = "tape machine"

// Profile returns a row an op, in the order in which they run, and last the tape
// machine's. Their Seconds sum to those of the profiled runs. A secondary's time is in
// its primary's row, and so are its FLOPs.
func (p *Program) Profile() []OpProfile {
	machine := OpProfile{OpType: TapeMachine, Calls: p.runs.calls, Seconds: p.runs.total.Seconds()}
	var rows []OpProfile
	for _, n := range p.plan.order {
		op := opOf(n)
		if op == nil {
			continue
		}
		calls, seconds := op.runs.calls, op.runs.total.Seconds()
		machine.Seconds -= seconds
		rows = append(rows, OpProfile{
			OpType: opType(op.Primitive), Node: n.Name(), Calls: calls, Seconds: seconds,
			FLOPs: calls * op.runFLOPs(false), Bytes: calls * op.runBytes(),
		})
	}
	return append(rows, machine)
}

// opType is a Primitive's name without the parameters and shapes in brackets.
func opType(k Primitive) string {
	var name strings.Builder
	depth := 0
	for _, letter := range k.String() {
		switch {
		case letter == '(':
			depth++
		case letter == ')':
			depth--
		case depth == 0:
			name.WriteRune(letter)
		}
	}
	return strings.TrimSpace(name.String())
}

// stopwatch sums wall times.
type stopwatch struct {
	calls int
	total time.Duration
}

// add counts a call that began at begin and ends now.
func (s *stopwatch) add(begin time.Time) {
	s.calls++
	s.total += time.Since(begin)
}
