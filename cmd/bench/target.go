package main

import (
	"slices"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// target is what a contestant trains on.
type target struct {
	Threads   int             `json:"threads"`
	Device    graph.Device    `json:"device,omitempty"`    // "" or CPU, or CUDA
	Precision graph.Precision `json:"precision,omitempty"` // of a CUDA device
}

func (t target) onGPU() bool { return t.Device == graph.CUDA }

// options are a training program's on a store.
func (t target) options(store *graph.Store) graph.ProgramOptions {
	o := graph.Options{Store: store, DType: tensor.Float32, Threads: t.Threads, Device: t.Device, Precision: t.Precision, Training: true}
	return graph.ProgramOptions{Gradients: true, Options: o}
}

// target returns what the flags ask for.
func (c *call) target() (target, error) {
	t := target{Threads: c.threads, Device: graph.Device(c.device), Precision: graph.Precision(c.precision)}
	switch {
	case t.Device != graph.CPU && t.Device != graph.CUDA:
		return t, errors.Errorf("-device: want %s or %s, got %q", graph.CPU, graph.CUDA, c.device)
	case !t.onGPU() && (c.precision != "" || c.peak != 0):
		return t, errors.Errorf("-precision and -peak: want them with -device %s, got the device %s", graph.CUDA, t.Device)
	case !t.onGPU():
		return t, nil
	case c.stock || c.scaling || c.products:
		return t, errors.Errorf("-device %s: want the model table or -zoo, got -stock, -threads-scaling or -gemm", t.Device)
	case t.Precision == "":
		t.Precision = graph.TF32
	case !slices.Contains(graph.Precisions(), t.Precision):
		return t, errors.Errorf("-precision: want one of %v, got %q", graph.Precisions(), c.precision)
	}
	if c.peak < 0 {
		return t, errors.Errorf("-peak: want > 0 TFLOPS, got %g", c.peak)
	}
	return t, nil
}
