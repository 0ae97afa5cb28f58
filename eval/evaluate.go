package eval

import (
	"context"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/trainer"
)

// defaultBatch is the number of windows that are scored at a time.
const defaultBatch = 8

// Options say what to score. The zero value scores the validation split of the model's
// run exactly as the run does.
type Options struct {
	// Data names text instead: files, folders or globs, as data.Source.Paths.
	Data []string
	// TextField is the field of .jsonl lines of Data that holds the text; "": the run's.
	TextField string
	Tokens    int // to score at most; 0: as many as the run evaluates on, or all of Data
	Batch     int // windows at a time, which rounding alone can tell; 0: 8
	Threads   int // workers an op; 0: all cores
	// Device is where the model runs, "" the CPU; Precision is a CUDA device's, "" tf32.
	Device    graph.Device
	Precision graph.Precision
	// PerToken, if not nil, gets every scored token in order.
	PerToken func(Token) error
}

func (o Options) check() error {
	switch {
	case o.Tokens < 0:
		return errors.Errorf("eval: tokens: want >= 0, got %d", o.Tokens)
	case o.Batch < 0:
		return errors.Errorf("eval: batch: want >= 0 (0: %d), got %d", defaultBatch, o.Batch)
	case o.TextField != "" && len(o.Data) == 0:
		return errors.Errorf("eval: text field: want it with text of one's own, got %q for a run's validation split", o.TextField)
	}
	return nil
}

// compute is how programs over a store run.
func (o Options) compute(store *graph.Store) graph.Options {
	return graph.Options{Store: store, Threads: o.Threads, Device: o.Device, Precision: o.Precision}
}

// Evaluate loads the text that o names and scores it.
func Evaluate(ctx context.Context, p *trainer.Pretrained, o Options) (trainer.Score, error) {
	text, err := Load(ctx, p, o)
	if err != nil {
		return trainer.Score{}, err
	}
	return Score(ctx, p, text, o)
}

// Score scores a text in consecutive windows of the model's training length, each by
// itself: the loss is the mean over all scored tokens of -log p(token | those before it
// in its window), in nats.
func Score(ctx context.Context, p *trainer.Pretrained, text *Text, o Options) (trainer.Score, error) {
	if err := o.check(); err != nil {
		return trainer.Score{}, err
	}
	batch := o.Batch
	if batch == 0 {
		batch = defaultBatch
	}
	s := &scorer{ctx: ctx, model: p, text: text, compute: o.compute(p.Store), perToken: o.PerToken}
	seq := p.Model.Seq
	windows := (len(text.Tokens) - 1) / seq
	if windows > 0 {
		if err := s.score(min(batch, windows), seq, windows); err != nil {
			return trainer.Score{}, err
		}
	}
	if rest := len(text.Tokens) - 1 - s.tokens; rest > 0 && !text.Windows {
		if err := s.score(1, rest, 1); err != nil {
			return trainer.Score{}, err
		}
	}
	return s.result()
}

// scorer adds up the losses of a text's windows.
type scorer struct {
	ctx      context.Context
	model    *trainer.Pretrained
	text     *Text
	compute  graph.Options
	perToken func(Token) error
	sum      float64 // of the losses so far
	tokens   int     // scored so far
}

// score goes on with so many windows of seq tokens, batch at a time.
func (s *scorer) score(batch, seq, windows int) error {
	e, err := trainer.NewEvaluator(s.compute, s.model.Model, batch, seq)
	if err != nil {
		return err
	}
	defer e.Close()
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	_, err = e.Evaluate(ctx, s.text.Tokenizer, s.text.Tokens[s.tokens:][:windows*seq+1], func(targets []int32, losses []float32) {
		if err := s.add(targets, losses); err != nil {
			cancel(err)
		}
	})
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func (s *scorer) add(targets []int32, losses []float32) error {
	for i, loss := range losses {
		s.sum += float64(loss)
		s.tokens++
		if s.perToken == nil {
			continue
		}
		id := targets[i]
		t := Token{Index: s.tokens, ID: int(id), Text: s.text.Tokenizer.Decode([]int32{id}), Loss: loss}
		if err := s.perToken(t); err != nil {
			return err
		}
	}
	return nil
}

func (s *scorer) result() (trainer.Score, error) {
	bytes := data.TextBytes(s.text.Tokenizer, s.text.Tokens[1:1+s.tokens])
	if s.tokens == 0 || bytes == 0 {
		return trainer.Score{}, errors.Errorf("eval: want text to score, got %d tokens with %d bytes of text", s.tokens, bytes)
	}
	mean := s.sum / float64(s.tokens)
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return trainer.Score{}, errors.Errorf("eval: the loss is %g: the model's weights have diverged or were damaged; take an earlier checkpoint", mean)
	}
	return trainer.Score{Tokens: s.tokens, Loss: mean, Perplexity: math.Exp(mean), BitsPerByte: s.sum / math.Ln2 / float64(bytes)}, nil
}
