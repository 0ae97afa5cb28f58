package eval

import (
	"context"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// defaultBatch is the number of windows that are scored at a time.
const defaultBatch = 8

// Options say how to score. The zero value is ready.
type Options struct {
	Batch   int // windows (of Likelihoods: rows) at a time, which changes the score by rounding alone; 0: 8 (as many rows as have 2,048 tokens)
	Threads int // workers an op; 0: all cores
	// Device is where the model runs, "" the CPU; Precision is a CUDA device's, "" tf32, or on the CPU that of
	// weights, bf16 or int8 (graph.Options.For), "" float32.
	Device    graph.Device
	Precision graph.Precision
	// PerToken, if not nil, gets every scored token in order.
	PerToken func(Token) error
	// Progress, if not nil, is told by Likelihoods how many requests are answered.
	Progress func(done, total int)
}

// Evaluate scores a text with the model whose parameters a Store holds, in consecutive
// windows of the model's training length, each by itself: the loss is the mean over all
// scored tokens of -log p(token | those before it in its window), in nats. Its error is
// models.ErrDiverged, wrapped, where that is not finite.
func Evaluate(ctx context.Context, store *graph.Store, c models.Spec, text *Text, o Options) (Score, error) {
	if o.Batch < 0 {
		return Score{}, layers.Setting("batch", "want >= 0 (0: %d), got %d", defaultBatch, o.Batch)
	}
	batch := o.Batch
	if batch == 0 {
		batch = defaultBatch
	}
	compute := graph.Options{Store: store.Serve(), Threads: o.Threads, Device: o.Device, Context: ctx}.For(o.Precision)
	s := &sum{tokenizer: text.Tokenizer, perToken: o.PerToken}
	score := func(batch, seq int, tokens data.Tokens) error {
		e, err := NewEvaluator(compute, c, batch, seq)
		if err != nil {
			return err
		}
		defer e.Close()
		return e.add(ctx, s, tokens)
	}
	if windows := (text.Tokens.Len() - 1) / c.Seq; windows > 0 {
		if err := score(min(batch, windows), c.Seq, text.Tokens); err != nil {
			return Score{}, err
		}
	}
	if rest := text.Tokens.Len() - 1 - s.tokens; rest > 0 && !text.Windows {
		if err := score(1, rest, text.Tokens.From(s.tokens)); err != nil {
			return Score{}, err
		}
	}
	result, err := s.score()
	if err == nil {
		err = result.finite()
	}
	return result, err
}
