package layers_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
)

// unembedding is one way to make logits, for features of two axes.
type unembedding struct {
	tied                    bool
	scale, cap              float64
	tokens, rank, dv, vocab int
}

// TestUnembedding compares logits, loss and token losses of an untied weight and of a tied table
// with logits = scale * x W, soft-capped or not.
func TestUnembedding(t *testing.T) {
	targets := []int32{4, 0, 6}
	for _, tied := range []bool{false, true} {
		for _, scale := range []float64{0, 0.4} { // 0 means 1
			for _, cap := range []float64{0, 0.8} {
				unembedding{tied, scale, cap, len(targets), 2, 3, 7}.check(t, targets)
			}
		}
	}
}

// compile makes a program of the node that output makes from an unembedding and features.
func (u unembedding) compile(t *testing.T, output func(b *graph.Builder, out *layers.Unembedding, x *gorgonia.Node) *gorgonia.Node) *evaluation {
	return compile(t, nil, func(b *graph.Builder) *gorgonia.Node {
		c := layers.UnembeddingConfig{Features: u.rank * u.dv, Vocab: u.vocab, Scale: u.scale, SoftCap: u.cap}
		if u.tied {
			c.Tied = layers.NewEmbedding(b, "table", layers.Init{Embedding: 1}, 1, u.vocab, u.rank, u.dv).Table()
		}
		return output(b, layers.NewUnembedding(b, "unembedding", c), b.Input("x", tensor.Float64, u.tokens, u.rank, u.dv))
	})
}

func (u unembedding) check(t *testing.T, targets []int32) {
	const z = 0.2
	inputs := map[string][]float64{"x": noise(5, u.tokens*u.rank*u.dv)}
	var built *layers.Unembedding
	logits := u.compile(t, func(_ *graph.Builder, out *layers.Unembedding, x *gorgonia.Node) *gorgonia.Node {
		built = out
		return out.Logits(x)
	})
	want := u.logits(logits, inputs["x"])
	require.InDeltaSlice(t, want, logits.on(inputs), tolerance, "logits of %+v", u)
	u.checkWeights(t, built, inputs["x"], want)

	var each []float64
	sum, squares := 0.0, 0.0
	for i, target := range targets {
		row := want[i*u.vocab : (i+1)*u.vocab]
		logZ := 0.0
		for _, v := range row {
			logZ += math.Exp(v)
		}
		logZ = math.Log(logZ)
		each = append(each, logZ-row[target])
		sum, squares = sum+logZ-row[target], squares+logZ*logZ
	}
	losses := u.compile(t, func(b *graph.Builder, out *layers.Unembedding, x *gorgonia.Node) *gorgonia.Node {
		return out.TokenLosses(x, b.Input("targets", tensor.Int32, u.tokens))
	})
	copy(losses.Ints("targets"), targets)
	require.InDeltaSlice(t, each, losses.on(inputs), tolerance, "token losses of %+v", u)
	loss := u.compile(t, func(b *graph.Builder, out *layers.Unembedding, x *gorgonia.Node) *gorgonia.Node {
		return out.Loss(x, b.Input("targets", tensor.Int32, u.tokens), z)
	})
	copy(loss.Ints("targets"), targets)
	require.InDelta(t, (sum+z*squares)/float64(u.tokens), loss.on(inputs)[0], 10*tolerance, "loss of %+v", u)
}

// checkWeights: the logits computed from the weights without a graph are the same, all at once and
// id by id.
func (u unembedding) checkWeights(t *testing.T, out *layers.Unembedding, x, logits []float64) {
	require.InDeltaSlice(t, logits, out.Apply(x), tolerance, "%+v", u)
	weights, f := out.Weights(), u.rank*u.dv
	for id := range u.vocab {
		column := out.Column(id)
		require.Len(t, column, f)
		for token := range u.tokens {
			logit := 0.0
			for i, v := range column {
				require.Equal(t, weights[i*u.vocab+id], v)
				logit += v * x[token*f+i]
			}
			require.InDelta(t, out.Uncapped(logits[token*u.vocab+id]), logit, 1e-9, "%+v", u)
		}
	}
}

// logits computes scale * x W, with W [F, V] or the table [V, F] transposed.
func (u unembedding) logits(e *evaluation, x []float64) []float64 {
	f, scale := u.rank*u.dv, u.scale
	if scale == 0 {
		scale = 1
	}
	logits := make([]float64, u.tokens*u.vocab)
	for i := range logits {
		token, v := i/u.vocab, i%u.vocab
		for k := range f {
			if u.tied {
				logits[i] += scale * x[token*f+k] * e.param("table")[v*f+k]
			} else {
				logits[i] += scale * x[token*f+k] * e.param("unembedding")[k*u.vocab+v]
			}
		}
	}
	if u.cap > 0 {
		for i, v := range logits {
			logits[i] = u.cap * math.Tanh(v/u.cap)
		}
	}
	return logits
}

// TestUncappedAtTheCap: rounding may move a logit to its cap; its original value is then unknown,
// but the result is finite.
func TestUncappedAtTheCap(t *testing.T) {
	b := graph.On(gorgonia.NewGraph(), graph.Options{})
	out := layers.NewUnembedding(b, "unembedding", layers.UnembeddingConfig{Features: 2, Vocab: 3, SoftCap: 30})
	require.InDelta(t, 30*math.Atanh(1-0x1p-24), out.Uncapped(30), 1e-9)
	require.InDelta(t, -30*math.Atanh(1-0x1p-24), out.Uncapped(-30), 1e-9)
}
