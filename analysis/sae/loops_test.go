package sae

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
)

// random returns an SAE with random parameters, and how it would be read.
func random(t *testing.T, a Architecture, in, features, out int) *SAE {
	t.Helper()
	draw := rand.New(rand.NewPCG(5, 6))
	c := Config{Architecture: a, In: in, Features: features, Out: out, K: 3, Centred: out == in}
	s, err := folderConfig{Config: c, Normalize: "none", Reshape: "none"}.open(func(name string) (checkpoint.Tensor, error) {
		for _, spec := range c.shapes() {
			if spec.Name == name {
				values := make([]float32, product(spec.Shape))
				for i := range values {
					values[i] = float32(0.4 * draw.NormFloat64())
				}
				return checkpoint.Tensor{Name: name, Shape: spec.Shape, Data: values}, nil
			}
		}
		panic(name)
	})
	require.NoError(t, err)
	return s
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// loops computes one token's features and output by plain loops over the equations.
func loops(s *SAE, x []float64) (features, y []float64) {
	w, dec, bias := s.values("W_enc"), s.values("W_dec"), s.values("b_dec")
	features, y = make([]float64, s.Features), slices.Clone(bias)
	pre := make([]float64, s.Features)
	for j := range s.Features {
		for i, v := range x {
			if s.Centred {
				v -= bias[i]
			}
			pre[j] += v * w[i*s.Features+j]
		}
		switch s.Architecture {
		case Gated:
			if pre[j]+s.values("b_gate")[j] > 0 {
				features[j] = max(0, pre[j]*math.Exp(s.values("r_mag")[j])+s.values("b_mag")[j])
			}
		case JumpReLU:
			if pre[j] += s.values("b_enc")[j]; pre[j] > s.values("threshold")[j] {
				features[j] = max(0, pre[j])
			}
		default:
			pre[j] += s.values("b_enc")[j]
			features[j] = max(0, pre[j])
		}
	}
	if s.Architecture == TopK {
		sorted := slices.Sorted(slices.Values(pre))
		for j := range features {
			if pre[j] < sorted[len(sorted)-s.K] {
				features[j] = 0
			}
		}
	}
	for o := range s.Out {
		for j, f := range features {
			y[o] += f * dec[j*s.Out+o]
		}
		if s.Architecture == SkipTranscoder {
			for i, v := range x {
				y[o] += v * s.values("W_skip")[o*s.In+i]
			}
		}
	}
	return features, y
}

// TestForward: every architecture computes what plain loops over its equation compute.
func TestForward(t *testing.T) {
	for _, a := range []Architecture{TopK, Gated, JumpReLU, Transcoder, SkipTranscoder} {
		out := 6
		if (Config{Architecture: a}).Transcodes() {
			out = 4
		}
		s := random(t, a, 6, 11, out)
		r, err := s.Open(9)
		require.NoError(t, err)
		defer r.Close()
		draw := rand.New(rand.NewPCG(7, 8))
		x := make([]float64, 7*6)
		for i := range x {
			x[i] = float64(float32(draw.NormFloat64()))
		}
		features, y, err := r.Run(x)
		require.NoError(t, err)
		require.Len(t, features, 7*11)
		require.Len(t, y, 7*out)
		active := 0
		for token := range 7 {
			wantFeatures, wantY := loops(s, x[token*6:][:6])
			assert.InDeltaSlice(t, wantFeatures, features[token*11:][:11], 1e-5, a)
			assert.InDeltaSlice(t, wantY, y[token*out:][:out], 1e-5, a)
			for _, f := range wantFeatures {
				if f > 0 {
					active++
				}
			}
		}
		assert.Greater(t, active, 7)
		assert.Less(t, active, 60)
		_, _, err = r.Run(make([]float64, 10*6))
		assert.ErrorContains(t, err, "want 6 entries for each of at most 9 tokens, got 60")
	}
}
