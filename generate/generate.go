package generate

import (
	"context"
	"slices"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/layers"
)

// Generate continues a prompt and calls emit, where not nil, with each Piece as soon as its
// text is certain. A character that the prompt's end and the first tokens make together
// counts to the text. What may become one of the request's stop strings is held back until
// it is known.
//
// When the window is full, the model starts over with its last half and goes on. With an error, that of
// ctx or of emit among them, the Result tells how far the text came that was emitted. A model without a tokenizer takes
// and gives ids alone. A request that has to wait and finds the queue full is refused with ErrBusy.
//
// Several calls may be under way at a time, and none holds up another's text: emit is called in the goroutine that called
// Generate, while the model goes on. What a request gets does not depend on the others.
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

// drawn is how many ids may be drawn: the tokenizer's, since the model's vocabulary may be
// larger and the ids beyond stand for nothing. Without a tokenizer it is all ids.
func (g *Generator) drawn() int {
	if g.tokenizer == nil {
		return g.vocab
	}
	return g.tokenizer.Vocab()
}
