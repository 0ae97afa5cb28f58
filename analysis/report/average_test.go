package report

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models/check"
	"github.com/residua-go/residua/stream"
)

// TestAveragesOverPrompts: what is averaged is what each prompt alone gives.
func TestAveragesOverPrompts(t *testing.T) {
	m, prompts := vector(t), []string{"line 7", "a", "func main"}
	r, err := analyse(m, Attribute{Prompts: prompts})
	require.NoError(t, err)
	var averages Averages
	for _, part := range []string{"sites", "heads", "parts"} {
		averages.Of = append(averages.Of, r.Results[part].(*Averages).Of...)
	}
	for i, text := range prompts {
		alone, err := analyse(m, Attribute{Prompt: Prompt{Text: text}})
		require.NoError(t, err)
		a := alone.Results["attribution"].(*analysis.Attribution)
		want := append(a.ByWriter(), analysis.Contribution{Writer: "norms' biases", Value: a.Constant})
		for _, heads := range []bool{true, false} {
			for _, c := range a.Contributions {
				if c.Part != "" && (c.Part == stream.HeadPart) == heads {
					want = append(want, c)
				}
			}
		}
		require.Len(t, averages.Of, len(want))
		for j, c := range want {
			assert.Equal(t, c.Name(), averages.Of[j].Name)
			assert.InDelta(t, c.Value, averages.Of[j].Values[i], 1e-12)
		}
	}
	for _, a := range averages.Of {
		mean, square := 0.0, 0.0
		for _, v := range a.Values {
			mean += v / 3
		}
		for _, v := range a.Values {
			square += (v - mean) * (v - mean)
		}
		assert.InDelta(t, mean, a.Mean, 1e-12)
		assert.InDelta(t, math.Sqrt(square/2/3), a.StandardError, 1e-12)
	}
	assert.Len(t, r.Parts[2].Table.Rows, 20)
	bars := r.Parts[2].Figures[0].(figure.Bars)
	assert.Len(t, bars.Errors, 20)
	assert.GreaterOrEqual(t, math.Abs(bars.Values[0]), math.Abs(bars.Values[1]), "the largest first")
	_, err = json.Marshal(r)
	assert.NoError(t, err)

	prompts[1] = "ab"
	r, err = analyse(m, Ablate{Prompts: prompts})
	require.NoError(t, err)
	alone, err := analyse(m, Ablate{Prompt: Prompt{Text: prompts[1]}})
	require.NoError(t, err)
	want := alone.Results["heads"].(*analysis.Sweep)
	heads := r.Results["average"].(*Averages)
	require.Len(t, heads.Of, 6)
	assert.Equal(t, "blocks.1.attention.2", heads.Of[5].Name)
	assert.InDelta(t, want.Effect[1][2], heads.Of[5].Values[1], 1e-12)
	r, err = analyse(m, Ablate{Prompts: prompts, Names: []string{"blocks.*.attention.heads"}, Contrast: Contrast{Target: Target{Target: "a"}}})
	require.NoError(t, err)
	assert.Len(t, r.Results["average"].(*Averages).Of, 1)
}

// TestPromptsRefused: an error names the prompt.
func TestPromptsRefused(t *testing.T) {
	m := vector(t)
	_, err := analyse(m, Attribute{Prompts: []string{"a"}})
	assert.ErrorIs(t, err, check.ValueError{Name: "prompts", Got: "1"})
	_, err = analyse(m, Attribute{Prompts: []string{"a", "b"}, Prompt: Prompt{Text: "c"}})
	assert.ErrorIs(t, err, check.ValueError{Name: "prompts", Got: "both"})
	_, err = analyse(m, Ablate{Prompts: []string{"ab", "a"}})
	assert.EqualError(t, err, `prompts: prompt 2: prompt: want a text of at least 2 tokens, got "a" of 1`)
}

// TestPatchOverPairs: what is averaged is what each pair alone gives, by either method, each pair
// with its own target.
func TestPatchOverPairs(t *testing.T) {
	m, pairs := vector(t), []PatchPair{{Prompt: "line 7", Corrupt: "lime 7"}, {Prompt: "abc", Corrupt: "adc", Target: "x", Against: "y"}}
	for _, method := range []PatchMethod{PatchActivation, PatchAttribution} {
		r, err := analyse(m, Patch{Pairs: pairs, Method: method})
		require.NoError(t, err)
		of := map[string]Average{}
		for _, a := range r.Results["average"].(*Averages).Of {
			of[a.Name] = a
		}
		for i, p := range pairs {
			alone, err := analyse(m, Patch{Prompt: Prompt{Text: p.Prompt}, Corrupt: p.Corrupt, Contrast: Contrast{Target: Target{Target: p.Target}, Against: p.Against}, Method: method})
			require.NoError(t, err)
			heads, stream := alone.Results["heads"].(*analysis.Patching), alone.Results["stream"].(*analysis.Patching)
			assert.InDelta(t, heads.Effect[1][2], of["blocks.1.attention.2"].Values[i], 1e-9)
			last, first := len(stream.Columns)-1, []int{3, 2}[i]
			assert.InDelta(t, stream.Effect[1][last], of["blocks.0.attention.stream, token measured"].Values[i], 1e-9)
			assert.InDelta(t, stream.Effect[0][first], of["embedding.out, first token that differs"].Values[i], 1e-9)
			if method == PatchActivation {
				assert.InDelta(t, 1, of["embedding.out, first token that differs"].Values[i], 1e-3, "all of the difference")
			}
		}
	}
	for want, o := range map[string]Patch{
		"prompts: want a list of prompts, or one prompt, got both":                    {Pairs: pairs, Prompt: Prompt{Text: "c"}},
		"corrupt: want none with a list of prompts, which has its own, got one":       {Pairs: pairs, Corrupt: "c"},
		"prompts: want at least 2, for a standard error, got 1":                       {Pairs: pairs[:1]},
		"prompts: prompt 2: corrupt: want as many tokens as the prompt has, 4, got 3": {Pairs: []PatchPair{pairs[0], {Prompt: "abc", Corrupt: "ab"}}},
		`method: want one of activation, attribution, integrated, got "grad"`:         {Method: "grad"},
	} {
		_, err := analyse(m, o)
		assert.EqualError(t, err, want)
	}
}
