package ops_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/graph/ops/mix"
	"github.com/residua-go/residua/graph/optest"
)

// coefficientCases are the ops that compute mixing coefficients of hyper-connections from z.
func coefficientCases() []optest.Case {
	sinkhorn := func(tokens, n, iterations int) optest.Case {
		columns := n*n + 2*n
		return optest.Case{Name: fmt.Sprintf("SinkhornCoefficients/n=%d iterations=%d tokens=%d", n, iterations, tokens), Floats: [][]int{{tokens, columns}, {3}, {columns}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return mix.SinkhornCoefficients(b, x[0], x[1], x[2], n, iterations)
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return wantStreamGates(v, n, func(logits []float64) []float64 { return wantSinkhorn(logits, n, iterations) })
			}}
	}
	permutation := func(tokens, n, columns int) optest.Case {
		return optest.Case{Name: fmt.Sprintf("PermutationCoefficients/n=%d tokens=%d", n, tokens), Floats: [][]int{{tokens, columns}, {3}, {columns}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return mix.PermutationCoefficients(b, x[0], x[1], x[2], n)
			},
			Want: func(v [][]float64, _ [][]int32) []float64 {
				return wantStreamGates(v, n, func(logits []float64) []float64 { return wantPermutations(logits, n) })
			}}
	}
	kronecker := func(tokens, n, columns int) optest.Case {
		return optest.Case{Name: fmt.Sprintf("KroneckerCoefficients/n=%d tokens=%d", n, tokens), Floats: [][]int{{tokens, columns}, {3}, {columns}},
			Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
				return mix.KroneckerCoefficients(b, x[0], x[1], x[2], n)
			},
			Want: func(v [][]float64, _ [][]int32) []float64 { return wantStreamGates(v, n, wantKronecker) }}
	}
	return []optest.Case{
		kronecker(3, 2, 6), kronecker(2, 4, 12), kronecker(2, 1, 2), kronecker(35, 2, 6), kronecker(1, 16, 40),
		permutation(3, 2, 6), permutation(3, 3, 12), permutation(2, 4, 32), permutation(37, 2, 6),
		tanhCoefficientCase([]int{3, 4, 6}, false, 1), tanhCoefficientCase([]int{3, 4, 6}, true, 0.3), tanhCoefficientCase([]int{1, 1, 2}, true, 2),
		tanhCoefficientCase([]int{53, 3, 7}, false, 0.5), tanhCoefficientCase([]int{1, 9, 30}, true, 1),
		sinkhorn(3, 2, 3), sinkhorn(2, 4, 20), sinkhorn(35, 3, 1), sinkhorn(2, 5, 2), sinkhorn(1, 9, 2),
	}
}

func tanhCoefficientCase(z []int, pair bool, tau float64) optest.Case {
	scale, columns := z[1:], z[2]
	if pair {
		scale = []int{2}
	}
	return optest.Case{Name: fmt.Sprintf("TanhCoefficients/%v pair=%t tau=%g", z, pair, tau), Floats: [][]int{z, z[1:], scale},
		Build: func(b *graph.Builder, x, _ gorgonia.Nodes) *gorgonia.Node {
			return mix.TanhCoefficients(b, x[0], x[1], x[2], tau)
		},
		Want: func(v [][]float64, _ [][]int32) []float64 {
			var c []float64
			for i, z := range v[0] {
				e := i % len(v[1])
				scale := v[2][e%len(v[2])]
				if pair {
					scale = v[2][0]
					if e%columns == columns-1 {
						scale = v[2][1]
					}
				}
				c = append(c, v[1][e]+scale*math.Tanh(tau*z))
			}
			return c
		}}
}

// wantStreamGates takes z, alpha and bias; carry computes H from a token's logits.
func wantStreamGates(in [][]float64, n int, carry func(logits []float64) []float64) (c []float64) {
	z, alpha, bias := in[0], in[1], in[2]
	for t := 0; t < len(z); t += len(bias) {
		zt := make([]float64, len(bias))
		for j := range zt {
			zt[j] = alpha[min(j/n, 2)]*z[t+j] + bias[j]
		}
		h := carry(zt[2*n:])
		for i := range n {
			c = append(c, 1/(1+math.Exp(-zt[i])))
			for k := range n {
				c = append(c, h[k*n+i])
			}
			c = append(c, 2/(1+math.Exp(-zt[n+i])))
		}
	}
	return c
}

func wantSinkhorn(logits []float64, n, iterations int) []float64 {
	h := make([]float64, n*n)
	for e, v := range logits {
		h[e] = math.Exp(v - slices.Max(logits))
	}
	normalize := func(first, step int) {
		sum := 0.0
		for k := range n {
			sum += h[first+k*step]
		}
		for k := range n {
			h[first+k*step] /= sum
		}
	}
	for range iterations {
		for j := range n {
			normalize(j, n)
		}
		for i := range n {
			normalize(i*n, 1)
		}
	}
	return h
}

// wantKronecker computes each entry as the product over the binary digits of i and j; the first
// pair is for the most significant digit.
func wantKronecker(logits []float64) []float64 {
	pairs := len(logits) / 2
	n := 1 << pairs
	h := make([]float64, n*n)
	for e := range h {
		h[e] = 1
		for k := range pairs {
			differs := (e/n ^ e%n) >> (pairs - 1 - k) & 1
			h[e] *= math.Exp(logits[2*k+differs]) / (math.Exp(logits[2*k]) + math.Exp(logits[2*k+1]))
		}
	}
	return h
}

// wantPermutations goes through all n-digit numbers in base n; those with different digits are the
// permutations, in lexicographic order.
func wantPermutations(logits []float64, n int) []float64 {
	h, sum, r := make([]float64, n*n), 0.0, 0
	for _, v := range logits {
		sum += math.Exp(v)
	}
	for number := range int(math.Pow(float64(n), float64(n))) {
		digits, seen := make([]int, n), map[int]bool{}
		for i, rest := n-1, number; i >= 0; i, rest = i-1, rest/n {
			digits[i] = rest % n
			seen[rest%n] = true
		}
		if len(seen) < n {
			continue
		}
		for i, j := range digits {
			h[i*n+j] += math.Exp(logits[r]) / sum
		}
		r++
	}
	return h
}

func TestPermutationCoefficientErrors(t *testing.T) {
	in := func(z, n int) error {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		mix.PermutationCoefficients(b, b.Input("z", tensor.Float32, 5, z), b.Input("alpha", tensor.Float32, 3), b.Input("bias", tensor.Float32, z), n)
		return b.Err()
	}
	require.NoError(t, in(12, 3))
	optest.RequireLine(t, in(15, 3), "z: want shape [tokens, 12] for 3 streams, got (5, 15)")
	optest.RequireLine(t, in(130, 5), "n: want 1 to 4 streams, got 5")
	optest.RequireLine(t, in(1, 0), "n: want 1 to 4 streams, got 0")
}

func TestKroneckerCoefficientErrors(t *testing.T) {
	in := func(z, n int) error {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		mix.KroneckerCoefficients(b, b.Input("z", tensor.Float32, 5, z), b.Input("alpha", tensor.Float32, 3), b.Input("bias", tensor.Float32, z), n)
		return b.Err()
	}
	require.NoError(t, in(12, 4))
	optest.RequireLine(t, in(24, 4), "z: want shape [tokens, 12] for 4 streams, got (5, 24)")
	optest.RequireLine(t, in(12, 3), "n: want a power of two, got 3")
	optest.RequireLine(t, in(12, 0), "n: want 1 to 64 streams, got 0")
	optest.RequireLine(t, in(270, 128), "n: want 1 to 64 streams, got 128")
}

func TestSinkhornCoefficientErrors(t *testing.T) {
	b := func() *graph.Builder { return graph.On(gorgonia.NewGraph(), graph.Options{}) }
	in := func(b *graph.Builder, z, alpha, bias int, n, iterations int) error {
		mix.SinkhornCoefficients(b, b.Input("z", tensor.Float32, 5, z), b.Input("alpha", tensor.Float32, alpha), b.Input("bias", tensor.Float32, bias), n, iterations)
		return b.Err()
	}
	require.NoError(t, in(b(), 8, 3, 8, 2, 1))
	optest.RequireLine(t, in(b(), 9, 3, 8, 2, 1), "z: want shape [tokens, 8] for 2 streams, got (5, 9)")
	optest.RequireLine(t, in(b(), 8, 2, 8, 2, 1), "alpha: want shape (3), of pre, post and res, got (2)")
	optest.RequireLine(t, in(b(), 8, 3, 4, 2, 1), "bias: want shape (8) for 2 streams, got (4)")
	optest.RequireLine(t, in(b(), 8, 3, 8, 0, 1), "n: want 1 to 64 streams, got 0")
	optest.RequireLine(t, in(b(), 8, 3, 8, 2, 0), "iterations: want at least 1, got 0")
}

func TestTanhCoefficientErrors(t *testing.T) {
	in := func(z, static, scale []int, tau float64) error {
		b := graph.On(gorgonia.NewGraph(), graph.Options{})
		mix.TanhCoefficients(b, b.Input("z", tensor.Float32, z...), b.Input("static", tensor.Float32, static...), b.Input("scale", tensor.Float32, scale...), tau)
		return b.Err()
	}
	require.NoError(t, in([]int{5, 2, 3}, []int{2, 3}, []int{2}, 1))
	require.NoError(t, in([]int{5, 6}, []int{1, 6}, []int{1, 6}, 1), "one row")
	optest.RequireLine(t, in([]int{5}, []int{1, 6}, []int{6}, 1), "z: want [tokens, n, K] or [tokens, K], got shape (5)")
	optest.RequireLine(t, in([]int{5, 6}, []int{2, 3}, []int{2}, 1), "static: want shape (1, 6) for z (5, 6), got (2, 3)")
	optest.RequireLine(t, in([]int{5, 2, 3}, []int{3, 2}, []int{2}, 1), "static: want shape (2, 3) for z (5, 2, 3), got (3, 2)")
	optest.RequireLine(t, in([]int{5, 2, 3}, []int{2, 3}, []int{3}, 1), "scale: want shape (2, 3) or (2) for z (5, 2, 3), got (3)")
	optest.RequireLine(t, in([]int{5, 2, 3}, []int{2, 3}, []int{2}, 0), "tau: want a positive number, got 0")
}
