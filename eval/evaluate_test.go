package eval_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/countdown"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// tiny is tinyOf windows of 6 tokens.
func tiny(t *testing.T) (*graph.Store, models.Spec) { return tinyOf(t, 6) }

// tinyOf returns a byte-level model with windows of seq tokens and parameters that are not zero.
func tinyOf(t *testing.T, seq int) (*graph.Store, models.Spec) {
	c := models.Transformer(1, 8, 12, 2)
	c.Vocab, c.BOS, c.Seq, c.Init = 257, 256, seq, models.InitLeCun
	spec, err := c.Resolve()
	require.NoError(t, err)
	store := modeltest.NewStore(t, spec, tensor.Float32, 1)
	for _, p := range store.Params() {
		for i, values := 0, p.Value.Float32s(); i < len(values); i++ {
			values[i] += 0.3 * float32(math.Sin(float64(i*i)))
		}
	}
	return store, spec
}

func textOf(t *testing.T, s string, windows bool) *eval.Text {
	tokenizer, err := data.NewTokenizer("bytes")
	require.NoError(t, err)
	text := &eval.Text{Tokenizer: tokenizer, Windows: windows}
	text.Tokens = data.NewTokens(tokenizer.Vocab(), tokenizer.Encode([]int32{tokenizer.BOS()}, s))
	return text
}

// naive returns the losses of one window: -log softmax of its logits, computed in float64.
func naive(t *testing.T, store *graph.Store, spec models.Spec, window data.Tokens) []float64 {
	rows := window.Len() - 1
	m, err := models.Compile(spec, 1, rows, models.Outputs{Logits: true}, graph.ProgramOptions{Options: graph.Options{Store: store}})
	require.NoError(t, err)
	defer m.Close()
	window.CopyTo(m.Tokens[:rows])
	require.NoError(t, m.Run(graph.RunOptions{}))
	logits, err := graph.Value(m.Logits) // [rows, vocab]
	require.NoError(t, err)
	var losses []float64
	for i := range rows {
		row, sum := logits.Float32s()[i*spec.Vocab:][:spec.Vocab], 0.0
		for _, l := range row {
			sum += math.Exp(float64(l))
		}
		losses = append(losses, math.Log(sum)-float64(row[window.At(i+1)]))
	}
	return losses
}

// TestScoreIsTheMeanOverWindows: each window is scored by itself, and the rest of the text in a
// shorter window.
func TestScoreIsTheMeanOverWindows(t *testing.T) {
	store, spec := tiny(t)
	text := textOf(t, "three windows: abc", false) // 19 tokens: 3 windows of 6
	text.Tokens = data.NewTokens(257, append(text.Tokens.IDs(), 'x', 'y'))
	var want []float64
	for from := 0; from < 20; from += 6 {
		want = append(want, naive(t, store, spec, text.Tokens.Slice(from, min(from+7, text.Tokens.Len())))...)
	}
	require.Len(t, want, 20)
	mean := func(losses []float64) float64 {
		sum := 0.0
		for _, l := range losses {
			sum += l
		}
		return sum / float64(len(losses))
	}

	for _, batch := range []int{0, 1, 2} {
		score, err := eval.Evaluate(context.Background(), store, spec, text, eval.Options{Batch: batch})
		require.NoError(t, err)
		assert.Equal(t, 20, score.Tokens)
		assert.InEpsilon(t, mean(want), score.Loss, 1e-5)
		assert.InEpsilon(t, math.Exp(score.Loss), score.Perplexity, 1e-12)
		assert.InEpsilon(t, score.Loss/math.Ln2, score.BitsPerByte, 1e-12, "a byte a token")
	}

	text.Windows = true
	whole, err := eval.Evaluate(context.Background(), store, spec, text, eval.Options{Batch: 2})
	require.NoError(t, err)
	assert.Equal(t, 18, whole.Tokens)
	assert.InEpsilon(t, mean(want[:18]), whole.Loss, 1e-5)

	e, err := eval.NewEvaluator(graph.Options{Store: store}, spec, 2, spec.Seq, false)
	require.NoError(t, err)
	defer e.Close()
	for range 2 {
		again, err := e.Evaluate(context.Background(), text.Tokenizer, text.Tokens)
		require.NoError(t, err)
		assert.Equal(t, whole, again)
	}
}

func TestEvaluateRefuses(t *testing.T) {
	store, spec := tiny(t)
	_, err := eval.Evaluate(context.Background(), store, spec, textOf(t, "abc", false), eval.Options{Batch: -1})
	var bad *layers.SettingError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "batch", bad.Key)
	_, err = eval.Evaluate(context.Background(), store, spec, textOf(t, "", false), eval.Options{})
	assert.EqualError(t, err, "eval: want text to score, got 0 tokens with 0 bytes of text")
	_, err = eval.Evaluate(context.Background(), modeltest.NewStore(t, spec, tensor.Float64, 1), spec, textOf(t, "abc", false), eval.Options{})
	assert.EqualError(t, err, "eval: want a store of float32, got float64")

	store.Params()[0].Value.Float32s()[256*8] = float32(math.NaN()) // of BOS
	_, err = eval.Evaluate(context.Background(), store, spec, textOf(t, "abc", false), eval.Options{})
	assert.ErrorIs(t, err, models.ErrDiverged)
}

// TestAContextEndsWhatIsCompiled: cancelling the context ends compilation, which takes long for a
// deep model.
func TestAContextEndsWhatIsCompiled(t *testing.T) {
	store, spec := tiny(t)
	text := textOf(t, "abcdef", false)
	for name, score := range map[string]func(context.Context) error{
		"Evaluate": func(ctx context.Context) error {
			_, err := eval.Evaluate(ctx, store, spec, text, eval.Options{})
			return err
		},
		"Likelihoods": func(ctx context.Context) error {
			_, err := eval.Likelihoods(ctx, store, spec, []eval.Request{{Context: ids("a"), Continuation: ids("b")}}, eval.Options{})
			return err
		},
	} {
		ctx := countdown.New(10)
		require.ErrorIs(t, score(ctx), context.Canceled, name)
		require.Equal(t, -1, ctx.Left, "nothing goes on after that")
	}
}

// TestTokensOfDivergedModelsAsJSON: a loss that is not finite is written as null.
func TestTokensOfDivergedModelsAsJSON(t *testing.T) {
	for want, loss := range map[string]float64{"null": math.NaN(), "0.1": 0.1} {
		text, err := json.Marshal(eval.Token{Index: 1, ID: 2, Text: "a", Loss: float32(loss)})
		require.NoError(t, err)
		require.JSONEq(t, `{"index": 1, "id": 2, "token": "\"a\"", "loss": `+want+`}`, string(text))
	}
}

// TestScoreAsJSON: a perplexity too large for float64 is written as null, and read as NaN.
func TestScoreAsJSON(t *testing.T) {
	text, err := json.Marshal(eval.Score{Tokens: 2, Loss: 800, Perplexity: math.Inf(1), BitsPerByte: 0.1})
	require.NoError(t, err)
	assert.Equal(t, `{"tokens":2,"loss":800,"perplexity":null,"bits_per_byte":0.1}`, string(text))
	var read eval.Score
	require.NoError(t, json.Unmarshal(text, &read))
	assert.True(t, math.IsNaN(read.Perplexity))
	read.Perplexity = 0
	assert.Equal(t, eval.Score{Tokens: 2, Loss: 800, BitsPerByte: 0.1}, read)
}

// TestAccuracyOfZero: the JSON of a Task's score has its accuracy even if no answer is right.
func TestAccuracyOfZero(t *testing.T) {
	text, err := json.Marshal(eval.Score{Tokens: 2, Loss: 1, Chance: 0.25})
	require.NoError(t, err)
	assert.Contains(t, string(text), `"accuracy":0,"chance":0.25`)
	var read eval.Score
	require.NoError(t, json.Unmarshal(text, &read))
	assert.Equal(t, 0.25, read.Chance)
}
