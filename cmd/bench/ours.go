package main

import (
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// oursRun is a training program of this project.
type oursRun struct {
	program  *graph.Program
	optimize *optim.Optimizer
	steps    uint64
}

func newOurs(w workload, threads int) (*oursRun, error) {
	return newOursOn(graph.NewStore(tensor.Float32, 1), w, threads, optim.Clip(clipNorm),
		optim.Adam(beta1, beta2, adamEps), optim.Rate(learningRate, optim.Constant{}), optim.Decay(weightDecay, optim.Coupled, nil))
}

// newOursOn trains a store's parameters.
func newOursOn(store *graph.Store, w workload, threads int, parts ...optim.Part) (*oursRun, error) {
	program, err := graph.Compile(graph.ProgramOptions{Gradients: true, Options: graph.Options{Store: store, Threads: threads, Training: true}},
		func(b *graph.Builder) (graph.Roots, error) {
			m, err := models.On(b, w.Config)
			if err != nil {
				return graph.Roots{}, err
			}
			features := m.Forward(b.Input("tokens", tensor.Int32, w.Batch, w.Config.Seq))
			return graph.Roots{Loss: m.Loss(features, b.Input("targets", tensor.Int32, w.Batch, w.Config.Seq))}, m.Err()
		})
	if err != nil {
		return nil, err
	}
	o := &oursRun{program: program}
	tokens, targets := randomBatch(w)
	copy(program.Ints("tokens"), tokens)
	copy(program.Ints("targets"), targets)
	if o.optimize, err = optim.New(store, threads, parts...); err != nil {
		program.Close()
		return nil, err
	}
	return o, nil
}

// step also profiles the first one, which belongs to the warm-up, for its traffic.
func (o *oursRun) step() (float64, error) {
	if err := o.program.Run(graph.RunOptions{Step: o.steps, Profile: o.steps == 0}); err != nil {
		return 0, err
	}
	o.steps++
	if _, err := o.optimize.Step(1); err != nil {
		return 0, err
	}
	return graph.Scalar(o.program.Roots().Loss)
}

func (o *oursRun) facts() facts {
	m := o.program.Memory()
	return facts{Parameters: o.program.Store().Size(), Predicted: m.Arena + m.Parameters, Traffic: o.traffic()}
}

// traffic sums the bytes of the step that was profiled, the first.
func (o *oursRun) traffic() int {
	bytes := 0
	for _, op := range o.program.Profile() {
		bytes += op.Bytes
	}
	return bytes
}

func (o *oursRun) close() {
	o.optimize.Close()
	o.program.Close()
}
