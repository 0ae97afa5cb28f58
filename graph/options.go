package graph

import (
	"context"

	"github.com/pkg/errors"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph/kernel"
)

// Device names what the ops run on.
type Device string

// CPU runs ops on the processor's cores, and is the default.
const CPU Device = "cpu"

// Options say how a Builder makes its nodes. The zero value is ready: float32 on the
// CPU with all threads, parameters in a fresh Store, no hooks, no cache.
type Options struct {
	Threads int    // workers of an op, at most MaxThreads; 0: runtime.GOMAXPROCS(0). They change no bit
	Device  Device // where ops run, CPU, CUDA or another GPU (GPU(1)); "": CPU
	// Precision is that of a CUDA device; "": TF32. All builders of a Store have the same.
	Precision Precision
	// Weights is the form in which products read weights on the CPU, in a Store that serves (Store.Serve); "": float32.
	Weights  kernel.WeightFormat
	DType    tensor.Dtype // Float32 or Float64 (checks only); unset: Float32
	Store    *Store       // where parameters live; nil: a new one, which draws them by Seed
	Hooks    Hooks        // named activations to watch or replace
	Cache    *Cache       // keys and values of earlier tokens, for generation
	Training bool         // dropout is active
	// Seed begins the draws of dropout masks and, where Store is nil, those of the parameters. It changes nothing in a
	// Store that is given, which NewStore has a seed for.
	Seed uint64
	// Context ends building and compiling early, with its error; nil: nothing does.
	Context context.Context

	salt int // changes every op's hash; Program's answer to a hash collision
}

// MaxThreads bounds Options.Threads: more than the processors of one machine.
const MaxThreads = 1024

func (b *Builder) check() {
	switch {
	case b.g == nil:
		b.fail(errors.New("graph: want a graph to build on, got nil: make one with gorgonia.NewGraph()"))
	case b.options.DType != tensor.Float32 && b.options.DType != tensor.Float64:
		b.fail(errors.Errorf("graph: dtype: want float32 or float64, got %v", b.options.DType))
	case b.options.Threads > MaxThreads:
		b.fail(errors.Errorf("graph: threads: want at most %d, got %d", MaxThreads, b.options.Threads))
	case b.options.Device != CPU && !b.options.Device.OnGPU():
		b.fail(errors.Errorf("graph: device: want %q, %q or, of several GPUs, %q, got %q", CPU, CUDA, GPU(1), b.options.Device))
	case b.options.checkPrecision() != nil:
		b.fail(b.options.checkPrecision())
	case b.options.checkWeights() != nil:
		b.fail(b.options.checkWeights())
	case b.options.Store != nil && b.options.Store.dtype != b.options.DType:
		b.fail(errors.Errorf("graph: dtype: the store holds %v, want %v as the graph", b.options.Store.dtype, b.options.DType))
	}
}
