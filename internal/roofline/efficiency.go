package roofline

import (
	"strings"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/cuda"
)

// efficiency says what share of a data sheet's rates some work is expected to reach. FLOPs are
// counted as by the command models, so products that a backward pass computes a second time lower
// its efficiency.
type efficiency struct {
	Work    string   `json:"work"`
	Kernels []string `json:"kernels,omitempty"` // beginnings of kernel names; the longest match applies
	Memory  float64  `json:"memory"`            // share of the memory's bandwidth
	Product float64  `json:"product,omitempty"` // share of the peak of matrix products; 0: limited by memory alone
}

// efficiencies is the table on which all predictions rest. Its first four rows are not kernels of
// ours, and the last applies to all kernels without a row. They were measured on one H100 in
// bfloat16 at 32 x 512 (docs/gpu/h100.md), attention with heads of 64; mixtures of experts,
// attention's preparation and the Muon optimizer are guesses.
func efficiencies() []efficiency {
	return []efficiency{
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

// Times that work takes regardless of its size, in seconds, and the host's bandwidth.
const (
	deviceGap  = 2e-6   // on the device, between two pieces of work and until it is fully used
	hostLaunch = 2.5e-6 // on the host, to launch one
	hostOp     = 1.3e-6 // on the host, for the tape machine to reach an op
	hostBytes  = 25e9   // per second, between host and device
)

// seconds returns how long the device takes for one piece of work with the given FLOPs.
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

// peakOf returns the peak rate of a piece of work's products. cuBLAS multiplies 32-bit floats on
// tensor cores only in precision TF32.
func (g GPU) peakOf(w cuda.Work, p graph.Precision) float64 {
	if p == graph.BF16 && w.Product != nil && w.Product.A.Type == cuda.F32 {
		p = graph.FP32
	}
	return g.peak(p)
}

// efficiencyOf returns the row of the table for a piece of work.
func efficiencyOf(w cuda.Work) efficiency {
	table := efficiencies()
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
