package cli

import (
	"slices"

	"github.com/residua-go/residua/graph"
)

// CheckDevice checks the values of -device and -precision ("": the device's own).
func CheckDevice(device graph.Device, precision graph.Precision) error {
	switch {
	case device != graph.CPU && !device.OnGPU():
		return Usagef("-device: want %s, %s or, of several GPUs, %s, got %q", graph.CPU, graph.CUDA, graph.GPU(1), device)
	case precision == "" || device == graph.CPU && precision == graph.FP32:
		return nil
	case device == graph.CPU:
		return Usagef("-precision: want %s on the %s, got %q: add -device %s", graph.FP32, graph.CPU, precision, graph.CUDA)
	case !slices.Contains(graph.Precisions(), precision):
		return Usagef("-precision: want one of %v, got %q", graph.Precisions(), precision)
	}
	return nil
}
