package commandline

import (
	"slices"

	"github.com/residua-go/residua/graph"
)

// CheckDevice checks the values of -device and -precision ("": the device's default) of training.
func CheckDevice(device graph.Device, precision graph.Precision) error {
	switch {
	case device != graph.CPU && !device.OnGPU():
		return Usagef("-device: want %s, %s or, of several GPUs, %s, got %q", graph.CPU, graph.CUDA, graph.GPU(1), device)
	case precision == "":
		return nil
	case device == graph.CPU && precision == graph.TF32:
		return Usagef("-precision: want %s or %s on the %s, got %q: add -device %s", graph.FP32, graph.BF16, graph.CPU, precision, graph.CUDA)
	case !slices.Contains(graph.Precisions(), precision):
		return Usagef("-precision: want one of %v, got %q", graph.Precisions(), precision)
	}
	return nil
}

// onCPU lists the precisions of a model that is used, not trained, on the CPU; bf16 and int8 apply
// to its weights alone.
var onCPU = []graph.Precision{graph.FP32, graph.BF16, graph.INT8}

// checkPlace checks the same for a model that is used, not trained.
func checkPlace(p Place) error {
	switch {
	case p.Device == graph.CPU && p.Precision != "" && !slices.Contains(onCPU, p.Precision):
		return Usagef("-precision: want one of %v on the %s, got %q", onCPU, graph.CPU, p.Precision)
	case p.Device == graph.CPU:
		return nil
	case p.Precision == graph.INT8:
		return Usagef("-precision: want one of %v on %s, got %q, which the %s alone has", graph.Precisions(), p.Device, p.Precision, graph.CPU)
	}
	return CheckDevice(p.Device, p.Precision)
}
