// Package roofline predicts how long a training step takes on a GPU without using one: it records
// the work that each op requests from the device, and divides bytes and FLOPs by the rates of a
// data sheet times stated efficiencies (Williams, Waterman & Patterson 2009, doi
// 10.1145/1498765.1498785).
package roofline

import (
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// Options describe the training step.
type Options struct {
	GPU       GPU
	Precision graph.Precision // "": TF32
	Batch     int             // rows
	Seq       int             // tokens in a row; 0: the model's
	Recompute graph.Recompute // "": none
	Optimizer []optim.Part
}

// record returns the work that the ops of a training step request from the GPU, in order; the
// optimizer comes last.
func record(spec models.Spec, o Options) ([]graph.RecordedOp, error) {
	if o.Seq == 0 {
		o.Seq = spec.Seq
	}
	r := cuda.NewRecorder(o.Precision, o.GPU.Multiprocessors)
	program := graph.ProgramOptions{Gradients: true, Recompute: o.Recompute, Options: graph.Options{Training: true}}
	recording, err := models.Record(spec, o.Batch, o.Seq, models.Outputs{Loss: true, ExpertCounts: true}, program, r)
	if err != nil {
		return nil, err
	}
	update, err := optim.New(recording.Store, 1, append([]optim.Part{optim.Clip(1)}, o.Optimizer...)...)
	if err != nil {
		return nil, err
	}
	defer update.Close()
	r.Take() // discard the work for its tables
	if _, err := update.Step(1); err != nil {
		return nil, err
	}
	return append(recording.Ops, graph.RecordedOp{OpType: "Optimizer", Node: "optimizer", Work: r.Take()}), nil
}
