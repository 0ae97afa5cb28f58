package models_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// plain is a transformer written with loops: learned positions, LayerNorm with a gain, one row. The
// inputs of its norms are multiplied by site at the sublayers and by last at the end, which changes
// the results only through eps.
type plain struct {
	c          models.Spec
	w          map[string][]float64
	site, last float64
}

// logits computes the model's logits: [seq, vocab].
func (p plain) logits(tokens []int32) []float64 {
	d, h := p.c.Width(), []float64{}
	for i, id := range tokens {
		for j := range d {
			h = append(h, p.w["embedding"][int(id)*d+j]+p.w["positions"][i*d+j])
		}
	}
	for l := range p.c.Layers {
		a, f := site(l, "attention"), site(l, "feedforward")
		qkv := matmul(p.norm(h, a+"norm", p.site), p.w[a+"qkv"], d)
		addTo(h, matmul(p.attend(qkv), p.w[a+"o"], d))
		hidden := matmul(p.norm(h, f+"norm", p.site), p.w[f+"w1"], d)
		addTo(h, matmul(geluTanh(hidden), p.w[f+"w2"], p.c.FeedForwardShape().Hidden))
	}
	return matmul(p.norm(h, "norm", p.last), p.w["unembedding"], d)
}

// norm returns the LayerNorm of factor*x.
func (p plain) norm(x []float64, name string, factor float64) []float64 {
	gain, y := p.w[name], make([]float64, len(x))
	n := len(gain)
	for at := 0; at < len(x); at += n {
		mean, variance := 0.0, 0.0
		for _, v := range x[at : at+n] {
			mean += factor * v / float64(n)
		}
		for _, v := range x[at : at+n] {
			variance += (factor*v - mean) * (factor*v - mean) / float64(n)
		}
		for i, v := range x[at : at+n] {
			y[at+i] = (factor*v - mean) / math.Sqrt(variance+p.c.NormEps) * gain[i]
		}
	}
	return y
}

// attend returns causal attention [seq, heads, size] for packed q, k, v [seq, 3, heads, size].
func (p plain) attend(qkv []float64) []float64 {
	d, heads := p.c.Width(), p.c.HeadCount()
	size, seq := d/heads, len(qkv)/(3*d)
	at := func(token, part, head, i int) float64 { return qkv[(token*3+part)*d+head*size+i] }
	out := make([]float64, seq*d)
	for token := range seq {
		for head := range heads {
			weights, sum := make([]float64, token+1), 0.0
			for other := range weights {
				dot := 0.0
				for i := range size {
					dot += at(token, 0, head, i) * at(other, 1, head, i)
				}
				weights[other] = math.Exp(dot / math.Sqrt(float64(size)))
				sum += weights[other]
			}
			for other, weight := range weights {
				for i := range size {
					out[token*d+head*size+i] += weight / sum * at(other, 2, head, i)
				}
			}
		}
	}
	return out
}

// matmul returns x w, for rows x of n entries.
func matmul(x, w []float64, n int) []float64 {
	width := len(w) / n
	y := make([]float64, len(x)/n*width)
	for i := range y {
		for k := range n {
			y[i] += x[i/width*n+k] * w[k*width+i%width]
		}
	}
	return y
}

// geluTanh returns the tanh form of GELU.
func geluTanh(xs []float64) []float64 {
	y := make([]float64, len(xs))
	for i, x := range xs {
		y[i] = 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	}
	return y
}

func addTo(x, y []float64) {
	for i := range x {
		x[i] += y[i]
	}
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// TestInitialFunctionUpToEps compares streams of n rows, at their first coefficients, with a
// transformer written with loops. All rows start alike and stay alike: each follows h <- h + F(h).
// Hyper-connections read one row, mHC reads readSum times a row, and at the end all streams read n
// times a row. Since each reading goes through a norm, this is a transformer except for eps, which
// acts like eps over the square of the factor. The test sets a large eps to make the difference
// visible.
func TestInitialFunctionUpToEps(t *testing.T) {
	const n, eps = 4, 0.05
	large := func(c *models.Config) { c.NormEps = eps }
	for name, row := range map[string]struct {
		c          models.Config
		site, last float64
	}{
		"vector":        {tinyVector(large), 1, 1},
		"hyper/static":  {tinyZoo(stream.HyperConfig{N: n}, large), 1, n},
		"hyper/dynamic": {tinyZoo(stream.HyperConfig{N: n, Dynamic: true}, large), 1, n},
		"mhc":           {tinyZoo(stream.MHCConfig{N: n}, large), readSum(n), n},
		"mhc-lite":      {tinyZoo(stream.MHCLiteConfig{N: n}, large), readSum(n), n},
		"mhc/two":       {tinyZoo(stream.MHCConfig{N: 2}, large), readSum(2), 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := modeltest.Resolve(t, row.c)
			store, shared := modeltest.NewStore(t, c, tensor.Float64, 0), modeltest.PerturbedStore(t, modeltest.Resolve(t, tinyVector(plainly)), tensor.Float64)
			for _, p := range shared.Params() {
				require.NoError(t, graph.SetFloat64s(store.Param(p.Name).Value, graph.Float64s(p.Value)))
			}
			b := modeltest.RandomBatch(c, 1, c.Seq, 1)
			got := modeltest.Compile(t, c, store, modeltest.Setup{Rows: 1}).On(t, b, graph.RunOptions{}).Logits
			model := plain{c, modeltest.Values(shared), row.site, row.last}
			assert.LessOrEqual(t, modeltest.Distance(got, model.logits(b.Inputs)), 1e-12)
			if model.site, model.last = 1, 1; row.last != 1 {
				assert.Greater(t, modeltest.Distance(got, model.logits(b.Inputs)), 1e-3, "a transformer of the same eps")
			}
		})
	}
}
