package analysis_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/pretrained"
)

// numpy reads what testdata/analysis/gpt2_hf.py computed.
func numpy(t *testing.T, into any) {
	t.Helper()
	text, err := os.ReadFile("../testdata/analysis/gpt2-hf.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

// gpt2 opens the checkpoint that numpy's numbers are about.
func gpt2(t *testing.T) *pretrained.Model {
	t.Helper()
	p, err := pretrained.Open("../testdata/reference/gpt2-hf")
	require.NoError(t, err)
	return p
}

type numpyTerms struct {
	IDs             []int                `json:"ids"`
	Total           float64              `json:"total"`
	Embedding       float64              `json:"embedding"`
	Positions       float64              `json:"positions"`
	Heads           [][]float64          `json:"heads"`
	AttentionBias   []float64            `json:"attention_bias"`
	Neurons         map[string][]float64 `json:"neurons"`
	FeedForward     []float64            `json:"feedforward"`
	FeedForwardBias []float64            `json:"feedforward_bias"`
	NormBias        float64              `json:"norm_bias"`
}

// TestAttributionAgainstNumpy: each term of a logit, and of a difference of two, is what
// numpy computes, to 1e-5 of the largest.
func TestAttributionAgainstNumpy(t *testing.T) {
	var want struct {
		Tokens      []int32               `json:"tokens"`
		Attribution map[string]numpyTerms `json:"attribution"`
	}
	numpy(t, &want)
	p := gpt2(t)
	run, err := analysis.Run(p.Store, p.Spec, want.Tokens)
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	for name, terms := range want.Attribution {
		t.Run(name, func(t *testing.T) {
			against := -1
			if len(terms.IDs) > 1 {
				against = terms.IDs[1]
			}
			a, err := d.Attribute(len(want.Tokens)-1, terms.IDs[0], against)
			require.NoError(t, err)
			checkTerms(t, a, terms)
		})
	}
}

// checkTerms compares an attribution's terms.
func checkTerms(t *testing.T, a *analysis.Attribution, want numpyTerms) {
	bound := 1e-5 * max(1, floats.Max(want.FeedForward))
	assert.InDelta(t, want.Total, a.Sum, bound)
	assert.InDelta(t, want.Total, a.Logit, bound)
	assert.InDelta(t, want.NormBias, a.Constant, bound)
	seen := 0
	for _, c := range a.Contributions {
		if value, known := wantedTerm(c, want); known {
			seen++
			assert.InDelta(t, value, c.Value, bound, c.Name())
		}
	}
	layers, heads, neurons := len(want.Heads), len(want.Heads[0]), 0
	for _, each := range want.Neurons {
		neurons += len(each)
	}
	assert.Equal(t, 2+layers*heads+2*layers+neurons, seen, "terms compared")
	sums := a.ByWriter()
	require.Len(t, sums, 2+2*layers)
	for l := range layers {
		assert.InDelta(t, want.FeedForward[l]+want.FeedForwardBias[l], sums[3+2*l].Value, bound)
	}
}

// wantedTerm is numpy's value of a contribution, where it lists it.
func wantedTerm(c analysis.Contribution, want numpyTerms) (float64, bool) {
	attention := map[string]int{"blocks.0.attention": 0, "blocks.1.attention": 1}
	feedForward := map[string]int{"blocks.0.feedforward": 0, "blocks.1.feedforward": 1}
	if c.Writer == "embedding" {
		return want.Embedding, true
	}
	if c.Writer == "positions" {
		return want.Positions, true
	}
	if l, ok := attention[c.Writer]; ok {
		if c.Part == "bias" {
			return want.AttentionBias[l], true
		}
		return want.Heads[l][c.Index], true
	}
	l := feedForward[c.Writer]
	if c.Part == "bias" {
		return want.FeedForwardBias[l], true
	}
	each := want.Neurons[map[int]string{0: "0", 1: "1"}[l]]
	if c.Index >= len(each) {
		return 0, false
	}
	return each[c.Index], true
}

// TestLensAgainstNumpy: the logit lens' logits, of a target among them, are numpy's.
func TestLensAgainstNumpy(t *testing.T) {
	var want struct {
		Tokens []int32 `json:"tokens"`
		Lens   struct {
			Sites  []string    `json:"sites"`
			Logits [][]float64 `json:"logits"`
		} `json:"lens"`
	}
	numpy(t, &want)
	p := gpt2(t)
	run, err := analysis.Run(p.Store, p.Spec, want.Tokens)
	require.NoError(t, err)
	d, err := analysis.Decompose(run)
	require.NoError(t, err)
	for target := 0; target < run.Vocab; target += 7 {
		lens, err := d.Lens(len(want.Tokens)-1, target)
		require.NoError(t, err)
		require.Len(t, lens.Points, len(want.Lens.Sites))
		for i, point := range lens.Points {
			logits := want.Lens.Logits[i]
			assert.InDelta(t, logits[target], point.Logit, 1e-5*floats.Norm(logits, 2), "after %s", want.Lens.Sites[i])
			assert.Equal(t, floats.MaxIdx(logits), point.Top[0].ID)
			rank := 0
			for _, v := range logits {
				if v > logits[target] {
					rank++
				}
			}
			assert.Equal(t, rank, point.Rank)
		}
	}
}

// TestPatternsAgainstNumpy: attention patterns are numpy's.
func TestPatternsAgainstNumpy(t *testing.T) {
	var want struct {
		Tokens   []int32         `json:"tokens"`
		Patterns [][][][]float64 `json:"patterns"`
	}
	numpy(t, &want)
	p := gpt2(t)
	run, err := analysis.Run(p.Store, p.Spec, want.Tokens, "blocks.*.attention.pattern")
	require.NoError(t, err)
	for l, heads := range want.Patterns {
		a, err := analysis.Patterns(run, l)
		require.NoError(t, err)
		for h, rows := range heads {
			for i, row := range rows {
				require.InDeltaSlice(t, row, a.Patterns[h][i], 1e-5)
			}
		}
	}
}

// TestInductionAgainstNumpy: induction and previous-token scores are numpy's.
func TestInductionAgainstNumpy(t *testing.T) {
	var want struct {
		Induction struct {
			Tokens    []int32     `json:"tokens"`
			Induction [][]float64 `json:"induction"`
			Previous  [][]float64 `json:"previous"`
		} `json:"induction"`
	}
	numpy(t, &want)
	p := gpt2(t)
	scores, err := analysis.HeadScoresOn(t.Context(), p.Store, p.Spec, want.Induction.Tokens, 1)
	require.NoError(t, err)
	for l := range want.Induction.Induction {
		assert.InDeltaSlice(t, want.Induction.Induction[l], scores.Induction[l], 1e-6)
		assert.InDeltaSlice(t, want.Induction.Previous[l], scores.Previous[l], 1e-6)
	}
}
