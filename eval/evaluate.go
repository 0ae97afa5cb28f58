package eval

import (
	"context"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// defaultBatch is the number of windows scored at a time if Options.Batch is 0.
const defaultBatch = 8

// Options say how to score. The zero value is ready to use.
type Options struct {
	Batch   int // windows (in Likelihoods: rows) at a time; it changes the score only by rounding; 0: 8 (in Likelihoods: as many rows as have 2,048 tokens)
	Threads int // workers an op; 0: all cores
	// Device is where the model runs; "": the CPU. Precision, on a CUDA device, is the precision of
	// products, "": tf32; on the CPU it is how weights are stored, bf16 or int8
	// (graph.Options.For), "": float32.
	Device    graph.Device
	Precision graph.Precision
	// PerToken, if not nil, is called with every scored token in order.
	PerToken func(Token) error
	// Progress, if not nil, is called by Likelihoods with the number of requests answered so far.
	Progress func(done, total int)
}

// Evaluate scores a text with the model whose parameters a Store holds. It cuts the text into
// consecutive windows of the model's training length and scores each independently: the loss is the
// mean over all scored tokens of -log p(token | the tokens before it in its window), in nats. If
// the loss is not finite, the error wraps models.ErrDiverged.
func Evaluate(ctx context.Context, store *graph.Store, spec models.Spec, text *Text, o Options) (Score, error) {
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
		e, err := NewEvaluator(compute, spec, batch, seq, tokens.Examples().Chance > 0)
		if err != nil {
			return err
		}
		defer e.Close()
		return e.add(ctx, s, tokens)
	}
	if windows := (text.Tokens.Len() - 1) / spec.Seq; windows > 0 {
		if err := score(min(batch, windows), spec.Seq, text.Tokens); err != nil {
			return Score{}, err
		}
	}
	if rest := text.Tokens.Len() - 1 - s.read; rest > 0 && !text.Windows {
		if err := score(1, rest, text.Tokens.From(s.read)); err != nil {
			return Score{}, err
		}
	}
	result, err := s.score()
	if err == nil {
		err = result.finite()
	}
	return result, err
}
