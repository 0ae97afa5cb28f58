package graph

import (
	"os"

	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
)

// replays are a program's runs on a GPU, recorded as CUDA graphs. A program's first run takes
// memory and loads kernels, the second is recorded and then replayed, as all later ones are: the
// host then starts one graph instead of each op. The environment variable RESIDUA_CUDA_GRAPH=1
// switches this on.
type replays struct {
	kinds   [2]replay                      // runs that replace gradients, and those that add to them
	inputs  map[*gorgonia.Node]cuda.Array  // copies of the inputs on the device
	readers map[*Op]map[int]*gorgonia.Node // the inputs of the graph that an op reads
}

type replay struct {
	ran      bool        // by the tape machine
	recorded cuda.Replay // nil: none
}

// compute runs the program's ops: by a recording, if it has one or can make one, otherwise by the
// tape machine.
func (p *Program) compute() error {
	device, ok := p.builder.runtime.device.(cuda.Capturer)
	if !ok || !p.replayable() {
		return p.interpret()
	}
	kind := &p.replays.kinds[0]
	if p.builder.runtime.accumulate {
		kind = &p.replays.kinds[1]
	}
	if !kind.ran {
		kind.ran = true
		return p.interpret()
	}
	err := p.replay(device, kind)
	if errors.Is(err, cuda.ErrStale) {
		kind.forget()
		return p.interpret()
	}
	return errors.Wrap(err, "RESIDUA_CUDA_GRAPH=1")
}

// replay starts the recorded run; if there is none, it records one first.
func (p *Program) replay(device cuda.Capturer, kind *replay) (err error) {
	if err := p.placeInputs(); err != nil {
		return err
	}
	if kind.recorded == nil {
		if kind.recorded, err = device.Capture(p.startAll); err != nil {
			kind.recorded = nil
			return err
		}
	}
	if err := p.uploadInputs(); err != nil {
		return err
	}
	return kind.recorded.Launch()
}

// replayable tells whether a run does the same work on the device as the one before: it is not
// timed op by op, no op depends on the training step, and none needs the host.
func (p *Program) replayable() bool {
	runtime := p.builder.runtime
	if os.Getenv("RESIDUA_CUDA_GRAPH") != "1" || runtime.profile || runtime.stepped || p.options.Cache != nil {
		return false
	}
	for _, n := range p.plan.order {
		op := opOf(n)
		switch {
		case n.Op() == nil:
			if t := p.inputs[n.Name()]; t == nil || n.Value() != gorgonia.Value(t) {
				return false // another value than Program.Input's
			}
		case op == nil || op.onHost():
			return false
		default:
			if h, ok := op.Primitive.(hook); ok && h.call != nil {
				return false
			}
		}
	}
	return true
}

// startAll starts all ops in run order, without the tape machine, whose copies of the inputs cannot
// be recorded.
func (p *Program) startAll() (err error) {
	var op *Op
	defer func() {
		if r := recover(); r != nil {
			err = errors.Errorf("%s: %v", op.Primitive, r)
		}
	}()
	for _, n := range p.plan.order {
		if op = opOf(n); op == nil {
			continue
		}
		if err := op.start(p.builder.runtime.device, func(i int) (cuda.Array, error) { return p.replays.input(op, i) }); err != nil {
			return errors.Wrapf(err, "%s", op.Primitive)
		}
	}
	return nil
}

// placeInputs takes device memory for the graph's inputs, once.
func (p *Program) placeInputs() error {
	r := &p.replays
	if r.inputs != nil {
		return nil
	}
	r.inputs, r.readers = map[*gorgonia.Node]cuda.Array{}, map[*Op]map[int]*gorgonia.Node{}
	for _, n := range p.plan.order {
		if n.Op() == nil {
			s := SignatureOf(n)
			a, err := p.builder.runtime.alloc(s.deviceType(), s.Size())
			if err != nil {
				return err
			}
			r.inputs[n] = a
			continue
		}
		read := map[int]*gorgonia.Node{}
		for i, c := range Inputs(n) {
			if c.Op() == nil {
				read[i] = c
			}
		}
		r.readers[opOf(n)] = read
	}
	return nil
}

// input returns the memory of an op's input that is an input of the graph.
func (r *replays) input(op *Op, i int) (cuda.Array, error) {
	a, ok := r.inputs[r.readers[op][i]]
	if !ok {
		return a, errors.Errorf("input %d: want an input of the graph", i)
	}
	return a, nil
}

// uploadInputs copies the inputs' values to the device.
func (p *Program) uploadInputs() error {
	for n, a := range p.replays.inputs {
		if err := p.builder.runtime.device.Upload(a, dataOf(p.inputs[n.Name()])); err != nil {
			return errors.Wrapf(err, "input %q", n.Name())
		}
	}
	return nil
}

// forget frees the recordings.
func (r *replays) forget() {
	for i := range r.kinds {
		r.kinds[i].forget()
	}
}

func (k *replay) forget() {
	if k.recorded != nil {
		_ = k.recorded.Close()
		k.recorded = nil
	}
}
