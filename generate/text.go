package generate

import (
	"strings"

	"github.com/residua-go/residua/data"
)

// text decodes tokens and emits them with their text, which ends before the first stop string.
type text struct {
	decoder *data.StreamDecoder // nil: the model has no tokenizer
	stops   stops
	stopped bool    // a stop string is complete
	tokens  []Token // not emitted yet
	emit    func(Piece)
}

func (g *Generator) text(r Request, emit func(Piece)) *text {
	t := &text{stops: stops{strings: r.Stop}, emit: emit}
	if g.tokenizer != nil {
		t.decoder = data.NewStreamDecoder(g.tokenizer)
	}
	return t
}

// prompt passes the prompt through the decoder, so that later tokens can complete a character that
// it leaves unfinished, and emits it, with its tokens, if it is to be echoed. It does not search
// the prompt for stop strings.
func (t *text) prompt(ids []int32, tokens []Token, echo bool) {
	var whole strings.Builder
	for _, id := range ids {
		if t.decoder != nil {
			whole.WriteString(t.decoder.Next(id))
		}
	}
	if echo && (whole.Len() > 0 || len(tokens) > 0) {
		t.tokens = tokens
		t.flush(whole.String())
	}
}

func (t *text) add(token Token) {
	t.tokens = append(t.tokens, token)
	if t.decoder == nil {
		t.flush("")
		return
	}
	t.search(t.decoder.Next(token.ID))
}

// finish ends a text and emits what was held back. It returns the reason, or StopString if the text
// ends in a stop string.
func (t *text) finish(reason Stop) Stop {
	if t.decoder != nil && !t.stopped {
		t.search(t.decoder.Flush())
		if !t.stopped {
			t.send(t.stops.flush())
		}
	}
	if len(t.tokens) > 0 { // they belong to a stop string
		t.flush("")
	}
	if t.stopped {
		return StopString
	}
	return reason
}

// search emits the text before a stop string.
func (t *text) search(piece string) {
	piece, t.stopped = t.stops.next(piece)
	t.send(piece)
}

func (t *text) send(piece string) {
	if piece != "" {
		t.flush(piece)
	}
}

// flush emits a piece of text with the tokens since the last piece.
func (t *text) flush(piece string) {
	tokens := t.tokens
	t.tokens = nil
	t.emit(Piece{Text: piece, Tokens: tokens})
}
