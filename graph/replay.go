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
	runs     int                            // runs by the tape machine
	recorded [2]cuda.Replay                 // nil: none; the second one accumulates gradients
	inputs   map[*gorgonia.Node]cuda.Array  // copies of the inputs on the device
	readers  map[*Op]map[int]*gorgonia.Node // the inputs of the graph that an op reads
	attempts int                            // recordings that failed
}

// mostAttempts is how many recordings of a program may fail. The memory of the first one may still
// grow.
const mostAttempts = 3

// compute runs the program's ops: by a recording, if it has one or can make one, otherwise by the
// tape machine.
func (p *Program) compute() error {
	r := &p.replays
	device, ok := p.builder.runtime.device.(cuda.Capturer)
	if !ok || !p.replayable() {
		return p.interpret()
	}
	if r.runs == 0 {
		r.runs++
		return p.interpret()
	}
	recorded := &r.recorded[0]
	if p.builder.runtime.accumulate {
		recorded = &r.recorded[1]
	}
	if *recorded == nil {
		if err := p.record(device, recorded); err != nil {
			r.attempts++
			return p.interpret()
		}
	}
	if err := p.uploadInputs(); err != nil {
		return err
	}
	err := (*recorded).Launch()
	if !errors.Is(err, cuda.ErrStale) {
		return err
	}
	err = (*recorded).Close()
	*recorded = nil
	if err != nil {
		return err
	}
	return p.interpret()
}

// replayable tells whether a run does the same work on the device as the one before: it is not
// timed op by op, no op depends on the training step, and none runs on the host.
func (p *Program) replayable() bool {
	runtime := p.builder.runtime
	if os.Getenv("RESIDUA_CUDA_GRAPH") != "1" || p.replays.attempts == mostAttempts || runtime.profile || runtime.stepped || p.options.Cache != nil {
		return false
	}
	for _, n := range p.plan.order {
		if op := opOf(n); n.Op() != nil && (op == nil || op.onHost()) {
			return false
		}
	}
	return true
}

// record records a run.
func (p *Program) record(device cuda.Capturer, to *cuda.Replay) error {
	if err := p.placeInputs(); err != nil {
		return err
	}
	recorded, err := device.Capture(p.startAll)
	if err == nil {
		*to = recorded
	}
	return err
}

// startAll starts all ops in run order, without the tape machine, whose copies of the inputs cannot
// be recorded.
func (p *Program) startAll() error {
	for _, n := range p.plan.order {
		op := opOf(n)
		if op == nil || op.fused {
			continue
		}
		k, ok := launcherOf(op.Primitive)
		if !ok {
			return errors.Errorf("%s: want an op with a Launch method", op.Primitive)
		}
		if err := op.start(k, func(i int) (cuda.Array, error) { return p.replays.input(op, i) }); err != nil {
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
		t := p.inputs[n.Name()]
		if t == nil {
			return errors.Errorf("input %q: want one that the program's builder made", n.Name())
		}
		if err := p.builder.runtime.device.Upload(a, dataOf(t)); err != nil {
			return errors.Wrapf(err, "input %q", n.Name())
		}
	}
	return nil
}

// forget frees the recordings.
func (p *Program) forget() {
	for i, recorded := range p.replays.recorded {
		if recorded != nil {
			_ = recorded.Close()
			p.replays.recorded[i] = nil
		}
	}
}
