package generate

import (
	"strings"

	"github.com/residua-go/residua/data"
)

// text decodes tokens and emits them with their text, which ends before the first stop string.
type text struct {
	decoder *data.StreamDecoder // nil: the model has no tokenizer
	stops   stops
	stopped bool     // a stop string is complete
	tokens  []placed // not emitted yet
	read    int      // bytes of text that the decoder has returned
	sent    int      // bytes of text that have been emitted, the prompt's included
	emit    func(Piece)
}

// placed is a token with the number of bytes of text before it. One that completes a character
// begins where the character does.
type placed struct {
	token Token
	at    int
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
	t.read, t.sent = whole.Len(), whole.Len()
	if echo && (whole.Len() > 0 || len(tokens) > 0) {
		t.emit(Piece{Text: whole.String(), Tokens: tokens})
	}
}

func (t *text) add(token Token) {
	if t.decoder == nil {
		t.emit(Piece{Tokens: []Token{token}})
		return
	}
	piece := t.decoder.Next(token.ID)
	t.tokens = append(t.tokens, placed{token, t.read + t.decoder.Before()})
	t.read += len(piece)
	t.search(piece)
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
	if len(t.tokens) > 0 { // they belong to a stop string, or have no text
		t.emit(Piece{Tokens: t.take(len(t.tokens))})
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

// send emits a piece of text, if there is some, with the tokens that begin in it. The text of later
// tokens is still held back, because it may belong to a stop string.
func (t *text) send(piece string) {
	if piece == "" {
		return
	}
	t.sent += len(piece)
	n := len(t.tokens)
	for n > 0 && t.tokens[n-1].at >= t.sent {
		n--
	}
	t.emit(Piece{Text: piece, Tokens: t.take(n)})
}

// take removes the first n tokens that have not been emitted and returns them.
func (t *text) take(n int) []Token {
	tokens := make([]Token, n)
	for i := range tokens {
		tokens[i] = t.tokens[i].token
	}
	t.tokens = t.tokens[n:]
	return tokens
}
