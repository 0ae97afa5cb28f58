package graph

import (
	"strings"
	"time"

	"gorgonia.org/gorgonia"
)

// OpProfile is what the profiled runs (RunOptions.Profile) of one op came to. FLOPs and
// Bytes are those of all its calls together, so that FLOPs/Seconds is its speed.
type OpProfile struct {
	Kind    string  // what the op does, without its parameters: "GradX of Linear"
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
// machine's. Their Seconds sum to those of the profiled runs. A companion's time is in
// its leader's row, and so are its FLOPs.
func (p *Program) Profile() []OpProfile {
	machine := OpProfile{Kind: TapeMachine, Calls: p.runs.calls, Seconds: p.runs.total.Seconds()}
	var rows []OpProfile
	for _, n := range p.plan.order {
		op := opOf(n)
		if op == nil {
			continue
		}
		calls, seconds := op.runs.calls, op.runs.total.Seconds()
		machine.Seconds -= seconds
		rows = append(rows, OpProfile{
			Kind: plainKind(op.kind), Node: n.Name(), Calls: calls, Seconds: seconds,
			FLOPs: calls * runFLOPs(n), Bytes: calls * runBytes(op),
		})
	}
	return append(rows, machine)
}

// plainKind is a kind's name without the parameters and shapes that stand in brackets.
func plainKind(k kind) string {
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

// runFLOPs counts the matrix products of one run of a node, 2 per multiply-add, causal
// attention at its true half. Products that a backward pass only repeats to have the
// forward pass's numbers again (attention's logits) are not counted, so that without
// recomputation a loss and its gradients come to three times ForwardFLOPs.
func runFLOPs(n *gorgonia.Node) int {
	op := opOf(n)
	switch k := op.kind.(type) {
	case linearGradX, linearGradGelu: // dy W^T
		return 2 * op.in[0].size() * op.out.width()
	case linearGradW: // x^T dy
		return 2 * op.in[0].size() * op.in[1].width()
	case keysGrad: // sum_t y_t X_t^T
		return matrixFLOPs(op.in[1], k.keys)
	case writeGrad: // dy, and dkeys
		return (1 + op.companionAt(0)) * matrixFLOPs(op.in[0], op.in[1])
	case normReadGrad: // dXn = keys^T dy, and dkeys
		return (1 + op.companionAt(1)) * matrixFLOPs(op.in[1], op.in[3])
	case mixReadGrad: // dh, and dc
		return (1 + op.companionAt(0)) * k.readFLOPs(op.in[1])
	case mixWriteGrad: // dh, dy and dc
		dc := op.companionAt(1)
		return (1+dc)*k.carryFLOPs(op.in[0]) + (op.companionAt(0)+dc)*k.readFLOPs(op.in[0])
	case expertsGradHidden, expertsGradU: // dy W2^T, and dh W1^T
		return 2 * op.out.size() * op.in[1].shape[2]
	case expertsGradW: // u^T dh, or a^T dy
		return k.flops(op)
	case normLinearGrad: // dz W^T, and dw
		return (1 + op.companionAt(0)) * 2 * op.in[2].size() * op.in[3].width()
	case attentionGrad: // dp and dv, dq and dk, for q.k and p.v
		return 4 * k.halfFLOPs(op.in[0])
	case attentionPatternGrad: // dq and dk
		return 2 * k.halfFLOPs(op.in[0])
	case attentionMixGradPattern:
		return k.attention().halfFLOPs(op.in[1])
	case attentionMixGradValues:
		return k.attention().halfFLOPs(k.qkv)
	case crossEntropy: // logits, dx and dW
		return (1 + op.companionAt(0) + op.companionAt(1)) * nodeFLOPs(n)
	}
	return nodeFLOPs(n)
}

// companionAt is 1 if the op has a companion of that number, else 0.
func (op *Op) companionAt(i int) int {
	if i < len(op.companions) && op.companions[i] != nil {
		return 1
	}
	return 0
}

// runBytes is the size of what one run of an op reads and writes, each tensor once: its
// inputs, its output and its companions'. Of an embedding's table only the rows of the
// tokens are read.
func runBytes(op *Op) int {
	switch k := op.kind.(type) {
	case keep:
		return 0
	case companion:
		if k.scaled { // in place
			return 2 * op.out.bytes()
		}
	case embedding:
		return op.in[1].bytes() + 2*op.out.bytes()
	}
	if op.leader != nil { // written by its leader
		return 0
	}
	bytes := op.out.bytes()
	for _, s := range op.in {
		bytes += s.bytes()
	}
	for _, c := range op.companions {
		if c != nil {
			bytes += c.out.bytes()
		}
	}
	return bytes
}
