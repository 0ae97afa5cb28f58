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

// Options say how a Builder makes its nodes. The zero value is ready for use: float32 on the CPU
// with all threads, parameters in a new Store, no hooks, no cache.
type Options struct {
	Threads int    // workers of an op, at most 1024; 0: runtime.GOMAXPROCS(0). Results do not depend on it
	Device  Device // where ops run, CPU, CUDA or another GPU (GPU(1)); "": CPU
	// Precision is the precision of a CUDA device; "": TF32. All builders over one Store must have
	// the same.
	Precision Precision
	// Weights is the form in which products read weights on the CPU, for a Store that serves
	// (Store.Serve); "": float32.
	Weights kernel.WeightFormat
	// RowsAlone says that a row's bits must not depend on the number of rows (kernel.Weights).
	RowsAlone bool
	DType     tensor.Dtype // Float32 or Float64 (checks only); unset: Float32
	Store     *Store       // holds the parameters; nil: a new one, which draws them by Seed
	Hooks     Hooks        // named activations to watch or replace
	Cache     *Cache       // keys and values of earlier tokens, for generation
	Training  bool         // dropout is active
	// Seed seeds the dropout masks and, if Store is nil, the initial parameters. It does not change
	// a given Store, which has its own seed from NewStore.
	Seed uint64
	// Simulate makes one CPU thread run, one after another, the parts of an op that Threads workers
	// would share. Program.Profile then tells how evenly the work is divided.
	Simulate bool
	// Context stops building and compiling when it ends, with its error; nil: nothing stops them.
	Context context.Context

	salt int // changes every op's hash; Program sets it after a hash collision
}

// maxThreads is the largest allowed value of Options.Threads. It exceeds the number of
// processors of a machine.
const maxThreads = 1024

func (b *Builder) check() {
	switch {
	case b.g == nil:
		b.fail(errors.New("graph: want a graph to build on, got nil: make one with gorgonia.NewGraph()"))
	case b.options.DType != tensor.Float32 && b.options.DType != tensor.Float64:
		b.fail(errors.Errorf("graph: dtype: want float32 or float64, got %v", b.options.DType))
	case b.options.Threads > maxThreads:
		b.fail(errors.Errorf("graph: threads: want at most %d, got %d", maxThreads, b.options.Threads))
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
