package generate

import (
	"context"
	"strings"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
)

// Generate continues a prompt and calls emit, where not nil, with each piece of text as
// soon as it is whole: pieces are valid UTF-8 and joined they are the text. A character
// that the prompt's end and the first tokens make together counts to the text.
//
// When the window is full, the model starts over with its last half and goes on. ctx is
// looked at before each token; with an error, its or emit's, the Result tells how far the
// text came.
func (g *Generator) Generate(ctx context.Context, r Request, emit func(text string) error) (Result, error) {
	result := Result{Stop: StopError}
	if err := r.Validate(); err != nil {
		return result, err
	}
	t := &text{decoder: data.NewStreamDecoder(g.tokenizer), emit: emit}
	prompt := g.tokenizer.Encode([]int32{g.tokenizer.BOS()}, r.Prompt)
	result.PromptTokens = len(prompt)
	if err := t.prompt(prompt, r.Echo); err != nil {
		return result, err
	}
	g.reset()
	if r.Tokens > 0 {
		if err := g.feed(ctx, prompt[max(0, len(prompt)-g.Window()):]); err != nil {
			return result, err
		}
	}
	return g.extend(ctx, r, t, result)
}

// extend draws token after token.
func (g *Generator) extend(ctx context.Context, r Request, t *text, result Result) (Result, error) {
	draw := newSampler(r)
	for result.Tokens < r.Tokens {
		scores, err := g.scores()
		if err != nil {
			return result, err
		}
		id, ok := draw.next(scores)
		if !ok {
			return result, errNotFinite(result.Tokens + 1)
		}
		if id == g.tokenizer.BOS() {
			result.Stop = StopDocument
			return result, t.end()
		}
		if err := t.add(id); err != nil {
			return result, err
		}
		result.Tokens++
		if result.Tokens == r.Tokens {
			break // nothing comes after it that it would have to be fed for
		}
		if err := g.advance(ctx, id); err != nil {
			return result, err
		}
	}
	result.Stop = StopTokens
	return result, t.end()
}

// advance feeds the next token; before that, with a full window, all but its last half is
// forgotten.
func (g *Generator) advance(ctx context.Context, id int32) error {
	if g.cache.Len() < g.Window() {
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

// text hands out what tokens spell.
type text struct {
	decoder *data.StreamDecoder
	emit    func(text string) error
}

// prompt passes the prompt through the decoder, so that a character which it leaves
// unfinished can become whole.
func (t *text) prompt(ids []int32, echo bool) error {
	var whole strings.Builder
	for _, id := range ids {
		whole.WriteString(t.decoder.Next(id))
	}
	if !echo {
		return nil
	}
	return t.hand(whole.String())
}

func (t *text) add(id int32) error { return t.hand(t.decoder.Next(id)) }

func (t *text) end() error { return t.hand(t.decoder.Flush()) }

func (t *text) hand(piece string) error {
	if piece == "" || t.emit == nil {
		return nil
	}
	return t.emit(piece)
}
