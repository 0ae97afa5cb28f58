//go:build cuda

package bench

import (
	"gorgonia.org/cu"

	"github.com/residua-go/residua/graph"
)

// gpuName asks the driver for a GPU's name.
func gpuName(d graph.Device) (string, error) {
	index, _ := d.GPU()
	if err := cu.Use(index); err != nil {
		return "", err
	}
	gpu, err := cu.GetDevice(0)
	if err != nil {
		return "", err
	}
	return gpu.Name()
}
