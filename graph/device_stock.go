//go:build cuda

package graph

import (
	"sync"

	"gorgonia.org/gorgonia"

	"github.com/residua-go/residua/graph/cuda"
)

// giveStockKernels gives Gorgonia, once, the kernels that its own ops need; tape machines made
// after that load them.
var giveStockKernels = sync.OnceValue(func() error {
	ptx, kernels, err := cuda.Stock()
	if err == nil {
		gorgonia.AddToStdLib(cuda.StockModule, ptx, kernels)
	}
	return err
})
