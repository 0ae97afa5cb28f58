//go:build !cuda

package graph

import (
	"github.com/pkg/errors"
	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
)

// errNoCUDA says that the program was built without the CUDA backend.
var errNoCUDA = errors.New(`device cuda: this program was built without it: build with "go build -tags cuda", or choose the device cpu`)

func openAccelerator(int, Precision) (cuda.Executor, error) { return nil, errNoCUDA }

func openCommunicator(cuda.Executor, []byte, int, int) (cuda.Communicator, error) {
	return nil, errNoCUDA
}

func newCommunicatorID() ([]byte, error) { return nil, errNoCUDA }

func pciBusIDs() ([]string, error) { return nil, errNoCUDA }

// onDeviceOp fails: this program has no device.
func (b *Builder) onDeviceOp(*Op) (gorgonia.Op, error) { return nil, errNoCUDA }

// giveStockKernels does nothing: Gorgonia's own ops run on the CPU.
func giveStockKernels() error { return nil }
