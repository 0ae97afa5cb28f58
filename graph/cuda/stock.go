//go:build cuda

package cuda

import (
	"slices"

	"github.com/pkg/errors"
)

// Stock calls give once for each of the two modules with the elementwise kernels that
// Gorgonia's own ops request, binary and unary, with the module's name, its PTX and the names
// of its kernels.
func Stock(give func(module, ptx string, kernels []string)) error {
	for _, name := range []string{"elembinop", "elemunaryop"} {
		i := slices.IndexFunc(modules, func(m module) bool { return m.name == name })
		if i < 0 {
			return errors.Errorf("kernels: want the module %s, got none: run go generate ./graph/cuda", name)
		}
		ptx, err := modules[i].ptx()
		if err != nil {
			return err
		}
		var kernels []string
		for _, e := range modules[i].entries {
			kernels = append(kernels, e.name)
		}
		give(name, ptx, kernels)
	}
	return nil
}
