package report

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/residua-go/residua/models/cache"
	"github.com/residua-go/residua/models/check"
)

// TestSteer: the direction that is added is the difference of two texts' ends, at every token; what
// comes next is what a run with that change gives, in the figure and in the text.
func TestSteer(t *testing.T) {
	m := vector(t)
	const name, prompt = "blocks.1.attention.stream", "line"
	o := Steer{Prompt: Prompt{Text: prompt}, Toward: "ab", Away: "cd", Scale: 50, Tokens: 5}
	r, err := analyse(m, o)
	require.NoError(t, err)
	s := r.Results["steering"].(*Steering)
	assert.Equal(t, name, s.Activation)

	end := func(text string) []float64 {
		run, err := m.run([]int32{256, int32(text[0]), int32(text[1])}, []string{name})
		require.NoError(t, err)
		a, err := run.Get(name)
		require.NoError(t, err)
		values, err := a.Token(2)
		require.NoError(t, err)
		return values
	}
	toward, away := end("ab"), end("cd")
	for i := range toward {
		toward[i] -= away[i]
	}
	ids, err := o.Prompt.Read(m, 1)
	require.NoError(t, err)
	for i, change := range [][]cache.Intervention{nil, {cache.Steer(name, nil, toward, 50)}} {
		row := ids
		for range o.Tokens { // greedily, each token by a run of its own
			runner, err := cache.New(m.Store, m.Spec, cache.Options{Names: []string{name}, Seq: len(row)})
			require.NoError(t, err)
			run, err := runner.Run(row, change...)
			require.NoError(t, err)
			runner.Close()
			logits, err := run.TokenLogits(len(row) - 1)
			require.NoError(t, err)
			best := 0
			for id, l := range logits {
				if l > logits[best] {
					best = id
				}
			}
			if int32(best) == m.Tokenizer.BOS() {
				break
			}
			row = append(row[:len(row):len(row)], int32(best))
		}
		text := string([]rune(m.Tokenizer.Decode(row[len(ids):]))) // a byte that is no UTF-8 is shown as U+FFFD
		assert.Equal(t, text, s.Texts[i], i)
	}
	assert.NotEqual(t, s.Texts[0], s.Texts[1])

	o.Away, o.Activation, o.At = "", "blocks.0.attention.heads", cache.At{"head": 1}
	r, err = analyse(m, o)
	require.NoError(t, err)
	assert.NotZero(t, r.Results["steering"].(*Steering).Norm)
	o.At = cache.At{"token": 1}
	_, err = analyse(m, o)
	assert.ErrorIs(t, err, check.ValueError{Name: "at", Got: "token"})
	o.Activation, o.At = "blocks.*.attention.heads", nil
	_, err = analyse(m, o)
	assert.ErrorIs(t, err, check.ValueError{Name: "name"})
}

// TestSteerRelative: the direction becomes as long as the activation is on average, and activations
// that exist only if they are hooked can be steered, too.
func TestSteerRelative(t *testing.T) {
	m := vector(t)
	for _, name := range []string{"blocks.1.attention.stream", "blocks.1.attention.q"} {
		o := Steer{Prompt: Prompt{Text: "line"}, Toward: "ab", Activation: name, Scale: 2, Tokens: 3, Relative: true}
		r, err := analyse(m, o)
		require.NoError(t, err)
		s := r.Results["steering"].(*Steering)
		ids, err := o.Prompt.Read(m, 1)
		require.NoError(t, err)
		run, err := m.run(ids, []string{name})
		require.NoError(t, err)
		a, err := run.Get(name)
		require.NoError(t, err)
		mean := 0.0
		for token := range ids {
			x, err := a.Token(token)
			require.NoError(t, err)
			mean += floats.Norm(x, 2) / float64(len(ids))
		}
		assert.InDelta(t, mean, s.Norm, 1e-9)
		assert.Equal(t, s.Mean, s.Norm)
		o.Relative = false
		r, err = analyse(m, o)
		require.NoError(t, err)
		plain := r.Results["steering"].(*Steering)
		assert.NotEqual(t, s.Norm, plain.Norm)
		o.Scale = 2 * s.Mean / plain.Norm
		r, err = analyse(m, o)
		require.NoError(t, err)
		for i, next := range r.Results["steering"].(*Steering).Next {
			assert.InDelta(t, s.Next[i].Steered, next.Steered, 1e-6)
		}
	}
}
