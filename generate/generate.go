package generate

import (
	"context"
	"slices"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
)

// Generate continues a prompt and calls emit, if not nil, with each Piece as soon as its text
// is certain. If the prompt ends inside a character and the first tokens complete it, the
// whole character belongs to the text. Generate holds back text that may become one of the
// request's stop strings until that is decided.
//
// When the window is full, the model keeps the last half of it and goes on. If Generate
// returns an error (its own, ctx's or emit's), the Result describes the text emitted before
// it. A model without a tokenizer reads and writes only ids. If a request would have to wait
// and the queue is full, the error is ErrBusy.
//
// Several calls may run at a time, and none delays the text of another: emit is called in the
// goroutine that called Generate, while the model goes on. The result of a request does not depend
// on the others.
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
	if err := ctx.Err(); err != nil {
		return result, err
	}
	j := g.newJob(r, prompt)
	if err := g.submit(j); err != nil {
		return result, err
	}
	if err = g.follow(ctx, j, emit, &result); err != nil {
		g.abandon(j)
	}
	result.Time = j.time()
	return result, err
}

// prompt returns the ids with which a request begins.
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
		ids = data.EncodePrompt(g.tokenizer, r.Prompt, r.BOS)
	}
	if len(ids) == 0 {
		return nil, layers.Setting("bos", "want true, or a text, got neither: nothing is read")
	}
	if len(ids) > g.Window() && !r.Slide {
		return nil, &WindowError{Tokens: len(ids), Window: g.Window()}
	}
	return ids, nil
}

// drawn returns how many ids may be drawn: the tokenizer's, because the model's vocabulary may be
// larger and its further ids have no text. Without a tokenizer all ids may be drawn.
func (g *Generator) drawn() int {
	if g.tokenizer == nil {
		return g.vocab
	}
	return g.tokenizer.Vocab()
}
