package eval_test

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval/tasks"
)

// heldOutTexts returns texts that repeat words.
func heldOutTexts() []string {
	var texts []string
	for i := range 40 {
		var text strings.Builder
		for j := range 60 {
			fmt.Fprintf(&text, "word%c number %d of text %d, naïve word%c here\n", 'a'+j%3, j, i, 'a'+(j+1)%3)
		}
		texts = append(texts, text.String())
	}
	return append(texts, "short", strings.Repeat("\x00 word word ", 100), "")
}

// TestHeldOutWords: each document asks for a word that occurs in its context, at a place of its
// own; the same seed gives the same documents.
func TestHeldOutWords(t *testing.T) {
	o := tasks.Options{Format: "last_word", Seed: 3}
	task, err := tasks.HeldOut(context.Background(), heldOutTexts(), o)
	require.NoError(t, err)
	require.Len(t, task.Documents(), 500)
	seen := map[string]int{}
	for i, d := range task.Documents() {
		require.Len(t, d.Pairs, 1)
		p := d.Pairs[0]
		word := strings.TrimPrefix(p.Continuation, " ")
		assert.Regexp(t, `^[A-Za-z]{4,}$`, word)
		assert.Regexp(t, `\b`+regexp.QuoteMeta(word)+`\b`, p.Context)
		assert.Len(t, p.Context, 96)
		assert.NotContains(t, p.Context, "\x00")
		assert.Equal(t, i+1, d.Line)
		seen[p.Context]++
	}
	assert.Len(t, seen, 500, "no place twice")
	again, err := tasks.HeldOut(context.Background(), heldOutTexts(), o)
	require.NoError(t, err)
	assert.Equal(t, task.Documents(), again.Documents())
	o.Seed = 4
	other, err := tasks.HeldOut(context.Background(), heldOutTexts(), o)
	require.NoError(t, err)
	assert.NotEqual(t, task.Documents(), other.Documents())
}

// TestHeldOutChoices: the right choice is what follows in the text; all choices have the same
// length and differ.
func TestHeldOutChoices(t *testing.T) {
	texts := heldOutTexts()
	task, err := tasks.HeldOut(context.Background(), texts, tasks.Options{Limit: 50, Shots: 1})
	require.NoError(t, err)
	require.Len(t, task.Documents(), 50)
	golds := map[int]bool{}
	for _, d := range task.Documents() {
		require.Len(t, d.Choices, 4)
		distinct := map[string]bool{}
		for _, c := range d.Choices {
			assert.Len(t, c, 32)
			distinct[c] = true
		}
		assert.Len(t, distinct, 4)
		golds[d.Gold] = true
		context := d.Pairs[d.Gold].Context
		require.Greater(t, len(context), 64+64+32, "an example stands before it")
		query := context[len(context)-64:]
		assert.Contains(t, strings.Join(texts, ""), query+" "+d.Choices[d.Gold])
	}
	assert.Len(t, golds, 4)
}

// TestHeldOutRefuses: texts that are too short, and kinds of tasks that HeldOut does not make, are
// refused.
func TestHeldOutRefuses(t *testing.T) {
	few := []string{strings.Repeat("abc ", 200)}
	for want, c := range map[string]struct {
		texts []string
		o     tasks.Options
	}{
		"held-out text: want room for 500 documents of multiple_choice, got 0: choose a smaller limit, or more text": {
			nil, tasks.Options{}},
		"held-out text: want room for 9 documents of last_word, got 0: choose a smaller limit, or more text": {
			few, tasks.Options{Format: "last_word", Limit: 9}},
		"held-out text: want room for 5 documents of multiple_choice, got 0: choose a smaller limit, or more text": {
			few, tasks.Options{Limit: 5}},
		"type: want multiple_choice or last_word of held-out text, got rolling": {
			heldOutTexts(), tasks.Options{Format: "rolling"}},
	} {
		_, err := tasks.HeldOut(context.Background(), c.texts, c.o)
		assert.ErrorContains(t, err, want)
	}
}

// TestTaskResultAgainst compares means and standard errors of differences per document with values
// worked out by hand.
func TestTaskResultAgainst(t *testing.T) {
	yes, no := true, false
	result := func(acc []*bool, l ...float64) tasks.Result {
		r := tasks.Result{Metrics: []tasks.Metric{{Name: "perplexity"}, {Name: "acc"}, {Name: "bits_per_byte"}}}
		for i, a := range acc {
			r.Samples = append(r.Samples, tasks.Sample{Acc: a, LogLikelihoods: []float64{l[i]}})
		}
		return r
	}
	a, b := result([]*bool{&yes, &yes, &no}, -1, -2, -3), result([]*bool{&no, &yes, &no}, -2, -4, -6)
	d := a.Against(b)
	require.Len(t, d, 2)
	assert.Equal(t, tasks.Metric{Name: "log_likelihood", Value: 2, StdErr: 1 / math.Sqrt(3)}, d[0])
	assert.Equal(t, "acc", d[1].Name)
	assert.InDelta(t, 1.0/3, d[1].Value, 1e-12)
	assert.InDelta(t, 1.0/3, d[1].StdErr, 1e-12, "sqrt of (4/9 + 1/9 + 1/9) / 2 / 3")
}
