package bench

import (
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
)

// Target is what models run on. The zero value is all cores of the CPU.
type Target struct {
	Threads   int             `json:"threads" yaml:"threads" min:"0" max:"1024" help:"compute with <N> threads; 0: all cores"`
	Device    graph.Device    `json:"device,omitempty" yaml:"device" default:"cpu" help:"run on <D>: cpu, cuda or, of several GPUs, cuda:1; so does PyTorch"`
	Precision graph.Precision `json:"precision,omitempty" yaml:"precision" help:"compute in <P>: fp32, bf16 or, on cuda, its default tf32; without, fp32"`
	Recompute graph.Recompute `json:"recompute,omitempty"`
}

func (t Target) onGPU() bool { return t.Device.OnGPU() }

// options returns the options of a training program over a store.
func (t Target) options(store *graph.Store) graph.ProgramOptions {
	o := graph.Options{Store: store, DType: tensor.Float32, Threads: t.Threads, Device: t.Device, Precision: t.Precision, Training: true}
	return graph.ProgramOptions{Gradients: true, Recompute: t.Recompute, Options: o}
}
