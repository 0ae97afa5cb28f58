package roofline

import (
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/graph"
)

// GPU holds numbers from NVIDIA's data sheet of a GPU: dense rates, without sparsity.
type GPU struct {
	Name             string
	Multiprocessors  int
	Bandwidth        float64 // of its memory, in bytes a second
	BF16, TF32, FP32 float64 // of matrix products with sums in 32 bits, in FLOPs a second: on tensor cores, tensor cores, plain cores
}

const (
	giga = 1e9
	tera = 1e12
)

// gpus lists the GPUs for which steps can be predicted.
func gpus() []GPU {
	return []GPU{
		{"h100", 132, 3350 * giga, 989.4 * tera, 494.7 * tera, 66.9 * tera},   // SXM5, 80 GB
		{"h200", 132, 4800 * giga, 989.4 * tera, 494.7 * tera, 66.9 * tera},   // SXM5, 141 GB
		{"a100", 108, 2039 * giga, 312 * tera, 156 * tera, 19.5 * tera},       // SXM4, 80 GB
		{"rtx4090", 128, 1008 * giga, 165.2 * tera, 82.6 * tera, 82.6 * tera}, // 24 GB
		{"b200", 148, 8000 * giga, 2250 * tera, 1125 * tera, 75 * tera},       // SXM6, 180 GB
	}
}

// Find returns the GPU with a name.
func Find(name string) (GPU, error) {
	var names []string
	for _, g := range gpus() {
		if g.Name == name {
			return g, nil
		}
		names = append(names, g.Name)
	}
	return GPU{}, errors.Errorf("want one of %s, got %q", strings.Join(names, ", "), name)
}

// peak returns the rate of matrix products in a precision.
func (g GPU) peak(p graph.Precision) float64 {
	switch p {
	case graph.BF16:
		return g.BF16
	case graph.FP32:
		return g.FP32
	}
	return g.TF32
}
