package generate

import (
	"context"
	"slices"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
)

// Generate continues a prompt and calls emit, where not nil, with each Piece as soon as its
// text is certain. A character that the prompt's end and the first tokens make together
// counts to the text. What may become one of the request's stop strings is held back until
// it is known.
//
// When the window is full, the model starts over with its last half and goes on. ctx is
// looked at before each token; with an error, its or emit's, the Result tells how far the
// text came. A model without a tokenizer takes and gives ids alone.
func (g *Generator) Generate(ctx context.Context, r Request, emit func(Piece) error) (Result, error) {
	result := Result{Stop: StopError}
	if err := r.Validate(); err != nil {
		return result, err
	}
	prompt, err := g.prompt(r)
	if err != nil {
		return result, err
	}
	result.PromptIDs, result.PromptTokens = prompt, len(prompt)
	t := g.text(r, emit)
	if err := g.prefill(ctx, prompt, r, t); err != nil {
		return result, err
	}
	start := time.Now()
	err = g.extend(ctx, r, t, &result)
	result.Time = time.Since(start)
	return result, err
}

// prefill passes a prompt through the model and emits it where it is asked for.
func (g *Generator) prefill(ctx context.Context, prompt []int32, r Request, t *text) error {
	g.reset()
	if r.PromptLogProbs {
		tokens, err := g.score(ctx, prompt, r.LogProbs)
		if err != nil {
			return err
		}
		if err := t.prompt(prompt, tokens, true); err != nil || r.Tokens == 0 || len(prompt) <= g.Window() {
			return err
		}
		g.reset() // and reads the end that it would read without log probabilities
	} else if err := t.prompt(prompt, nil, r.Echo); err != nil || r.Tokens == 0 {
		return err
	}
	return g.feed(ctx, prompt[max(0, len(prompt)-g.Window()):])
}

// score feeds a prompt and returns its tokens with log probabilities. Those of a prompt longer
// than the window are of what the model would see had it generated them.
func (g *Generator) score(ctx context.Context, prompt []int32, top int) ([]Token, error) {
	tokens := []Token{newToken(prompt[0], nil, g.tokenizer, 0)}
	for i := range prompt {
		if err := g.advance(ctx, prompt[i]); err != nil || i+1 == len(prompt) {
			return tokens, err
		}
		logits, err := g.logits()
		if err != nil {
			return nil, err
		}
		if !finite(logits) {
			return nil, errors.Wrapf(models.ErrDiverged, "generate: token %d of the prompt: the logits are not finite", i+1)
		}
		tokens = append(tokens, newToken(prompt[i+1], logits, g.tokenizer, top))
	}
	return tokens, nil
}

// prompt returns the ids that a request begins with.
func (g *Generator) prompt(r Request) ([]int32, error) {
	if len(r.IDs) == 0 && g.tokenizer == nil {
		return nil, layers.Setting("ids", "want at least one token id, each below %d, got none: the model has no tokenizer", g.vocab)
	}
	if len(r.Stop) > 0 && g.tokenizer == nil {
		return nil, layers.Setting("stop", "want none, since the model has no tokenizer to spell it")
	}
	if err := r.validateIDs(g.vocab); err != nil {
		return nil, err
	}
	ids := slices.Clone(r.IDs)
	if len(ids) == 0 {
		ids = g.tokenizer.Encode([]int32{g.tokenizer.BOS()}, r.Prompt)
	}
	if len(ids) > g.Window() && !r.Slide {
		return nil, &WindowError{Tokens: len(ids), Window: g.Window()}
	}
	return ids, nil
}

// extend draws token after token.
func (g *Generator) extend(ctx context.Context, r Request, t *text, result *Result) error {
	draw := newSampler(r, result.PromptIDs)
	for result.Tokens < r.Tokens {
		logits, err := g.logits()
		if err != nil {
			return err
		}
		if !finite(logits) {
			return errors.Wrapf(models.ErrDiverged, "generate: token %d: the logits are not finite", result.Tokens+1)
		}
		id := draw.next(logits[:g.drawn()])
		if g.tokenizer != nil && id == g.tokenizer.BOS() {
			return t.finish(result, StopDocument)
		}
		result.IDs = append(result.IDs, id)
		result.Tokens++
		if err := t.add(newToken(id, logits, g.tokenizer, r.LogProbs)); err != nil {
			return err
		}
		if t.stopped || result.Tokens == r.Tokens {
			break // nothing comes after it that it would have to be fed for
		}
		if err := g.advance(ctx, id); err != nil {
			return err
		}
	}
	return t.finish(result, StopTokens)
}

// advance feeds the next token; before that, with a full window, all but its last half is
// forgotten.
func (g *Generator) advance(ctx context.Context, id int32) error {
	if g.cache.Len(0) < g.Window() {
		return g.feed(ctx, []int32{id})
	}
	recent := append(append([]int32(nil), g.context...), id)
	g.reset()
	return g.feed(ctx, recent[len(recent)-max(1, g.Window()/2):])
}

// feed passes tokens through the model.
func (g *Generator) feed(ctx context.Context, tokens []int32) error {
	for _, id := range tokens {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := g.run(id); err != nil {
			return errors.Wrap(err, "generate")
		}
	}
	return nil
}
