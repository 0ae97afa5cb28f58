package eval_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// TestATaskIsScoredByItsAnswers: nothing but the answers counts in loss, accuracy and groups.
func TestATaskIsScoredByItsAnswers(t *testing.T) {
	const examples = 100
	corpus, err := data.Load(context.Background(), data.Options{Source: data.BottleneckCopy{Generated: data.Generated{Number: examples}, Vocabulary: 3, Tokens: 2}, Split: "none"})
	require.NoError(t, err)
	c := models.Transformer(1, 8, 12, 2)
	c.Vocab, c.BOS, c.Seq, c.Init = 5, 4, 6, models.InitLeCun
	spec, err := c.Resolve()
	require.NoError(t, err)
	store := modeltest.PerturbedStore(t, spec, tensor.Float32)
	m, err := models.Compile(spec, 1, spec.Seq, models.Outputs{Logits: true}, graph.ProgramOptions{Options: graph.Options{Store: store}})
	require.NoError(t, err)
	defer m.Close()
	hits, loss, tokens := 0, 0.0, corpus.Train.Tokens
	for from := 0; from < tokens.Len(); from += spec.Seq {
		window := tokens.Slice(from, from+spec.Seq)
		for i, l := range naive(t, store, spec, window) {
			if i >= 3 { // after the separator
				loss += l / (2 * examples)
			}
		}
		window.CopyTo(m.Tokens)
		require.NoError(t, m.Run(graph.RunOptions{}))
		logits, err := graph.Value(m.Logits)
		require.NoError(t, err)
		for i := 3; i < 5; i++ {
			row := logits.Float32s()[i*spec.Vocab:][:spec.Vocab]
			if row[window.At(i+1)] == slices.Max(row) {
				hits++
			}
		}
	}
	text := &eval.Text{Tokenizer: corpus.Tokenizer, Tokens: tokens}
	tally := eval.NewTally(text, spec.Seq)
	score, err := eval.Evaluate(context.Background(), store, spec, text, eval.Options{Batch: 7, PerToken: tally.Add})
	require.NoError(t, err)
	require.Greater(t, hits, 0)
	assert.Equal(t, 2*examples, score.Tokens)
	assert.InDelta(t, loss, score.Loss, 1e-6)
	assert.Equal(t, float64(hits)/(2*examples), score.Accuracy)
	assert.Equal(t, 1.0/3, score.Chance)
	documents, err := tally.Groups(eval.ByDocument)
	require.NoError(t, err)
	assert.Len(t, documents, examples)
	positions, err := tally.Groups(eval.ByPosition)
	require.NoError(t, err)
	assert.Equal(t, []int{4, 5}, []int{positions[0].Key, positions[1].Key})
}
