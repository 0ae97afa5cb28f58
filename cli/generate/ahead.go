package generate

import (
	"context"

	"github.com/residua-go/residua/generate"
)

// ahead is a text that is generated while earlier ones are still being written; the generator keeps
// its pieces.
type ahead struct {
	pieces chan generate.Piece
	result generate.Result // set when there are no more pieces
	err    error
}

// begin starts to generate a text.
func begin(ctx context.Context, g *generate.Generator, r generate.Request) *ahead {
	a := &ahead{pieces: make(chan generate.Piece)}
	go func() {
		defer close(a.pieces)
		a.result, a.err = g.Generate(ctx, r, func(p generate.Piece) error {
			select {
			case a.pieces <- p:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
	}()
	return a
}

// follow calls emit with the text of each piece, in order, until the text has ended, and returns
// all tokens.
func (a *ahead) follow(emit func(text string) error) (tokens []generate.Token, result generate.Result, err error) {
	for p := range a.pieces {
		tokens = append(tokens, p.Tokens...)
		if err := emit(p.Text); err != nil {
			return nil, result, err
		}
	}
	return tokens, a.result, a.err
}
