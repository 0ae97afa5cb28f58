package generate

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// What Generate refuses a request with that came at a bad time.
var (
	ErrBusy   = errors.New("generate: as many requests as may wait are waiting: try again later")
	ErrClosed = errors.New("generate: the generator is closed")
)

// Generator continues texts with one model, several at a time: each has a row of one cache of keys and
// values. A prompt is read many tokens a run; between such runs every text that is further gets its next token,
// all of them in one run. It shares the Store: a Generator made while a run trains uses the weights of the
// moment. It is safe for several goroutines.
type Generator struct {
	tokenizer data.Tokenizer // nil: the model has none
	vocab     int            // of the model
	machine   *machine
	most      int // requests under way and waiting

	mu       sync.Mutex
	accepted int    // requests that have not ended
	waiting  []*job // those of them that have no row yet, in order
	closed   bool
	wake     chan struct{} // tells the loop of a change
	ended    chan struct{} // closed when the loop has ended
}

// New compiles a generating program over a Store that holds the parameters of c; those that read prompts
// follow when they are needed. The tokenizer's ids must lie in the model's vocabulary; nil makes a
// Generator of ids alone, for a model without a tokenizer. Errors: models.ErrNoParameters,
// *data.VocabularyError, and *layers.SettingError for the options.
func New(store *graph.Store, c models.Spec, t data.Tokenizer, o Options) (*Generator, error) {
	if err := check(store, c, t); err != nil {
		return nil, err
	}
	window, rows, err := o.sizes(c, graph.AvailableMemory())
	if err != nil {
		return nil, err
	}
	m, err := newMachine(store, c, o, window, rows)
	if err != nil {
		return nil, errors.Wrap(err, "generate")
	}
	g := &Generator{tokenizer: t, vocab: c.Vocab, machine: m, most: rows + cmp.Or(o.Queue, defaultQueue), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go g.loop()
	return g, nil
}

// Window is how many tokens the model sees at most.
func (g *Generator) Window() int { return g.machine.cache.Capacity() }

// Rows is how many texts it continues at a time.
func (g *Generator) Rows() int { return g.machine.cache.Rows() }

// Close refuses new requests, waits until those under way have ended (whose contexts may hurry them), and
// ends the programs' workers.
func (g *Generator) Close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.signal()
	<-g.ended
}

func (g *Generator) signal() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// submit puts a job into the queue.
func (g *Generator) submit(j *job) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case g.accepted == g.most:
		return ErrBusy
	}
	g.accepted++
	g.waiting = append(g.waiting, j)
	g.signal()
	return nil
}

// abandon ends a job whose caller has gone: one that has a row the loop drops.
func (g *Generator) abandon(j *job) {
	j.abandoned.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, j); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		g.accepted--
	}
}

// follow emits what the loop makes of a job until it has ended.
func (g *Generator) follow(ctx context.Context, j *job, emit func(Piece) error, result *Result) error {
	for {
		select {
		case <-j.news:
		case <-ctx.Done():
		}
		pieces, ended, err := j.take()
		for _, p := range pieces {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !p.prompt {
				result.add(p.Tokens)
			}
			if emit == nil {
				continue
			}
			if err := emit(p); err != nil {
				return err
			}
		}
		switch {
		case ended && err == nil:
			result.Stop = j.stop
			return nil
		case ended:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
