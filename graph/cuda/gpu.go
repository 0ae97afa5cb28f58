//go:build cuda

package cuda

import (
	"fmt"
	"os"
	"sync"

	"github.com/pkg/errors"
	"gorgonia.org/cu"
	cublas "gorgonia.org/cu/blas"
)

// gpu is the GPU that a program computes on: its context, which a driver needs about half a second
// to make, the kernels loaded into it, and cuBLAS. A program has one, which its first Device opens
// and which stays open until the program ends.
type gpu struct {
	device     cu.Device
	ordinal    int
	name       string
	capability string // "9.0"
	context    cu.CUContext

	products      sync.Mutex // held while a product starts: the handle keeps its factors
	blasStream    cu.Stream  // where cuBLAS starts products
	blasReady     bool       // it has that stream, and the workspace
	blasWorkspace cu.DevicePtr

	mu      sync.Mutex // guards the fields below: Devices may be used at the same time
	kernels map[string]*kernel
	blas    *cublas.Handle
}

// programGPU is the program's GPU, once a Device has been opened.
var programGPU struct {
	sync.Mutex
	*gpu
}

// openGPU returns the program's GPU. From then on it is the only one: Gorgonia's machines, which
// copy inputs to the first GPU that they see, must see the same.
func openGPU(ordinal int) (*gpu, error) {
	programGPU.Lock()
	defer programGPU.Unlock()
	if g := programGPU.gpu; g != nil {
		if g.ordinal != ordinal {
			return nil, errors.Errorf("device.index: this program computes on GPU %d already, want the same, got %d: use one program for each GPU", g.ordinal, ordinal)
		}
		return g, nil
	}
	if err := cu.Use(ordinal); err != nil {
		return nil, errors.Wrap(err, "device.index")
	}
	device, err := cu.GetDevice(0)
	if err != nil {
		return nil, err
	}
	folder := os.Getenv(kernelsVariable)
	if err := checkFolder(folder); err != nil {
		return nil, err
	}
	capability, err := device.Attributes(cu.ComputeCapabilityMajor, cu.ComputeCapabilityMinor)
	if err != nil {
		return nil, err
	}
	g := &gpu{device: device, ordinal: ordinal, kernels: indexKernels(folder, capability[0]), capability: fmt.Sprintf("%d.%d", capability[0], capability[1])}
	if g.name, err = device.Name(); err != nil {
		return nil, err
	}
	if g.context, err = device.MakeContext(cu.SchedAuto); err != nil {
		return nil, errors.Wrapf(err, "%s: context", g.name)
	}
	programGPU.gpu = g
	return g, nil
}

// handle returns the cuBLAS handle.
func (g *gpu) handle() (*cublas.Handle, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.blas != nil {
		return g.blas, nil
	}
	handle, err := cublas.NewHandle()
	if err != nil {
		return nil, errors.Wrap(err, "cuBLAS")
	}
	// Sums stay in 32 bits even if the result is bfloat16.
	if err := handle.SetMathMode(cublas.FullReductions); err != nil {
		_ = handle.Close()
		return nil, errors.Wrap(err, "cuBLAS")
	}
	g.blas = handle
	return handle, nil
}
