package sae

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

const (
	plantedIn, plantedFeatures = 12, 20
	plantedRow                 = 32
)

// planted are activations that are sums of two of 20 directions, about a mean.
func planted(rows int) (d Data, directions [][]float64) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range plantedFeatures {
		v, square := make([]float64, plantedIn), 0.0
		for i := range v {
			v[i] = draw.NormFloat64()
			square += v[i] * v[i]
		}
		for i := range v {
			v[i] /= math.Sqrt(square)
		}
		directions = append(directions, v)
	}
	d.Tokens = func(int) int { return plantedRow }
	for i := range rows {
		d.Rows = append(d.Rows, i)
	}
	d.Row = func(row int) (x, want []float64, err error) {
		draw := rand.New(rand.NewPCG(3, uint64(row)))
		for range plantedRow {
			token := make([]float64, plantedIn)
			for i := range token {
				token[i] = 5
			}
			for range 2 {
				size := 30 * (1 + draw.Float64())
				for i, v := range directions[draw.IntN(plantedFeatures)] {
					token[i] += size * v
				}
			}
			x = append(x, token...)
		}
		return x, x, nil
	}
	return d, directions
}

// found is the mean over directions of the largest cosine of a feature's direction.
func found(s *SAE, directions [][]float64) float64 {
	sum := 0.0
	for _, d := range directions {
		best := 0.0
		for f := range s.Features {
			dot, square := 0.0, 0.0
			for i, v := range s.Direction(f) {
				dot, square = dot+v*d[i], square+v*v
			}
			best = max(best, dot/math.Sqrt(square))
		}
		sum += best / float64(len(directions))
	}
	return sum
}

func unexplained(t *testing.T, s *SAE, d Data) float64 {
	t.Helper()
	r, err := s.Open(plantedRow)
	require.NoError(t, err)
	defer r.Close()
	rest, all := 0.0, 0.0
	for row := range 20 {
		x, want, _ := d.Row(1000 + row)
		_, y, err := r.Run(x)
		require.NoError(t, err)
		for i, v := range want {
			rest, all = rest+(v-y[i])*(v-y[i]), all+(v-5)*(v-5)
		}
	}
	return rest / all
}

var quick = Options{Architecture: TopK, Features: 30, K: 2, Sparsity: 0.03, Rate: 0.01, Batch: 64, Passes: 6, Seed: 1}

// TestTrainFindsPlantedFeatures: every architecture finds the directions that activations are sums
// of, and explains nearly all of their variance.
func TestTrainFindsPlantedFeatures(t *testing.T) {
	d, directions := planted(400)
	for _, a := range []Architecture{TopK, Gated, Transcoder, SkipTranscoder} {
		o := quick
		o.Architecture, o.Sparsity = a, map[Architecture]float64{Gated: 0.6, Transcoder: 0.2, SkipTranscoder: 0.2}[a]
		s, err := Train(t.Context(), Config{In: plantedIn, Out: plantedIn}, d, o, filepath.Join(t.TempDir(), "state"), func(int, int) {})
		require.NoError(t, err)
		t.Logf("%s: found %.3f, unexplained %.3f", a, found(s, directions), unexplained(t, s, d))
		assert.Less(t, unexplained(t, s, d), 0.06, a)
		if a != SkipTranscoder { // which may copy by W_skip
			assert.Greater(t, found(s, directions), 0.9, a)
		}
	}
}

// TestTrainResumes: a training that was stopped goes on to the bits of an unbroken one, and one of
// other settings is refused.
func TestTrainResumes(t *testing.T) {
	d, _ := planted(100)
	c, file := Config{In: plantedIn, Out: plantedIn}, filepath.Join(t.TempDir(), "state")
	whole, err := Train(t.Context(), c, d, quick, filepath.Join(t.TempDir(), "state"), func(int, int) {})
	require.NoError(t, err)
	for at := range 3 {
		ctx, stop := context.WithCancel(t.Context())
		_, err = Train(ctx, c, d, quick, file, func(chunk, _ int) {
			if chunk == 4*(at+1) {
				stop()
			}
		})
		require.ErrorIs(t, err, context.Canceled)
	}
	chunks := 0
	resumed, err := Train(t.Context(), c, d, quick, file, func(int, int) { chunks++ })
	require.NoError(t, err)
	assert.Equal(t, 12, chunks)
	for _, p := range whole.Store.Params() {
		assert.Equal(t, p.Value.Float32s(), resumed.Store.Param(p.Name).Value.Float32s(), p.Name)
	}
	again, err := Train(t.Context(), c, d, quick, file, func(int, int) { t.Error("trained again") })
	require.NoError(t, err)
	assert.Equal(t, resumed.values("W_enc"), again.values("W_enc"))
	other := quick
	other.K = 1
	_, err = Train(t.Context(), c, d, other, file, func(int, int) {})
	assert.ErrorContains(t, err, "want a folder without the training of other settings")
}

// TestDeadFeaturesComeBack: features that are never active stay dead without the auxiliary loss,
// which brings some of them back.
func TestDeadFeaturesComeBack(t *testing.T) {
	d, _ := planted(400)
	dead := func(again bool) (dead int) {
		tr := &trainer{SAE: &SAE{Config{Architecture: TopK, In: plantedIn, Features: 20, Out: plantedIn, K: 2, Centred: true}, nil}, o: quick, data: d}
		require.NoError(t, tr.open(tr.plan()))
		defer tr.program.Close()
		defer tr.optimizer.Close()
		require.NoError(t, tr.chunk(t.Context()))
		for i := range 10 {
			tr.Store.Param("b_enc").Value.Float32s()[i] = -1
		}
		for tr.state.Chunk < len(tr.chunks) {
			if !again {
				clear(tr.state.idle)
			}
			require.NoError(t, tr.chunk(t.Context()))
		}
		r, err := tr.Open(plantedRow * 20)
		require.NoError(t, err)
		defer r.Close()
		var x []float64
		for row := range 20 {
			more, _, _ := d.Row(1000 + row)
			for _, v := range more {
				x = append(x, v*tr.state.Scale[0])
			}
		}
		features, _, err := r.Run(x)
		require.NoError(t, err)
		alive := map[int]bool{}
		for i, f := range features {
			if f > 0 {
				alive[i%20] = true
			}
		}
		return 20 - len(alive)
	}
	assert.GreaterOrEqual(t, dead(false), 10)
	assert.Less(t, dead(true), 5)
}

// TestTrainRefuses: what cannot be trained is refused before anything is written.
func TestTrainRefuses(t *testing.T) {
	d, _ := planted(1)
	dir := t.TempDir()
	for want, change := range map[string]func(o *Options, d *Data){
		"k: want at most the number of features, 30, got 31":           func(o *Options, _ *Data) { o.K = 31 },
		"rows: want rows with at least 1000 tokens to train on, got 1": func(o *Options, _ *Data) { o.Batch = 1000 },
		"activation: want finite values that differ from token to token": func(o *Options, d *Data) {
			o.Batch = 32
			d.Row = func(int) (x, want []float64, err error) { return make([]float64, 384), make([]float64, 384), nil }
		},
	} {
		o, d := quick, d
		change(&o, &d)
		_, err := Train(t.Context(), Config{In: plantedIn, Out: plantedIn}, d, o, filepath.Join(dir, "state"), func(int, int) {})
		require.ErrorContains(t, err, want)
	}
	_, err := checkpoint.ReadTensors(filepath.Join(dir, "state"))
	assert.Error(t, err)
}
