package cuda

import "time"

// Work is one thing that an Executor was asked to do. The zero Work stands for beginning an op
// (Enter) or waiting (Synchronize).
type Work struct {
	Kernel  string // its name; "" for a product or a copy
	Grid    Grid   // of the kernel
	Product *Gemm  // nil for a kernel or a copy
	Copy    Copy   // "" for a kernel or a product
	Bytes   int    // bytes that it reads and writes; each array counts once
}

// Copy says from where to where bytes are copied, or that zeros are written.
type Copy string

// The kinds of copies.
const (
	CopyUp     Copy = "host to device"
	CopyDown   Copy = "device to host"
	CopyDevice Copy = "device to device"
	CopyZero   Copy = "zeros"
	CopyRanks  Copy = "between ranks"
)

// Timing is how long a device took for one piece of work, from the end of the piece before,
// and so including the wait between the two.
type Timing struct {
	Work
	Took time.Duration
}

// Profiler is an Executor that measures its work, a Device, without waiting for each piece.
type Profiler interface {
	// StartProfile begins to measure, until StopProfile, and discards earlier measurements.
	StartProfile() error
	// StopProfile waits for the device and returns what it has done since StartProfile, in order.
	// Without a StartProfile it does nothing.
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

// String returns the kernel's name, the product's shape or the kind of copy.
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
