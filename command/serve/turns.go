package serve

import (
	"context"

	"github.com/residua-go/residua/generate"
)

// turns lets several goroutines use one Generator, one after the other.
type turns struct {
	generator *generate.Generator
	free      chan struct{}
}

func newTurns(g *generate.Generator) *turns { return &turns{g, make(chan struct{}, 1)} }

func (t *turns) Generate(ctx context.Context, r generate.Request, emit func(generate.Piece) error) (generate.Result, error) {
	select {
	case t.free <- struct{}{}:
		defer func() { <-t.free }()
		return t.generator.Generate(ctx, r, emit)
	case <-ctx.Done():
		return generate.Result{Stop: generate.StopError}, ctx.Err()
	}
}
