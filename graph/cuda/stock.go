package cuda

import "github.com/pkg/errors"

// StockModules returns the names of the modules with the kernels that Gorgonia's own ops request:
// element by element, of two tensors or numbers, and of one.
func StockModules() []string { return []string{"elembinop", "elemunaryop"} }

// Stock returns the PTX of one of these modules and the names of its kernels.
func Stock(module string) (ptx string, kernels []string, err error) {
	for _, m := range modules {
		if m.name != module {
			continue
		}
		for _, e := range m.entries {
			kernels = append(kernels, e.name)
		}
		ptx, err = m.ptx()
		return ptx, kernels, err
	}
	return "", nil, errors.Errorf("kernels: want the module %s, got none: run go generate ./graph/cuda", module)
}
