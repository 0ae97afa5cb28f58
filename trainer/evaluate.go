package trainer

import (
	"context"
	"math"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// Evaluator scores token streams with a model.
type Evaluator struct {
	program    *models.Compiled
	batch, seq int
}

// Score is the result of an evaluation.
type Score struct {
	Tokens      int     `json:"tokens"`        // scored
	Loss        float64 `json:"loss"`          // mean cross-entropy in nats a token, without z-loss
	Perplexity  float64 `json:"perplexity"`    // exp(Loss)
	BitsPerByte float64 `json:"bits_per_byte"` // summed loss in bits over the bytes of the scored text
}

// NewEvaluator compiles an evaluation program over the Store of o, on its device, for
// batch rows of seq tokens.
func NewEvaluator(o graph.Options, c models.Spec, batch, seq int) (*Evaluator, error) {
	e := &Evaluator{batch: batch, seq: seq}
	var err error
	if e.program, err = models.Compile(c, batch, seq, models.Outputs{TokenLosses: true}, graph.ProgramOptions{Options: o}); err != nil {
		return nil, err
	}
	return e, nil
}

// Evaluate scores consecutive windows of a token stream; each, if not nil, gets every
// window's targets and losses in order. Losses are summed in float64.
func (e *Evaluator) Evaluate(ctx context.Context, t data.Tokenizer, tokens []uint16, each func(targets []int32, losses []float32)) (Score, error) {
	windows, err := data.NewWindows(tokens, e.batch, e.seq)
	if err != nil {
		return Score{}, err
	}
	sum, scored := 0.0, 0
	inputs, targets := e.program.Tokens, e.program.Targets
	for i := range windows.Batches() {
		if ctx.Err() != nil {
			return Score{}, ctx.Err()
		}
		rows, err := windows.Batch(i, inputs, targets)
		if err != nil {
			return Score{}, err
		}
		if err := e.program.Run(graph.RunOptions{}); err != nil {
			return Score{}, err
		}
		values, err := graph.Value(e.program.TokenLosses)
		if err != nil {
			return Score{}, err
		}
		losses := values.Float32s()[:rows*e.seq]
		for _, l := range losses {
			sum += float64(l)
		}
		scored += len(losses)
		if each != nil {
			each(targets[:len(losses)], losses)
		}
	}
	return newScore(sum, scored, data.TextBytes(t, tokens[1:1+scored]))
}

func newScore(sum float64, tokens int, bytes int64) (Score, error) {
	if tokens == 0 || bytes == 0 {
		return Score{}, errors.New("evaluation: want text to score, got none")
	}
	mean := sum / float64(tokens)
	return Score{Tokens: tokens, Loss: mean, Perplexity: math.Exp(mean), BitsPerByte: sum / math.Ln2 / float64(bytes)}, nil
}

// Close ends the program.
func (e *Evaluator) Close() { e.program.Close() }
