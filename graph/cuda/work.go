package cuda

import "time"

// Work is one thing that an Executor was asked to do; the zero Work is to begin an op (Enter) or to wait (Synchronize).
type Work struct {
	Kernel  string // its name; "" for a product or a copy
	Grid    Grid   // of the kernel
	Product *Gemm  // nil for a kernel or a copy
	Copy    Copy   // "" for a kernel or a product
	Bytes   int    // that it reads and writes, each array that it is given once
}

// Copy is a kind of copy.
type Copy string

// The kinds of copies.
const (
	CopyUp     Copy = "host to device"
	CopyDown   Copy = "device to host"
	CopyDevice Copy = "device to device"
	CopyZero   Copy = "zeros"
)

// Timing is how long a device took for one thing that it was asked to do, and waited for it: from the end of what came before.
type Timing struct {
	Work
	Took time.Duration
}

// Profiler is an Executor that times what it does, a Device, without waiting for it meanwhile.
type Profiler interface {
	// StartProfile has all times taken until StopProfile, and forgets those of an earlier one.
	StartProfile() error
	// StopProfile waits for the device and returns what it has done since StartProfile, in order. Without one it does nothing.
	StopProfile() ([]Timing, error)
}

func kernelWork(name string, grid Grid, args []arg) Work {
	w := Work{Kernel: name, Grid: grid}
	for _, a := range args {
		w.Bytes += a.touched
	}
	return w
}

// Idle tells whether there was nothing to do.
func (w Work) Idle() bool { return w.Kernel == "" && w.Product == nil && w.Copy == "" }

// String names the kernel, the shape of the product or the kind of copy.
func (w Work) String() string {
	switch {
	case w.Idle():
		return "between ops"
	case w.Product != nil:
		return w.Product.String()
	case w.Copy != "":
		return "copy: " + string(w.Copy)
	}
	return w.Kernel
}
