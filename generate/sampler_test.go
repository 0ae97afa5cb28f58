package generate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// logitsOf returns logits with the given probabilities.
func logitsOf(probabilities ...float64) []float32 {
	logits := make([]float32, len(probabilities))
	for i, p := range probabilities {
		logits[i] = float32(math.Log(p)) + 3 // a constant changes nothing
	}
	return logits
}

// shares draws n times and returns each token's share of the draws.
func shares(t *testing.T, r Request, logits []float32, n int) []float64 {
	require.NoError(t, r.Validate())
	counts := make([]float64, len(logits))
	random := newSampler(r, nil).random
	for range n {
		s := newSampler(r, []int32{1, 2}) // the prompt; what is drawn joins no text
		s.random = random
		counts[s.next(logits)] += 1 / float64(n)
	}
	return counts
}

func TestGreedyTakesTheLowestOfEqualTokens(t *testing.T) {
	assert.EqualValues(t, 1, newSampler(Request{}, nil).next([]float32{1, 3, 2, 3}))
}

// TestShares compares draws with the probabilities that top-k, top-p and min-p leave. The draws'
// standard error is at most 0.0023.
func TestShares(t *testing.T) {
	logits := logitsOf(0.1, 0.4, 0.05, 0.25, 0.2)
	for _, c := range []struct {
		name string
		r    Request
		want []float64
	}{
		{"softmax", Request{Temperature: 1}, []float64{0.1, 0.4, 0.05, 0.25, 0.2}},
		{"half temperature squares", Request{Temperature: 0.5}, normalise(0.01, 0.16, 0.0025, 0.0625, 0.04)},
		{"double temperature takes roots", Request{Temperature: 2}, normalise(math.Sqrt(0.1), math.Sqrt(0.4), math.Sqrt(0.05), math.Sqrt(0.25), math.Sqrt(0.2))},
		{"top-k", Request{Temperature: 1, TopK: 3}, normalise(0, 0.4, 0, 0.25, 0.2)},
		{"top-k above all", Request{Temperature: 1, TopK: 9}, []float64{0.1, 0.4, 0.05, 0.25, 0.2}},
		{"top-p is reached inside", Request{Temperature: 1, TopP: 0.6}, normalise(0, 0.4, 0, 0.25, 0)},
		{"top-p just missed", Request{Temperature: 1, TopP: 0.66}, normalise(0, 0.4, 0, 0.25, 0.2)},
		{"top-p 1", Request{Temperature: 1, TopP: 1}, []float64{0.1, 0.4, 0.05, 0.25, 0.2}},
		{"top-p after temperature", Request{Temperature: 0.5, TopP: 0.75}, normalise(0, 0.16, 0, 0.0625, 0)},
		{"top-p among the top k", Request{Temperature: 1, TopK: 3, TopP: 0.75}, normalise(0, 0.4, 0, 0.25, 0)},
		{"min-p", Request{Temperature: 1, MinP: 0.45}, normalise(0, 0.4, 0, 0.25, 0.2)},
		{"min-p just missed", Request{Temperature: 1, MinP: 0.51}, normalise(0, 0.4, 0, 0.25, 0)},
		{"min-p 1", Request{Temperature: 1, MinP: 1}, []float64{0, 1, 0, 0, 0}},
		{"min-p after temperature", Request{Temperature: 2, MinP: 0.45}, normalise(math.Sqrt(0.1), math.Sqrt(0.4), 0, math.Sqrt(0.25), math.Sqrt(0.2))},
		{"min-p after top-p", Request{Temperature: 1, TopP: 0.66, MinP: 0.6}, normalise(0, 0.4, 0, 0.25, 0)},
		{"bias ln 3 makes it three times as likely", Request{Temperature: 1, LogitBias: map[int32]float64{0: math.Log(3)}}, normalise(0.3, 0.4, 0.05, 0.25, 0.2)},
		{"bias before temperature", Request{Temperature: 0.5, LogitBias: map[int32]float64{0: math.Log(3)}}, normalise(0.09, 0.16, 0.0025, 0.0625, 0.04)},
		{"bias forbids, and top-k takes the next", Request{Temperature: 1, TopK: 2, LogitBias: map[int32]float64{1: -100}}, normalise(0, 0, 0, 0.25, 0.2)},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Seed = 3
			got := shares(t, c.r, logits, 50000)
			for i := range got {
				assert.InDelta(t, c.want[i], got[i], 0.01, "token %d", i)
				assert.Equal(t, c.want[i] == 0, got[i] == 0, "token %d", i)
			}
		})
	}
}

// TestRepetitionPenalty: for the prompt's tokens, 1 and 2, positive logits are divided by the
// penalty and negative ones multiplied, after the bias.
func TestRepetitionPenalty(t *testing.T) {
	logits := []float32{1, 2, -1, 0.5}
	r := Request{RepetitionPenalty: 2}
	assert.Equal(t, []float32{1, 1, -2, 0.5}, newSampler(r, []int32{1, 2, 1}).amend(logits))
	r.LogitBias = map[int32]float64{1: -3, 3: 1}
	assert.Equal(t, []float32{1, -2, -2, 1.5}, newSampler(r, []int32{1, 2, 1}).amend(logits))
	assert.Equal(t, []float32{1, 2, -1, 0.5}, logits, "the model's own stay")

	e := math.E
	for _, c := range []struct {
		name string
		r    Request
		want []float64
	}{
		{"alone", Request{Temperature: 1, RepetitionPenalty: 2}, normalise(e, e, math.Exp(-2), math.Sqrt(e))},
		{"below 1 repeats", Request{Temperature: 1, RepetitionPenalty: 0.5}, normalise(e, math.Exp(4), math.Exp(-0.5), math.Sqrt(e))},
		{"before temperature", Request{Temperature: 0.5, RepetitionPenalty: 2}, normalise(e*e, e*e, math.Exp(-4), e)},
		{"before top-k", Request{Temperature: 1, RepetitionPenalty: 8, TopK: 2}, normalise(e, 0, 0, math.Sqrt(e))},
	} {
		c.r.Seed = 5
		got := shares(t, c.r, logits, 50000)
		for i := range got {
			assert.InDelta(t, c.want[i], got[i], 0.01, "%s: token %d", c.name, i)
		}
	}

	s := newSampler(Request{RepetitionPenalty: 8}, nil) // greedy: each token drawn gives way
	assert.Equal(t, []int32{1, 0, 3, 1}, []int32{s.next(logits), s.next(logits), s.next(logits), s.next(logits)})
}

func normalise(weights ...float64) []float64 {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for i := range weights {
		weights[i] /= sum
	}
	return weights
}

func TestTightCutsAreGreedy(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		logits := make([]float32, 300)
		for i := range logits {
			logits[i] = float32(random.IntN(20)) // with ties
		}
		want := newSampler(Request{}, nil).next(logits)
		for _, r := range []Request{{Temperature: 1, TopK: 1}, {Temperature: 3, TopP: 1e-9}, {Temperature: 1e-300}} {
			r.Seed = random.Uint64()
			got := newSampler(r, nil).next(logits)
			if r.TopK == 0 && r.TopP == 0 { // equal tokens stay equal
				assert.Equal(t, logits[want], logits[got])
				continue
			}
			assert.Equal(t, want, got, "%+v", r)
		}
	}
}

func TestSameSeedSameDraws(t *testing.T) {
	logits := make([]float32, 1000)
	draws := func(seed uint64) (ids []int32) {
		s := newSampler(Request{Temperature: 1, TopK: 900, TopP: 0.9, Seed: seed}, nil)
		for range 40 {
			ids = append(ids, s.next(logits))
		}
		return ids
	}
	assert.Equal(t, draws(5), draws(5))
	assert.NotEqual(t, draws(5), draws(6))
}

func TestLogitsThatAreNotFinite(t *testing.T) {
	assert.True(t, finite([]float32{0, -3, math.MaxFloat32}))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.False(t, finite([]float32{0, float32(bad), 1}))
	}
}

// TestRanking compares every prefix with a full sort.
func TestRanking(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var r ranking
	for n := 1; n < 40; n++ {
		all := make([]candidate, n)
		for i := range all {
			all[i] = candidate{id: int32(i), logit: float32(random.IntN(8))}
		}
		sorted := slices.Clone(all)
		slices.SortFunc(sorted, func(a, b candidate) int {
			if before(a, b) {
				return -1
			}
			return 1
		})
		k := random.IntN(n + 3)
		r.rank(all)
		assert.ElementsMatch(t, sorted[:min(k, n)], r.first(k))
		assert.Equal(t, sorted, r.first(n+5))
	}
}
