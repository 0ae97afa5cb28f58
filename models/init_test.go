package models_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// start says how a kind of parameter begins: with deviation numerator/sqrt(fanIn), divided by
// sqrt(2L) for what writes into the stream; a std of 0 means a constant.
type start struct {
	suffix   string
	fanIn    int
	writes   bool
	std      float64 // instead of a fan-in
	constant float64
}

func matrixStarts(spec models.Spec) []start {
	m := spec.Stream.(stream.MatrixConfig)
	return []start{
		{suffix: "attention.read", fanIn: m.Dk}, {suffix: "attention.write", fanIn: m.Rank, writes: true},
		{suffix: "feedforward.read", fanIn: m.Dk}, {suffix: "feedforward.write", fanIn: m.Rank, writes: true},
		{suffix: "feedforward.w1", fanIn: spec.Width()}, {suffix: "feedforward.w2", fanIn: spec.FeedForwardShape().Hidden},
		{suffix: "write_embedding", fanIn: m.Rank}, {suffix: "write_positions", fanIn: m.Rank}, {suffix: "read_unembedding", fanIn: m.Dk},
	}
}

func vectorStarts(spec models.Spec) []start {
	return []start{
		{suffix: "attention.qkv", fanIn: spec.Width()}, {suffix: "attention.o", fanIn: spec.Width(), writes: true},
		{suffix: "feedforward.w1", fanIn: spec.Width()}, {suffix: "feedforward.w2", fanIn: spec.FeedForwardShape().Hidden, writes: true},
	}
}

func commonStarts(spec models.Spec) []start {
	if spec.Init == models.InitLeCunAll {
		return []start{
			{suffix: "unembedding", fanIn: spec.Width()}, {suffix: "_bias"}, {suffix: "norm", constant: 1},
			{suffix: "embedding", fanIn: spec.Vocab}, {suffix: "positions", fanIn: spec.Seq},
		}
	}
	return []start{
		{suffix: "unembedding"}, {suffix: "_bias"}, {suffix: "norm", constant: 1},
		{suffix: "embedding", std: spec.EmbeddingStd}, {suffix: "positions", std: spec.EmbeddingStd},
	}
}

// TestInitialValues compares mean, deviation and shape of every parameter's initial
// values with what the papers say.
func TestInitialValues(t *testing.T) {
	matrix := models.Config{Stream: stream.MatrixConfig{Dk: 48, Dv: 32, Rank: 24}, Layers: 3, FeedForward: gelu(200), Vocab: 150, Seq: 40, Bias: true}
	vector := models.Config{Stream: vectorOf(120), Attention: models.Attention{Heads: 4}, Layers: 3, FeedForward: gelu(500), Vocab: 150, Seq: 40, Bias: true}
	for name, vary := range map[string]func(c *models.Config) float64{
		"paper":    func(*models.Config) float64 { return 0.02 },
		"init_std": func(c *models.Config) float64 { c.InitStd, c.EmbeddingStd = 0.05, 0.3; return 0.05 },
		"lecun":    func(c *models.Config) float64 { c.Init = models.InitLeCun; return 1 },
		"all":      func(c *models.Config) float64 { c.Init = models.InitLeCunAll; return 1 },
	} {
		t.Run(name, func(t *testing.T) {
			for _, row := range []struct {
				c      models.Config
				starts func(spec models.Spec) []start
			}{{matrix, matrixStarts}, {vector, vectorStarts}} {
				numerator := vary(&row.c)
				c := modeltest.Resolve(t, row.c)
				checkStarts(t, c, numerator, append(row.starts(c), commonStarts(c)...))
			}
		})
	}
}

func checkStarts(t *testing.T, spec models.Spec, numerator float64, starts []start) {
	store := modeltest.NewStore(t, spec, tensor.Float64, 7)
	used := map[string]bool{}
	for _, p := range store.Params() {
		s, ok := startOf(starts, p.Name)
		require.True(t, ok, "how does %q begin?", p.Name)
		used[s.suffix] = true
		std := s.std
		if s.fanIn > 0 {
			std = numerator / math.Sqrt(float64(s.fanIn))
		}
		if s.writes {
			std /= math.Sqrt(2 * float64(spec.Layers))
		}
		checkDistribution(t, spec.Stream.Name()+" "+p.Name, p.Value.Float64s(), s.constant, std)
	}
	assert.Len(t, used, len(starts), "every row is about a parameter that exists")
}

// startOf returns the first row whose suffix the name has; the list has longer suffixes first.
func startOf(starts []start, name string) (start, bool) {
	for _, s := range starts {
		if strings.HasSuffix(name, s.suffix) {
			return s, true
		}
	}
	return start{}, false
}

// checkDistribution requires that the mean, the deviation and the share within one deviation lie
// within five standard errors of the normal distribution's.
func checkDistribution(t *testing.T, name string, values []float64, mean, std float64) {
	if std == 0 {
		for _, v := range values {
			require.Equal(t, mean, v, name)
		}
		return
	}
	n, sum, squares, within := float64(len(values)), 0.0, 0.0, 0.0
	for _, v := range values {
		sum, squares = sum+v, squares+v*v
		if math.Abs(v) < std {
			within++
		}
	}
	const normalWithin = 0.6827
	assert.InDelta(t, 0, sum/n, 5*std/math.Sqrt(n), "%s: mean", name)
	assert.InEpsilon(t, std, math.Sqrt(squares/n), 5/math.Sqrt(2*n), "%s: deviation", name)
	assert.InDelta(t, normalWithin, within/n, 5*math.Sqrt(normalWithin*(1-normalWithin)/n), "%s: share within one deviation", name)
}
