package models_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// testHuggingFace compares logits and greedily chosen tokens, with and without a cache of keys and
// values, for a checkpoint of any architecture that is read, saved by Hugging Face's transformers.
func testHuggingFace(t *testing.T, dir string) {
	p, err := pretrained.Open(dir)
	require.NoError(t, err)
	want := readTensors(t, dir, "expected.safetensors")
	tokens := want.tensor(t, "tokens")
	run := huggingFaceLogits(t, p, tokens.Shape[0], tokens.Shape[1])
	worst := relativeError(graph.Float64s(run(int32s(t, want, "tokens"))), floats(t, want, "logits"), 0)
	require.LessOrEqual(t, worst, tolerance32, "logits")

	// The first 5 tokens of row 0, then the likeliest token again and again.
	greedy := int32s(t, want, "greedy")
	const prompt = 5
	row := make([]int32, len(greedy))
	copy(row, greedy[:prompt])
	run = huggingFaceLogits(t, p, 1, len(greedy))
	for i := prompt; i < len(greedy); i++ {
		row[i] = largest(run(row).Float32s()[(i-1)*p.Spec.Vocab : i*p.Spec.Vocab])
	}
	require.Equal(t, greedy, row, "greedy tokens")

	g, err := p.Generator(generate.Options{Threads: 2})
	require.NoError(t, err)
	defer g.Close()
	result, err := g.Generate(context.Background(), generate.Request{IDs: greedy[:prompt], Tokens: len(greedy) - prompt}, nil)
	require.NoError(t, err)
	require.Equal(t, greedy[prompt:], result.IDs, "greedy tokens with the cache")
	t.Logf("worst error: logits %.1e; %d greedy tokens equal", worst, len(greedy)-prompt)
}

// huggingFaceLogits compiles a model for rows of tokens; the function returns the logits [rows*seq,
// V] of tokens.
func huggingFaceLogits(t *testing.T, p *pretrained.Model, rows, seq int) func(tokens []int32) *tensor.Dense {
	var logits *gorgonia.Node
	program, err := graph.Compile(graph.ProgramOptions{Options: graph.Options{Store: p.Store, Threads: 2}}, func(b *graph.Builder) (graph.Roots, error) {
		m, err := models.On(b, p.Spec)
		if err != nil {
			return graph.Roots{}, err
		}
		logits = m.Logits(m.Forward(b.Input("tokens", tensor.Int32, rows, seq)))
		return graph.Roots{Outputs: gorgonia.Nodes{logits}}, m.Err()
	})
	require.NoError(t, err)
	t.Cleanup(program.Close)
	return func(tokens []int32) *tensor.Dense {
		copy(program.Ints("tokens"), tokens)
		require.NoError(t, program.Run(graph.RunOptions{}))
		return logits.Value().(*tensor.Dense)
	}
}

// largest returns the index of the largest value, the first if several are equal.
func largest(values []float32) int32 { return int32(slices.Index(values, slices.Max(values))) }
