package generate

import (
	"context"

	"github.com/residua-go/residua/generate"
)

// ahead is a text that is generated while those before it are written: the generator holds its pieces.
type ahead struct {
	pieces chan generate.Piece
	result generate.Result // when there are no more
	err    error
}

// begin generates a text.
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

// follow calls emit with each piece, in order, until the text has ended.
func (a *ahead) follow(emit func(generate.Piece) error) (generate.Result, error) {
	for p := range a.pieces {
		if err := emit(p); err != nil {
			return generate.Result{}, err
		}
	}
	return a.result, a.err
}
