package generate

import (
	"context"
	"sync"

	"github.com/residua-go/residua/generate"
)

// ahead is a text that is generated while those before it are written: its pieces wait.
type ahead struct {
	mu     sync.Mutex
	pieces []generate.Piece
	ended  bool
	result generate.Result
	err    error
	news   chan struct{} // holds a value where there may be something new
}

// begin generates a text.
func begin(ctx context.Context, g *generate.Generator, r generate.Request) *ahead {
	a := &ahead{news: make(chan struct{}, 1)}
	go func() {
		result, err := g.Generate(ctx, r, func(p generate.Piece) error {
			a.change(func() { a.pieces = append(a.pieces, p) })
			return nil
		})
		a.change(func() { a.ended, a.result, a.err = true, result, err })
	}()
	return a
}

func (a *ahead) change(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// take returns the pieces since the last call and whether they are the last.
func (a *ahead) take() (pieces []generate.Piece, ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	pieces, a.pieces = a.pieces, nil
	return pieces, a.ended
}

// follow calls emit with each piece, in order, until the text has ended; not after ctx has.
func (a *ahead) follow(ctx context.Context, emit func(generate.Piece) error) (generate.Result, error) {
	for range a.news {
		pieces, ended := a.take()
		for _, p := range pieces {
			if ctx.Err() != nil {
				break
			}
			if err := emit(p); err != nil {
				return generate.Result{}, err
			}
		}
		if ended {
			break
		}
	}
	return a.result, a.err
}
