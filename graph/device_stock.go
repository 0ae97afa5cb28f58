//go:build cuda

package graph

import (
	"sync"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
)

// giveStockKernels gives Gorgonia, once, the kernels that its own ops need; tape machines made
// after that load them. In this build Gorgonia runs such an op on the GPU in any program, also in
// one whose other ops run on the CPU.
var giveStockKernels = sync.OnceValue(func() error { return cuda.Stock(gorgonia.AddToStdLib) })
