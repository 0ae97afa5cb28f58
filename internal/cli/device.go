package cli

import "github.com/residua-go/residua/graph"

// WarnDevice tells what is not known yet of a device.
func WarnDevice(out Output, d graph.Device) {
	if d.OnGPU() {
		out.Warn("device cuda is unproven: its kernels have run on an emulator and never on a GPU (docs/cuda.md)")
	}
}
