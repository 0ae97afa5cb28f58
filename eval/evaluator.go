package eval

import (
	"context"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Evaluator scores streams of tokens with a model, in windows of one length.
type Evaluator struct {
	program    *models.Compiled
	batch, seq int
}

// NewEvaluator compiles an evaluation program over o.Store, on o's device, that scores batch
// windows of seq tokens at a time. With accuracy it also counts the answers of a Task that are
// right, for which it keeps the logits of a batch.
func NewEvaluator(o graph.Options, spec models.Spec, batch, seq int, accuracy bool) (*Evaluator, error) {
	if err := checkType(o.Store); err != nil {
		return nil, err
	}
	program, err := models.Compile(spec, batch, seq, models.Outputs{TokenLosses: true, Logits: accuracy}, graph.ProgramOptions{Options: o})
	if err != nil {
		return nil, err
	}
	return &Evaluator{program, batch, seq}, nil
}

// Evaluate scores the consecutive whole windows of a stream of tokens, each independently, and sums
// in float64. The loss may not be finite if the weights have diverged.
func (e *Evaluator) Evaluate(ctx context.Context, t data.Tokenizer, tokens data.Tokens) (Score, error) {
	s := sum{tokenizer: t}
	if err := e.add(ctx, &s, tokens); err != nil {
		return Score{}, err
	}
	return s.score()
}

// add adds the scores of the whole windows of tokens to s.
func (e *Evaluator) add(ctx context.Context, s *sum, tokens data.Tokens) error {
	windows, err := data.NewWindows(tokens, e.batch, e.seq)
	if err != nil {
		return err
	}
	before := s.read
	for i := range windows.Batches() {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := windows.Batch(i, e.program.Tokens, e.program.Targets)
		if err != nil {
			return err
		}
		if err := e.program.Run(graph.RunOptions{}); err != nil {
			return err
		}
		losses, err := graph.Value(e.program.TokenLosses) // [batch * seq]
		if err != nil {
			return err
		}
		var logits []float32 // [batch * seq, vocab]
		if e.program.Logits != nil {
			value, err := graph.Value(e.program.Logits)
			if err != nil {
				return err
			}
			logits = value.Float32s()
		}
		if err := s.add(e.program.Targets, losses.Float32s()[:rows*e.seq], logits); err != nil {
			return err
		}
	}
	if s.tokenizer != nil {
		s.bytes += data.TextBytes(s.tokenizer, tokens.Slice(1, 1+s.read-before))
	}
	s.chance = tokens.Examples().Chance
	return nil
}

// Close frees the program.
func (e *Evaluator) Close() { e.program.Close() }
