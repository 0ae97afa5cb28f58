package cuda

import "github.com/pkg/errors"

// StockModule is the name of the module with the kernels that Gorgonia's own ops request, under the
// names that Gorgonia gives them: the in-place sums that gorgonia.Grad makes.
const StockModule = "elembinop"

// Stock returns that module's PTX and the names of its kernels.
func Stock() (ptx string, kernels []string, err error) {
	for _, m := range modules {
		if m.name != StockModule {
			continue
		}
		for _, e := range m.entries {
			kernels = append(kernels, e.name)
		}
		ptx, err = m.ptx()
		return ptx, kernels, err
	}
	return "", nil, errors.Errorf("kernels: want the module %s, got none: run go generate ./graph/cuda", StockModule)
}
