package analysis_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/analysis/memory"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// TestErasureAgainstNumpy: GPT-2's neurons, heads and feed-forwards.
func TestErasureAgainstNumpy(t *testing.T) {
	var want struct {
		Neurons struct {
			Cosine [][]float64 `json:"cosine"`
		} `json:"neurons"`
		Memory struct {
			Heads       [][]float64 `json:"heads"`
			FeedForward []float64   `json:"feedforward"`
		} `json:"memory"`
	}
	numpy(t, &want)
	p := gpt2(t)
	e, err := analysis.MeasureErasure(t.Context(), p.Store, p.Spec)
	require.NoError(t, err)
	require.Len(t, e.Layers, len(want.Neurons.Cosine))
	for l, layer := range e.Layers {
		assert.InDeltaSlice(t, want.Neurons.Cosine[l], layer.Neurons, 1e-6)
		assert.InDeltaSlice(t, want.Memory.Heads[l], layer.Heads, 1e-6)
		assert.InDelta(t, want.Memory.FeedForward[l], layer.FeedForward, 1e-6)
	}
	checkResult(t, e)
}

// outer adds key ⊗ value times s to x [Dk, Dv].
func outer(x []float64, key, value []float64) {
	for d, k := range key {
		floats.AddScaled(x[d*len(value):][:len(value)], k, value)
	}
}

// readDirection is what reads sum_h key_h ⊗ value_h after a norm, on Dk*Dv entries.
func readDirection(spec models.Spec, gain, keys, values []float64) []float64 {
	s := matrixOf(spec)
	x := make([]float64, s.Dk*s.Dv)
	for h := range len(keys) / s.Dk {
		outer(x, keys[h*s.Dk:][:s.Dk], values[h*s.Dv:][:s.Dv])
	}
	w := naiveFold(spec, gain, mat.NewDense(len(x), 1, x))
	return mat.Col(nil, 0, w)
}

// TestErasureOfMatrixStreams: cosines computed from products of keys equal the cosines of the whole
// matrices [Dk, Dv] that are read and written.
func TestErasureOfMatrixStreams(t *testing.T) {
	all := zoo(t)
	for _, name := range []string{"matrix", "matrix/authors", "matrix/moe", "matrix/swiglu", "matrix/bias"} {
		t.Run(name, func(t *testing.T) {
			c := all[name]
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			e, err := analysis.MeasureErasure(t.Context(), store, c)
			require.NoError(t, err)
			for l := range c.Layers {
				checkMatrixNeurons(t, c, store, l, e.Layers[l])
				checkMatrixHeads(t, c, store, l, e.Layers[l].Heads)
			}
			checkResult(t, e)
		})
	}
}

func checkMatrixNeurons(t *testing.T, spec models.Spec, store *graph.Store, l int, got analysis.LayerErasure) {
	name := fmt.Sprintf("blocks.%d.feedforward", l)
	value := func(suffix string) []float64 { return graph.Float64s(store.Param(name + suffix).Value) }
	s := matrixOf(spec)
	plain := make([]float64, s.Dk*s.Dv)
	dot, in, out, n := 0.0, 0.0, 0.0, 0
	unfolded := varied(t, spec, func(c *models.Config) { c.Norm, c.Bias = models.NormRMS, false })
	floats.AddConst(1, plain)
	w2 := expertsOf(spec, store, name+".w2", hidden(spec))
	first := expertsOf(spec, store, name+".w1", s.Rank*s.Dv)
	if store.Param(name+".w3") != nil {
		first = []*mat.Dense{valueWeights(spec, store, name)}
	}
	for e, w1 := range first {
		for i := range hidden(spec) {
			read := readDirection(spec, value(".norm"), value(".read"), mat.Col(nil, i, w1))
			wrote := readDirection(unfolded, plain, value(".write"), w2[e].RawRowView(i))
			cosine := floats.Dot(read, wrote) / floats.Norm(read, 2) / floats.Norm(wrote, 2)
			require.InDelta(t, cosine, got.Neurons[n], 1e-12, "neuron %d", n)
			dot, in, out, n = dot+floats.Dot(read, wrote), in+floats.Dot(read, read), out+floats.Dot(wrote, wrote), n+1
		}
	}
	require.Len(t, got.Neurons, n)
	assert.InDelta(t, dot/math.Sqrt(in*out), got.FeedForward, 1e-12)
}

// checkMatrixHeads builds W_V [Dk*Dv, Dv] and W_O [Dv, Dk*Dv] and takes their eigenvalues.
func checkMatrixHeads(t *testing.T, spec models.Spec, store *graph.Store, l int, got []float64) {
	name := fmt.Sprintf("blocks.%d.attention", l)
	value := func(suffix string) []float64 { return graph.Float64s(store.Param(name + suffix).Value) }
	s := matrixOf(spec)
	for h := range s.Rank {
		v, o := mat.NewDense(s.Dk*s.Dv, s.Dv, nil), mat.NewDense(s.Dv, s.Dk*s.Dv, nil)
		for d := range s.Dk {
			for j := range s.Dv {
				v.Set(d*s.Dv+j, j, value(".read")[(2*s.Rank+h)*s.Dk+d])
				o.Set(j, d*s.Dv+j, value(".write")[h*s.Dk+d])
			}
		}
		require.InDelta(t, eigenScore(t, naiveFold(spec, value(".norm"), v), o), got[h], 1e-9, "head %d", h)
	}
}

// eigenScore is sum Re(eigenvalues of V O) / (||V|| ||O||).
func eigenScore(t *testing.T, v, o mat.Matrix) float64 {
	var ov mat.Dense
	ov.Mul(v, o)
	var eigen mat.Eigen
	require.True(t, eigen.Factorize(&ov, mat.EigenNone))
	sum := 0.0
	for _, z := range eigen.Values(nil) {
		sum += real(z)
	}
	return sum / mat.Norm(v, 2) / mat.Norm(o, 2)
}

// TestErasureOfVectorStreams compares with folded weights and eigenvalues.
func TestErasureOfVectorStreams(t *testing.T) {
	all := zoo(t)
	for _, name := range checked(t, "erasure", "vector", "vector/gpt2", "vector/moe", "vector/swiglu") {
		t.Run(name, func(t *testing.T) {
			c := all[name]
			store := modeltest.PerturbedStore(t, c, tensor.Float64)
			e, err := analysis.MeasureErasure(t.Context(), store, c)
			require.NoError(t, err)
			for l := range c.Layers {
				a, f := fmt.Sprintf("blocks.%d.attention", l), fmt.Sprintf("blocks.%d.feedforward", l)
				gain := func(site string) []float64 { return graph.Float64s(store.Param(site + ".norm").Value) }
				qkv, dh := naiveFold(c, gain(a), param(store, a+".qkv", c.Width())), c.HeadDim()
				o := param(store, a+".o", c.HeadCount()*dh)
				for h := range c.HeadCount() {
					from := 2*c.HeadCount()*dh + h*dh
					want := eigenScore(t, qkv.Slice(0, c.Width(), from, from+dh), o.Slice(h*dh, (h+1)*dh, 0, c.Width()))
					require.InDelta(t, want, e.Layers[l].Heads[h], 1e-9)
				}
				w1 := naiveFold(c, gain(f), valueWeights(c, store, f))
				for n, got := range e.Layers[l].Neurons {
					in, out := mat.Col(nil, n, w1), expertsOf(c, store, f+".w2", hidden(c))[n/hidden(c)].RawRowView(n%hidden(c))
					require.InDelta(t, floats.Dot(in, out)/floats.Norm(in, 2)/floats.Norm(out, 2), got, 1e-12)
				}
			}
			checkResult(t, e)
		})
	}
}

// TestWeightsOfAttentionAlone: a model without feed-forwards has no neurons, and the rest as others
// have it.
func TestWeightsOfAttentionAlone(t *testing.T) {
	for _, name := range []string{"vector/attention-only", "matrix/attention-only"} {
		c := zoo(t)[name]
		store := modeltest.PerturbedStore(t, c, tensor.Float32)
		e, err := analysis.MeasureErasure(t.Context(), store, c)
		require.NoError(t, err)
		assert.Len(t, e.Layers[1].Heads, c.HeadCount())
		assert.Empty(t, e.Layers[1].Neurons)
		assert.Len(t, e.Figures(), 1)
		s, err := analysis.FindSubspaces(t.Context(), store, c)
		require.NoError(t, err)
		assert.Len(t, s.Figures()[0].(figure.Lines).Series, 2, "attention reads and writes")
	}
	c := zoo(t)["matrix/attention-only"]
	_, err := memory.MeasureKeys(t.Context(), modeltest.PerturbedStore(t, c, tensor.Float32), c, 1)
	assert.NoError(t, err)
}

// TestPlantedEraser: a neuron that writes minus what it reads is found, first of all, in
// streams of vectors and of matrices.
func TestPlantedEraser(t *testing.T) {
	all := zoo(t)
	for _, name := range []string{"vector", "matrix"} {
		c := varied(t, all[name], func(c *models.Config) { c.Norm = models.NormRMS })
		store := modeltest.PerturbedStore(t, c, tensor.Float64)
		const f, neuron = "blocks.1.feedforward", 5
		copyParam := func(to, from string) {
			require.NoError(t, graph.SetFloat64s(store.Param(to).Value, graph.Float64s(store.Param(from).Value)))
		}
		if on[stream.MatrixConfig](c) {
			copyParam(f+".write", f+".read") // writes where it reads
		}
		gain := store.Param(f + ".norm").Value
		unit := graph.Float64s(gain)
		for i := range unit {
			unit[i] = 2
		}
		require.NoError(t, graph.SetFloat64s(gain, unit))
		w1, w2 := param(store, f+".w1", c.Width()), param(store, f+".w2", hidden(c))
		for i := range c.Width() {
			w2.Set(neuron, i, -0.3*w1.At(i, neuron))
		}
		require.NoError(t, graph.SetFloat64s(store.Param(f+".w2").Value, w2.RawMatrix().Data))
		e, err := analysis.MeasureErasure(t.Context(), store, c)
		require.NoError(t, err)
		found := e.Strongest(1)[0]
		assert.Equal(t, "blocks.1.feedforward neuron 5", found.Name())
		assert.InDelta(t, -1, found.Cosine, 1e-12)
		assert.Equal(t, found.Name(), e.Table().Rows[0][0])
		for _, s := range e.Strongest(1000) {
			assert.Negative(t, s.Cosine)
		}
		assert.Empty(t, e.Strongest(-1))
	}
}

// TestRandomCosineDensity: random directions have the density that RandomCosineDensity says.
func TestRandomCosineDensity(t *testing.T) {
	draw := rand.New(rand.NewPCG(8, 9))
	for _, d := range []int{3, 5, 30} {
		const samples, bins = 4000, 10
		var inside [bins][]float64
		squares := make([]float64, samples)
		for i := range squares {
			u := make([]float64, d)
			for k := range u {
				u[k] = draw.NormFloat64()
			}
			cosine := u[0] / floats.Norm(u, 2)
			squares[i] = cosine * cosine
			for b := range bins {
				low := -1 + 2*float64(b)/bins
				inside[b] = append(inside[b], map[bool]float64{true: 1}[cosine >= low && cosine < low+2./bins])
			}
		}
		withinErrors(t, 1/float64(d), squares, "variance of the cosine, %d dimensions", d)
		for b := range bins {
			low := -1 + 2*float64(b)/bins
			want := integrate(low, low+2./bins, func(x float64) float64 { return analysis.RandomCosineDensity(x, d) })
			if want*samples > 10 { // else hardly any fall into it
				withinErrors(t, want, inside[b], "bin %d of %d dimensions", b, d)
			}
		}
	}
}

// integrate integrates by the midpoint rule.
func integrate(from, to float64, f func(x float64) float64) float64 {
	const steps = 2000
	sum := 0.0
	for i := range steps {
		sum += f(from+(to-from)*(float64(i)+0.5)/steps) * (to - from) / steps
	}
	return sum
}

// TestErasureErrors: a stream without it says so.
func TestErasureErrors(t *testing.T) {
	c := unsupporting(t, weighted)
	_, err := analysis.MeasureErasure(t.Context(), modeltest.NewStore(t, c, tensor.Float32, 1), c)
	assert.ErrorIs(t, err, check.UnsupportedError{Stream: c.Stream.Name()})
	fresh, err := analysis.MeasureErasure(t.Context(), modeltest.NewStore(t, zoo(t)["vector"], tensor.Float32, 1), zoo(t)["vector"])
	require.NoError(t, err)
	checkResult(t, fresh)
}
