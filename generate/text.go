package generate

import (
	"strings"

	"github.com/residua-go/residua/data"
)

// text decodes tokens and emits them with their text, which ends before the first stop
// string.
type text struct {
	decoder *data.StreamDecoder // nil: the model has no tokenizer
	stops   stops
	stopped bool    // a stop string is complete
	tokens  []Token // not emitted
	emit    func(Piece) error
}

func (g *Generator) text(r Request, emit func(Piece) error) *text {
	t := &text{stops: stops{strings: r.Stop}, emit: emit}
	if g.tokenizer != nil {
		t.decoder = data.NewStreamDecoder(g.tokenizer)
	}
	return t
}

// prompt passes the prompt through the decoder, so that a character which it leaves
// unfinished can become whole, and emits it with tokens where it is echoed. Stop strings
// are not looked for in it.
func (t *text) prompt(ids []int32, tokens []Token, echo bool) error {
	var whole strings.Builder
	for _, id := range ids {
		if t.decoder != nil {
			whole.WriteString(t.decoder.Next(id))
		}
	}
	if !echo || whole.Len() == 0 && len(tokens) == 0 {
		return nil
	}
	t.tokens = tokens
	return t.flush(whole.String())
}

func (t *text) add(token Token) error {
	t.tokens = append(t.tokens, token)
	if t.decoder == nil {
		return t.flush("")
	}
	return t.search(t.decoder.Next(token.ID))
}

// finish ends a text for a reason, unless a stop string ended it.
func (t *text) finish(result *Result, reason Stop) error {
	if err := t.end(); err != nil {
		return err
	}
	if len(t.tokens) > 0 { // of a stop string
		if err := t.flush(""); err != nil {
			return err
		}
	}
	if result.Stop = reason; t.stopped {
		result.Stop = StopString
	}
	return nil
}

// end emits what was held back.
func (t *text) end() error {
	if t.decoder == nil || t.stopped {
		return nil
	}
	if err := t.search(t.decoder.Flush()); err != nil || t.stopped {
		return err
	}
	return t.send(t.stops.flush())
}

// search emits what stands before a stop string.
func (t *text) search(piece string) error {
	piece, t.stopped = t.stops.next(piece)
	return t.send(piece)
}

func (t *text) send(piece string) error {
	if piece == "" {
		return nil
	}
	return t.flush(piece)
}

// flush emits a piece of text and the tokens since the last one.
func (t *text) flush(piece string) error {
	tokens := t.tokens
	t.tokens = nil
	if t.emit == nil {
		return nil
	}
	return t.emit(Piece{Text: piece, Tokens: tokens})
}
