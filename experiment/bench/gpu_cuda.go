//go:build cuda

package bench

import "gorgonia.org/cu"

// gpuName asks the driver for the name of the GPU that programs run on.
func gpuName() (string, error) {
	gpu, err := cu.GetDevice(0)
	if err != nil {
		return "", err
	}
	return gpu.Name()
}
