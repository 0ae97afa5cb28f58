package graph

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph/cuda"
)

// OpProfile is what the profiled runs (RunOptions.Profile) of one op came to. FLOPs and
// Bytes are those of all its calls together, so that FLOPs/Seconds is its speed.
type OpProfile struct {
	OpType  string  // what the op does, without its parameters: "GradX of Linear"
	Node    string  // the node's name; "" for the tape machine's own row
	Calls   int     // timed runs
	Seconds float64 // wall time, on a GPU the GPU's
	FLOPs   int     // of matrix products, counted as ForwardFLOPs and TrainFLOPs count
	Bytes   int     // inputs and outputs, each once
}

// TapeMachine is the Kind of Program.Profile's last row: what a run takes outside the
// ops of this package, that is the machine itself and stock nodes.
const TapeMachine = "tape machine"

// Profile returns a row an op, in the order in which they run, and last the tape
// machine's. Their Seconds sum to those of the profiled runs. A secondary's time is in
// its primary's row, and so are its FLOPs. On a GPU it is the profile until the last EndProfile.
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

// KernelProfile is what the launches of one kernel, the products of one shape or the copies of one kind came to. Their
// Seconds, with those between ops, sum to the device's time.
type KernelProfile struct {
	Name     string // as cuda.Work has it
	Launches int
	Seconds  float64
	FLOPs    int // of products of cuBLAS
	Bytes    int // that they read and write, each array once
}

// Kernels returns what the device of the program's Store has done from the beginning of each profiled run to the next
// EndProfile, an optimizer's step included: the longest first. On the CPU it is empty.
func (p *Program) Kernels() []KernelProfile {
	return slices.SortedFunc(maps.Values(p.kernels), func(a, b KernelProfile) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Name, b.Name))
	})
}

// profileDevice ends the profile of the device that the run before has begun, and begins another.
func (p *Program) profileDevice(on bool) error {
	if err := p.EndProfile(); err != nil || !on {
		return err
	}
	if d, ok := p.builder.runtime.device.(cuda.Profiler); ok {
		return errors.Wrap(d.StartProfile(), "graph: profile")
	}
	return nil
}

// EndProfile waits for a GPU and reads what its work since the beginning of the last profiled run took, for Profile and
// Kernels; so does the next run. Without a GPU it does nothing.
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
	var op *Op // nil: not one of the program's
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
