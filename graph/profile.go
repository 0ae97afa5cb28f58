package graph

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/graph/kernel"
)

// OpProfile sums the profiled runs (RunOptions.Profile) of one op. FLOPs and Bytes count all its
// calls, so that FLOPs/Seconds is its speed.
type OpProfile struct {
	OpType  string  // the op's name without its parameters, "GradX of Linear", or of two that ran as one
	Node    string  // the node's name; "" for the tape machine's own row
	Calls   int     // timed runs
	Seconds float64 // wall time; on a GPU, the GPU's time
	FLOPs   int     // of matrix products, as ForwardFLOPs and TrainFLOPs count them
	Bytes   int     // inputs and outputs, each counted once per call
	// With Options.Simulate: Alone is the time that the calls take on one thread, Shared on Threads
	// workers, and Even on Threads workers if all items of a kernel's work took the same time.
	Alone, Shared, Even float64
}

// TapeMachine is the OpType of the last row of Program.Profile: what a run takes outside the ops of
// this package, in the tape machine itself and in stock nodes.
const TapeMachine = "tape machine"

// Profile returns one row for each op, in run order, and a last one for the tape machine. Their
// Seconds sum to the time of the profiled runs. A secondary's time and FLOPs are in its primary's
// row. On a GPU the profile covers the time until the last EndProfile.
func (p *Program) Profile() []OpProfile {
	machine := OpProfile{OpType: TapeMachine, Calls: p.runs.calls, Seconds: p.runs.total.Seconds()}
	var rows []OpProfile
	for _, n := range p.plan.order {
		op := opOf(n)
		if op == nil {
			continue
		}
		calls, seconds := op.runs.calls, op.runs.total.Seconds()
		simulation := &op.runs.simulation
		all := func(d time.Duration) float64 { return float64(calls) * d.Seconds() }
		machine.Seconds -= seconds
		name, flops, bytes := op.ran()
		rows = append(rows, OpProfile{
			OpType: name, Node: n.Name(), Calls: calls, Seconds: seconds,
			Alone: all(simulation.Alone()), Shared: all(simulation.Shared()), Even: all(simulation.Even()),
			FLOPs: calls * flops, Bytes: calls * bytes,
		})
	}
	return append(rows, machine)
}

// KernelProfile sums the launches of one kernel, the matrix products of one shape or the copies of
// one kind. The Seconds of all, with the time between ops, sum to the device's time.
type KernelProfile struct {
	Name     string // the name of the cuda.Work
	Launches int
	Seconds  float64
	FLOPs    int // of cuBLAS products
	Bytes    int // bytes read and written, each array once
}

// Kernels returns what the device of the program's Store has done from the beginning of each
// profiled run to the next EndProfile, an optimizer's step included, longest first. On the CPU it
// is empty.
func (p *Program) Kernels() []KernelProfile {
	return slices.SortedFunc(maps.Values(p.kernels), func(a, b KernelProfile) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
}

// profileDevice ends the device's current profile and begins another if on is true.
func (p *Program) profileDevice(on bool) error {
	if err := p.EndProfile(); err != nil || !on {
		return err
	}
	if d, ok := p.builder.runtime.device.(cuda.Profiler); ok {
		return errors.Wrap(d.StartProfile(), "graph: profile")
	}
	return nil
}

// EndProfile waits for the GPU and reads the times of its work since the beginning of the last
// profiled run, for Profile and Kernels. The next run does this, too. Without a GPU it does
// nothing.
func (p *Program) EndProfile() error {
	runtime := p.builder.runtime
	d, ok := runtime.device.(cuda.Profiler)
	if !ok || !runtime.profile {
		return nil
	}
	runtime.profile = false
	timings, err := d.StopProfile()
	ops := runtime.profiled
	runtime.profiled = nil
	var op *Op // nil: not an op of the program
	for _, t := range timings {
		switch {
		case !t.Idle() && op != nil:
			op.runs.total += t.Took
		case !t.Idle():
		case len(ops) > 0:
			op, ops = ops[0], ops[1:]
		default:
			op = nil
		}
		p.addTiming(t)
	}
	return errors.Wrap(err, "graph: profile")
}

func (p *Program) addTiming(t cuda.Timing) {
	name := t.String()
	k := p.kernels[name]
	k.Name = name
	k.Launches++
	k.Seconds += t.Took.Seconds()
	k.Bytes += t.Bytes
	if t.Product != nil {
		k.FLOPs += t.Product.FLOPs()
	}
	p.kernels[name] = k
}

// opType returns a Primitive's name without the parameters and shapes in brackets.
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
	calls      int
	total      time.Duration
	simulation kernel.Simulation
}

// add counts a call that began at begin and ends now, and the pool's part in it.
func (s *stopwatch) add(begin time.Time, pool *kernel.Pool) {
	s.calls++
	s.total += time.Since(begin)
	pool.EndRun(&s.simulation)
}
