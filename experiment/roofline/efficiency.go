package roofline

import (
	"strings"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// Efficiency is what share of a data sheet's rates some work is expected to reach. FLOPs count
// as in the command models: what a backward pass multiplies a second time lowers its efficiency.
type Efficiency struct {
	Work    string   `json:"work"`
	Kernels []string `json:"kernels,omitempty"` // what their names begin with; the longest match counts
	Memory  float64  `json:"memory"`            // of the memory's bandwidth
	Product float64  `json:"product,omitempty"` // of the peak of matrix products; 0: memory alone bounds it
}

// Efficiencies is the one table of what predictions assume; the first four are not kernels of ours, the last is of all kernels that no
// other names. They were measured on one H100 in bfloat16 at 32 x 512 (docs/gpu/h100.md), attention with heads of 64; mixtures of
// experts, attention's preparation and the Muon optimizer are guesses.
func Efficiencies() []Efficiency {
	return []Efficiency{
		{Work: "cuBLAS, sizes and rows of whole 16 bytes", Memory: 0.85, Product: 0.70},
		{Work: "cuBLAS, others", Memory: 0.85, Product: 0.12},
		{Work: "cuBLASLt, GELU or its gradient with it", Memory: 0.85, Product: 0.49},
		{Work: "copies and zeros on the device", Memory: 0.75},
		{"attention", []string{"attention_"}, 0.60, 0.155},
		{"its backward pass", []string{"attention_keys", "attention_queries", "attention_mix", "attention_pattern"}, 0.60, 0.10},
		{"its preparation", []string{"attention_pad", "attention_unpad", "attention_rotate", "attention_tile_starts", "prepare_qkv"}, 0.75, 0},
		{"reads and writes of the matrix stream", []string{"read", "write", "keys_grad", "normread_", "norm_linear"}, 0.70, 0.25},
		{"mixtures of experts", []string{"moe_"}, 0.60, 0.20},
		{"norms", []string{"norm_"}, 0.78, 0},
		{"losses", []string{"loss_"}, 0.65, 0},
		{"sums over rows", []string{"sum_", "totals"}, 0.15, 0},
		{"gathers", []string{"gather", "order_tokens"}, 0.70, 0},
		{"gradients of gathers", []string{"gather_grad"}, 0.24, 0},
		{"optimizers", []string{"adamw_", "muon_"}, 0.85, 0},
		{Work: "other kernels", Kernels: []string{""}, Memory: 0.84},
	}
}

// What work takes whatever its size, in seconds.
const (
	deviceGap  = 2e-6   // between two pieces of work on the device, and to fill it
	hostLaunch = 2.5e-6 // of the host, to start one
	hostOp     = 1.3e-6 // of the host, for the tape machine to come to an op
	hostBytes  = 25e9   // a second, between host and device
)

// seconds is how long the device takes for one piece of work with so many FLOPs.
func (g GPU) seconds(w cuda.Work, flops int, p graph.Precision) float64 {
	if w.Copy == cuda.CopyUp || w.Copy == cuda.CopyDown {
		return deviceGap + float64(w.Bytes)/hostBytes
	}
	e := efficiencyOf(w)
	seconds := float64(w.Bytes) / (g.Bandwidth * e.Memory)
	if e.Product > 0 {
		seconds = max(seconds, float64(flops)/(g.peakOf(w, p)*e.Product))
	}
	return deviceGap + seconds
}

// peakOf is the rate of a piece of work's products: cuBLAS multiplies 32-bit floats on tensor cores in precision TF32 alone.
func (g GPU) peakOf(w cuda.Work, p graph.Precision) float64 {
	if p == graph.BF16 && w.Product != nil && w.Product.A.Type == cuda.F32 {
		p = graph.FP32
	}
	return g.peak(p)
}

// efficiencyOf finds the row of the table.
func efficiencyOf(w cuda.Work) Efficiency {
	table := Efficiencies()
	switch {
	case w.Product != nil && w.Product.Epilogue != cuda.NoEpilogue:
		return table[2]
	case w.Product != nil && w.Product.Aligned():
		return table[0]
	case w.Product != nil:
		return table[1]
	case w.Copy != "":
		return table[3]
	}
	best, length := table[len(table)-1], 0
	for _, e := range table[4:] {
		for _, prefix := range e.Kernels {
			if len(prefix) > length && strings.HasPrefix(w.Kernel, prefix) {
				best, length = e, len(prefix)
			}
		}
	}
	return best
}
