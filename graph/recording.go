package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/cuda"
)

// Recording lists what each op of a program asks of a device.
type Recording struct {
	Ops   []RecordedOp // in run order
	Store *Store       // a Store that plans; an optimizer over it can also work on the recorder
}

// RecordedOp is one op's run on a device.
type RecordedOp struct {
	OpType string // the op's name without its parameters, "GradX of Linear", or of two that ran as one
	Node   string // the node's name
	FLOPs  int    // of matrix products, as ForwardFLOPs and TrainFLOPs count them
	Work   []cuda.Work
}

// Record makes the nodes and the plan of a program on the device CUDA, as Compile does, and passes
// to a recorder what its ops would ask of a GPU. It computes nothing, allocates no parameters or
// activations, and needs no GPU.
func Record(o ProgramOptions, r *cuda.Recorder, build BuildFunc) (*Recording, error) {
	o.Store, o.Device, o.Precision = NewPlan(tensor.Float32), CUDA, r.Precision()
	o.Store.device = r
	p := &Program{options: o, build: build}
	if err := p.plannedStages(); err != nil {
		return nil, err
	}
	if err := p.bindDevice(); err != nil {
		return nil, errors.Wrap(err, "graph: bind")
	}
	r.Take()
	recording := &Recording{Store: o.Store}
	for _, n := range p.plan.order {
		if n.Op() == nil { // an input
			continue
		}
		op := opOf(n)
		if op == nil {
			return nil, errors.Errorf("graph: record: want ops of this module, got Gorgonia's %v", n.Op())
		}
		if err := op.start(r, func(i int) (cuda.Array, error) { return uploaded(r, op.in[i]) }); err != nil {
			return nil, errors.Wrapf(err, "graph: record: %s", op.Primitive)
		}
		if work := r.Take(); work != nil {
			name, flops, _ := op.ran()
			recording.Ops = append(recording.Ops, RecordedOp{name, n.Name(), flops, work})
		}
	}
	return recording, nil
}

// uploaded notes the upload of a value that the host makes. The tape machine uploads it for each
// reader.
func uploaded(r *cuda.Recorder, s Signature) (cuda.Array, error) {
	a, err := r.Alloc(s.deviceType(), s.Size())
	if err != nil {
		return a, err
	}
	return a, r.Upload(a, nil)
}

// start launches the op without the tape machine, unless it runs on the host or the op before it
// has computed it. fromHost returns the memory of input i, which the host has made.
func (op *Op) start(on cuda.Executor, fromHost func(i int) (cuda.Array, error)) (err error) {
	if op.onHost() {
		return nil
	}
	if op.fused {
		op.ranOn = on
		return nil
	}
	k, ok := launcherOf(op.Primitive)
	if !ok {
		return errors.New("want an op with a Launch method, got one that runs on the CPU alone")
	}
	c := newDeviceCall(op, k)
	for i, from := range op.producers {
		if from != nil && from.ranOn != nil {
			c.args[i] = from.device
		} else if c.args[i], err = fromHost(i); err != nil {
			return err
		}
	}
	if err := op.ensureDevice(); err != nil {
		return err
	}
	return c.launch()
}
