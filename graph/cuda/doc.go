// Package cuda is the GPU side of the ops: kernels in CUDA C (*.cu) with the PTX they compile to,
// and, with the build tag cuda, the Device that loads and launches them. It does not use Gorgonia.
package cuda

//go:generate go run ./internal/ptxgen
